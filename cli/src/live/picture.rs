//! What a watcher knows of a run: a fold of its events into counts, a rate, and the tasks under way. Time is what has
//! passed since the watch began, handed in by whoever looks.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use cambium_proto::hypha::v1::{Run, RunEvent, RunEventKind, RunState, TaskState};

/// Over how long the rate is measured, and the least of it that says anything.
const WINDOW: Duration = Duration::from_secs(10);
const LEAST: Duration = Duration::from_secs(2);
/// Fewer ends than these foretell nothing.
const FEW: usize = 3;
/// Running tasks that are shown.
const MOST_SHOWN: usize = 5;

#[derive(Debug)]
pub(super) struct Picture {
    title: String,
    /// How long the run went on before the watch began.
    before: Duration,
    state: RunState,
    paused: bool,
    counts: Counts,
    total: i64,
    /// Tasks that are neither waiting nor ended.
    live: HashMap<String, Standing>,
    failures: Vec<Failure>,
    /// When tasks ended, within the window.
    ends: VecDeque<Duration>,
    children: u64,
}

/// Ended tasks by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    pub(super) skipped: i64,
    pub(super) omitted: i64,
    pub(super) cancelled: i64,
    /// Counted under its end state too.
    pub(super) reused: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Ready,
    Running {
        /// `None`: since before the watch began.
        since: Option<Duration>,
        is_stopping: bool,
    },
    BackingOff,
    Parked,
}

/// A task that failed for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) task: String,
    pub(super) code: String,
    pub(super) detail: String,
}

/// Everything that a drawing needs, at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    pub(super) title: String,
    pub(super) state: RunState,
    pub(super) paused: bool,
    pub(super) counts: Counts,
    pub(super) total: i64,
    pub(super) ready: i64,
    pub(super) running: i64,
    pub(super) backing_off: i64,
    pub(super) parked: i64,
    pub(super) waiting: i64,
    /// Tasks a second; unknown until enough was seen.
    pub(super) rate: Option<f64>,
    /// How long it will take at that rate.
    pub(super) left: Option<Duration>,
    pub(super) elapsed: Duration,
    /// Some of the running tasks, the longest first.
    pub(super) tasks: Vec<Running>,
    pub(super) children: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) task: String,
    /// `None`: longer than the watch.
    pub(super) took: Option<Duration>,
    pub(super) is_stopping: bool,
}

impl Picture {
    /// Begins with the run as it stands, which has gone on for so long.
    pub(super) fn of(run: &Run, before: Duration) -> Self {
        let graph = run.graph.clone().unwrap_or_default();
        let mut picture = Self {
            title: format!("{} v{}", graph.name, graph.version),
            before,
            state: run.state(),
            paused: run.paused,
            counts: Counts::default(),
            total: 0,
            live: HashMap::new(),
            failures: Vec::new(),
            ends: VecDeque::new(),
            children: 0,
        };
        picture.settle(run);
        picture
    }

    /// Takes the run's own figures for true.
    pub(super) fn settle(&mut self, run: &Run) {
        let tasks = run.tasks.unwrap_or_default();
        self.state = run.state();
        self.total = tasks.total;
        self.counts = Counts {
            succeeded: tasks.succeeded,
            failed: tasks.failed,
            skipped: tasks.skipped,
            omitted: tasks.omitted,
            cancelled: tasks.cancelled,
            reused: tasks.reused,
        };
        if tasks.open == 0 {
            self.live.clear();
        }
    }

    /// A task that was under way before the watch began.
    pub(super) fn find(&mut self, task: String, state: TaskState) {
        let standing = match state {
            TaskState::Ready => Standing::Ready,
            TaskState::Running => Standing::Running {
                since: None,
                is_stopping: false,
            },
            TaskState::BackingOff => Standing::BackingOff,
            TaskState::Parked => Standing::Parked,
            TaskState::Unspecified
            | TaskState::Waiting
            | TaskState::Succeeded
            | TaskState::Failed
            | TaskState::Skipped
            | TaskState::Omitted
            | TaskState::Cancelled => return,
        };
        self.live.insert(task, standing);
    }

    /// Takes the next event. Each may be seen once, and in order.
    pub(super) fn see(&mut self, event: &RunEvent, at: Duration) {
        match event.kind() {
            RunEventKind::RunPaused => self.paused = true,
            RunEventKind::RunResumed => self.paused = false,
            RunEventKind::RunCancelRequested => self.state = RunState::Cancelling,
            RunEventKind::RunEnded => self.state = event.run_state(),
            RunEventKind::ChildStarted => self.children += 1,
            RunEventKind::TaskReady
            | RunEventKind::TaskReleased
            | RunEventKind::TaskLeaseLost
            | RunEventKind::TaskRevoked => self.stand(event, Standing::Ready),
            RunEventKind::TaskLeased => self.stand(
                event,
                Standing::Running {
                    since: Some(at),
                    is_stopping: false,
                },
            ),
            RunEventKind::TaskStopRequested => self.stop(&event.task),
            RunEventKind::TaskBackingOff => self.stand(event, Standing::BackingOff),
            RunEventKind::TaskParked => self.stand(event, Standing::Parked),
            RunEventKind::TaskFannedOut => {
                // The group is no task: its members stand for it.
                self.live.remove(&event.task);
                self.total += event.detail.parse().unwrap_or(1) - 1;
            }
            RunEventKind::TaskSucceeded
            | RunEventKind::TaskFailed
            | RunEventKind::TaskSkipped
            | RunEventKind::TaskOmitted
            | RunEventKind::TaskCancelled => self.end(event, at),
            RunEventKind::Unspecified | RunEventKind::RunStarted | RunEventKind::SignalReceived => {
            }
        }
    }

    /// Failures that have not been told yet.
    pub(super) fn take_failures(&mut self) -> Vec<Failure> {
        std::mem::take(&mut self.failures)
    }

    pub(super) fn view(&self, at: Duration) -> View {
        let count = |wanted: fn(&Standing) -> bool| {
            let found = self.live.values().filter(|standing| wanted(standing));
            i64::try_from(found.count()).unwrap_or(i64::MAX)
        };
        let live = i64::try_from(self.live.len()).unwrap_or(i64::MAX);
        let rate = self.rate(at);
        View {
            title: self.title.clone(),
            state: self.state,
            paused: self.paused,
            counts: self.counts,
            total: self.total,
            ready: count(|standing| *standing == Standing::Ready),
            running: count(|standing| matches!(standing, Standing::Running { .. })),
            backing_off: count(|standing| *standing == Standing::BackingOff),
            parked: count(|standing| *standing == Standing::Parked),
            waiting: (self.open() - live).max(0),
            rate,
            left: rate.and_then(|rate| self.left(rate)),
            elapsed: self.before + at,
            tasks: self.longest(at),
            children: self.children,
        }
    }

    fn stand(&mut self, event: &RunEvent, standing: Standing) {
        self.live.insert(event.task.clone(), standing);
    }

    fn stop(&mut self, task: &str) {
        if let Some(Standing::Running { is_stopping, .. }) = self.live.get_mut(task) {
            *is_stopping = true;
        }
    }

    fn end(&mut self, event: &RunEvent, at: Duration) {
        self.live.remove(&event.task);
        let count = match event.kind() {
            RunEventKind::TaskFailed => {
                self.failures.push(Failure {
                    task: event.task.clone(),
                    code: event.code.clone(),
                    detail: event.detail.clone(),
                });
                &mut self.counts.failed
            }
            RunEventKind::TaskSkipped => &mut self.counts.skipped,
            RunEventKind::TaskOmitted => &mut self.counts.omitted,
            RunEventKind::TaskCancelled => &mut self.counts.cancelled,
            _ => &mut self.counts.succeeded,
        };
        *count += 1;
        self.ends.push_back(at);
        while self.ends.front().is_some_and(|end| *end + WINDOW < at) {
            self.ends.pop_front();
        }
    }

    fn open(&self) -> i64 {
        let counts = self.counts;
        let ended =
            counts.succeeded + counts.failed + counts.skipped + counts.omitted + counts.cancelled;
        (self.total - ended).max(0)
    }

    #[expect(clippy::cast_precision_loss, reason = "a window holds few ends")]
    fn rate(&self, at: Duration) -> Option<f64> {
        let window = at.min(WINDOW);
        let ends = self.ends.iter().filter(|end| **end + WINDOW >= at).count();
        (window >= LEAST && ends > 0).then(|| ends as f64 / window.as_secs_f64())
    }

    /// Unknown while nothing new starts, and from a few ends alone.
    #[expect(clippy::cast_precision_loss, reason = "a graph has far fewer tasks")]
    fn left(&self, rate: f64) -> Option<Duration> {
        let goes_on = self.state == RunState::Running
            && !self.paused
            && self.open() > 0
            && self.ends.len() >= FEW;
        let left = goes_on.then(|| Duration::try_from_secs_f64(self.open() as f64 / rate));
        left.and_then(Result::ok)
    }

    fn longest(&self, at: Duration) -> Vec<Running> {
        let mut running: Vec<Running> = self
            .live
            .iter()
            .filter_map(|(task, standing)| match standing {
                Standing::Running { since, is_stopping } => Some(Running {
                    task: task.clone(),
                    took: since.map(|since| at.saturating_sub(since)),
                    is_stopping: *is_stopping,
                }),
                Standing::Ready | Standing::BackingOff | Standing::Parked => None,
            })
            .collect();
        // What ran before the watch began has run longest.
        let rank = |one: &Running| (one.took.is_some(), one.took.map(std::cmp::Reverse));
        running.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.task.cmp(&b.task)));
        running.truncate(MOST_SHOWN);
        running
    }
}

#[cfg(test)]
mod tests;

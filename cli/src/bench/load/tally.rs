//! What has been done so far. One lock, taken once a call or frame, and nothing kept of a run that has ended.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use cambium_proto::hypha::v1::Lease;
use tokio::sync::{Notify, Semaphore};
use uuid::Uuid;

use crate::bench::job::{Closed, Loaded};
use crate::bench::spread::percentile_ms;

#[derive(Debug)]
pub(super) struct Tally {
    state: Mutex<State>,
    /// A permit for each run that may be started.
    pub(super) room: Semaphore,
    /// A run has ended.
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    runs: HashMap<Uuid, Progress>,
    /// Of all time.
    closed: Closed,
    started: u64,
    ended: u64,
    window: Option<Window>,
}

/// A run that has not ended, or of which it is not known yet how large it is: a task may be done before its start is answered.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    done: u32,
    last: Option<Instant>,
    start: Option<(u32, Instant)>,
}

/// What was done while it was measured.
#[derive(Debug)]
struct Window {
    begun: Instant,
    last: Instant,
    tasks: u64,
    latencies: Vec<Duration>,
    /// When each further so many tasks were done.
    every: u64,
    marks: Vec<Instant>,
}

/// What a window came to.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) loaded: Loaded,
    /// From the beginning to the last task.
    pub(super) took: Duration,
    /// How long each further so many tasks took.
    pub(super) laps: Vec<Duration>,
}

impl Tally {
    /// `room` runs may be under way.
    pub(super) fn new(room: u32) -> Self {
        Self {
            state: Mutex::default(),
            room: Semaphore::new(room as usize),
            news: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run of so many tasks was started at that moment.
    pub(super) fn started(&self, run: Uuid, tasks: u32, at: Instant) {
        let mut state = self.state();
        state.started += 1;
        let progress = state.runs.entry(run).or_default();
        progress.start = Some((tasks, at));
        let ended = state.settle(run);
        drop(state);
        self.announce(u64::from(ended));
    }

    /// A task of each of these runs is done; a run may stand in the list more than once.
    pub(super) fn done(&self, runs: impl IntoIterator<Item = Uuid>) {
        let now = Instant::now();
        let mut state = self.state();
        let (mut tasks, mut ended) = (0, 0);
        for run in runs {
            tasks += 1;
            let progress = state.runs.entry(run).or_default();
            progress.done += 1;
            progress.last = Some(now);
            ended += u64::from(state.settle(run));
        }
        state.closed.tasks += tasks;
        if let Some(window) = &mut state.window {
            window.count(tasks, now);
        }
        drop(state);
        self.announce(ended);
    }

    /// So many attempts came too late: their tasks will be done again.
    pub(super) fn lost(&self, attempts: u64) {
        self.state().closed.lost += attempts;
    }

    fn announce(&self, ended: u64) {
        if ended > 0 {
            self.room.add_permits(usize::try_from(ended).unwrap_or(0));
            self.news.notify_one();
        }
    }

    /// Resolves when so many runs have ended since the beginning of time. One may wait at a time.
    pub(super) async fn until_ended(&self, runs: u64) {
        while self.state().ended < runs {
            self.news.notified().await;
        }
    }

    pub(super) fn started_so_far(&self) -> u64 {
        self.state().started
    }

    /// Begins to measure, and to note when each further `every` tasks are done.
    pub(super) fn measure(&self, every: u64) {
        let now = Instant::now();
        self.state().window = Some(Window {
            begun: now,
            last: now,
            tasks: 0,
            latencies: Vec::new(),
            every: every.max(1),
            marks: Vec::new(),
        });
    }

    /// Stops measuring; `wall` is how long it was, unless the last task ended it.
    pub(super) fn seen(&self, wall: Option<Duration>) -> anyhow::Result<Seen> {
        let window = self.state().window.take();
        Ok(window.context("nothing was measured")?.seen(wall))
    }

    pub(super) fn closed(&self) -> Closed {
        self.state().closed
    }
}

impl State {
    /// Forgets a run whose last task is done. Answers whether it was.
    fn settle(&mut self, run: Uuid) -> bool {
        let Entry::Occupied(entry) = self.runs.entry(run) else {
            return false;
        };
        let Progress { done, last, start } = *entry.get();
        let Some((_, at)) = start.filter(|(tasks, _)| done >= *tasks) else {
            return false;
        };
        entry.remove();
        self.ended += 1;
        if let Some(window) = &mut self.window {
            let took = last.map_or(Duration::ZERO, |last| last.saturating_duration_since(at));
            window.latencies.push(took);
        }
        true
    }
}

impl Window {
    fn count(&mut self, tasks: u64, now: Instant) {
        let before = self.tasks / self.every;
        self.tasks += tasks;
        self.last = now;
        for _ in before..self.tasks / self.every {
            self.marks.push(now);
        }
    }

    fn seen(mut self, wall: Option<Duration>) -> Seen {
        self.latencies.sort_unstable();
        let took = self.last.saturating_duration_since(self.begun);
        let starts = std::iter::once(&self.begun).chain(&self.marks);
        Seen {
            loaded: Loaded {
                workflows: self.latencies.len() as u64,
                tasks: self.tasks,
                wall_s: wall.unwrap_or(took).as_secs_f64(),
                p50_ms: percentile_ms(&self.latencies, 50),
                p99_ms: percentile_ms(&self.latencies, 99),
                ..Loaded::default()
            },
            took,
            laps: starts
                .zip(&self.marks)
                .map(|(from, to)| to.saturating_duration_since(*from))
                .collect(),
        }
    }
}

/// The run that an attempt belongs to: its task's id begins with it.
pub(super) fn run_of(lease: &Lease) -> anyhow::Result<Uuid> {
    let run = lease.task_id.split('/').next().unwrap_or_default();
    Uuid::try_parse(run).with_context(|| format!("task `{}` has no run", lease.task_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Uuid = Uuid::from_u128(1);
    const SECOND: Uuid = Uuid::from_u128(2);

    #[tokio::test]
    async fn a_run_ends_with_its_last_task_whichever_answer_comes_first() {
        let tally = Tally::new(0);
        tally.measure(1);

        tally.done([FIRST, FIRST]);
        tally.started(FIRST, 2, Instant::now());
        tally.started(SECOND, 2, Instant::now());
        tally.done([SECOND]);

        tally.until_ended(1).await;
        assert_eq!(tally.room.available_permits(), 1);
        tally.done([SECOND]);
        tally.until_ended(2).await;
        assert_eq!(tally.state().runs.len(), 0);
        assert_eq!(tally.started_so_far(), 2);
    }

    #[test]
    fn only_what_ends_in_the_window_is_measured() {
        let tally = Tally::new(1);
        tally.started(FIRST, 1, Instant::now());
        tally.done([FIRST]);

        tally.measure(1);
        tally.started(SECOND, 3, Instant::now());
        tally.done([SECOND, SECOND, SECOND]);
        let seen = tally.seen(Some(Duration::from_secs(2))).unwrap();

        assert_eq!((seen.loaded.workflows, seen.loaded.tasks), (1, 3));
        assert_eq!(seen.loaded.wall_s, 2.0);
        assert_eq!(tally.closed(), Closed { tasks: 4, lost: 0 });
        assert!(tally.seen(None).is_err());
    }

    #[test]
    fn laps_are_as_many_as_full_counts() {
        let tally = Tally::new(1);
        tally.measure(10);

        tally.done([FIRST; 9]);
        tally.done([FIRST; 25]);
        let seen = tally.seen(None).unwrap();

        assert_eq!(seen.laps.len(), 3);
        assert_eq!(seen.laps[1..], [Duration::ZERO; 2]);
        assert!(seen.laps[0] <= seen.took);
    }

    #[test]
    fn a_task_names_its_run() {
        let lease = |task_id: String| Lease {
            task_id,
            ..Lease::default()
        };

        assert_eq!(run_of(&lease(format!("{SECOND}/n7[3]"))).unwrap(), SECOND);
        assert!(run_of(&lease("n7".to_owned())).is_err());
    }
}

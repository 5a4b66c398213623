//! One fenced change, turned into decisions: what becomes of the task it was made to.

use bytes::Bytes;
use cambium_hypha::EndState;
use cambium_hypha::retry::{LOSSES, Next};
use cambium_proto::hypha::v1::{RunEventKind, TaskState};
use cambium_proto::signal::v1::TaskOutcome;
use chrono::{DateTime, Utc};

use super::edges::sources_of;
use super::evidence::{self, Evidence};
use super::losers::NOT_NEEDED;
use super::op::{Change, EdgeOutcome, Settle, Usage, Verdict};
use super::plan::{Carried, Ending, Plan, PlannedHot, hot, stored};
use crate::store::engine::{HotRow, TaskKey};
use crate::store::event::Transition;
use crate::store::park::Park;
use crate::store::task::Attempt;

/// Facts that a change may need and that were read in its transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) now: Option<DateTime<Utc>>,
    /// A stored signal that a parking task finds waiting.
    pub(crate) signal: Option<Vec<u8>>,
    /// From 0 to 1.
    pub(crate) jitter: f64,
}

/// A change being made.
struct Step<'a> {
    plan: &'a mut Plan,
    settle: &'a Settle,
    row: HotRow,
    facts: Facts,
}

/// Makes the change in the plan, and answers where the task went.
pub(crate) fn apply(plan: &mut Plan, settle: &Settle, row: HotRow, facts: Facts) -> TaskState {
    if let (hot::LEASED, Some(agent)) = (row.state, row.agent) {
        plan.freed.push(agent);
    }
    let mut step = Step {
        plan,
        settle,
        row,
        facts,
    };
    match &settle.change {
        Change::Complete {
            output,
            usage,
            edges,
            ..
        } => step.complete(output, *usage, edges),
        Change::Fail {
            code,
            detail,
            retryable,
            usage,
        } => step.fail(code, detail, *retryable, *usage),
        Change::Park {
            signal,
            until,
            checkpoint,
        } => step.park(signal, *until, checkpoint),
        Change::Release => step.release(),
        Change::Lost => step.lost(),
        Change::Revoke => step.revoke(),
        Change::Wake => step.wake(),
        Change::Resume { payload } => step.resume(payload),
        Change::TimeOut => step.time_out(),
        Change::Decide(verdict) => step.decide(verdict),
    }
}

impl Step<'_> {
    fn task(&self) -> TaskKey {
        self.settle.task
    }

    fn carried(&self) -> Carried {
        Carried {
            epoch: self.row.epoch,
            failures: self.row.failures,
            losses: self.row.losses,
            total_until: self.row.total_until,
            sources: self.row.sources.clone(),
            resumed: self.row.resumed,
        }
    }

    /// Whether the task is not tried again: its run is closing, or nobody waits for it any more.
    fn is_closed(&self) -> bool {
        self.row.stop || self.is_run_closed()
    }

    fn is_run_closed(&self) -> bool {
        let run = self.plan.runs.get(&self.task().run);
        run.is_some_and(super::plan::RunPlan::is_closed)
    }

    /// Why a task that is closed ends.
    fn closed_code(&self) -> &'static str {
        if self.is_run_closed() {
            "RUN_CLOSED"
        } else {
            NOT_NEEDED
        }
    }

    fn tell(&mut self, transition: Transition) {
        if let Some(run) = self.plan.run(self.settle.task.run) {
            run.events.push(transition);
        }
    }

    /// What the attempt spent before it was given up, nobody metered.
    fn unmetered(&mut self) {
        if let Some(run) = self.plan.run(self.settle.task.run) {
            run.charge(0, false);
        }
    }

    fn complete(
        &mut self,
        output: &Bytes,
        usage: Option<Usage>,
        edges: &[EdgeOutcome],
    ) -> TaskState {
        self.testify(TaskOutcome::Succeeded, "", "", usage);
        let ending = Ending {
            agent: self.row.agent,
            lease: self.row.lease,
            body_hash: self.settle.body_hash,
            cost: Some(cost(usage)),
            output: Some(output.clone()),
            edges: (self.task().i == 0).then(|| edges.to_vec()),
            ..Ending::default()
        };
        self.plan
            .end(self.task(), EndState::Succeeded, self.carried(), ending);
        TaskState::Succeeded
    }

    fn fail(
        &mut self,
        code: &str,
        detail: &str,
        retryable: bool,
        usage: Option<Usage>,
    ) -> TaskState {
        let mut carried = self.carried();
        carried.failures = carried.failures.saturating_add(1);
        if let Some(run) = self.plan.run(self.settle.task.run) {
            let (micro_usd, measured) = cost(usage);
            run.charge(micro_usd, measured);
        }
        let failures = u32::try_from(carried.failures).unwrap_or(0);
        let retry = &self.settle.info.graph().nodes()[self.task().n as usize].retry;
        let next = retry.next(failures, code, retryable, self.facts.jitter);
        let went = match next {
            _ if self.is_closed() => TaskState::Cancelled,
            Next::After(_) => TaskState::BackingOff,
            Next::GiveUp => TaskState::Failed,
        };
        self.note_attempt("failed", went, code, detail);
        self.testify(evidence::outcome(code), code, detail, usage);
        match (went, next) {
            (TaskState::BackingOff, Next::After(wait)) => {
                let kind = RunEventKind::TaskBackingOff.into();
                let told = Transition::of_task(kind, self.task(), self.row.epoch);
                self.tell(told.by(self.row.agent).because(code, detail));
                let mut row = self.plan.row(self.task(), hot::BACKING_OFF, carried);
                row.until_ms = Some(wait.num_milliseconds());
                self.insert(row);
            }
            (TaskState::Cancelled, _) if !self.is_run_closed() => {
                // Whatever it says of itself: it ends because nobody waits for it.
                self.end(EndState::Cancelled, carried, NOT_NEEDED, detail);
            }
            (TaskState::Cancelled, _) => self.end(EndState::Cancelled, carried, code, detail),
            _ => self.end(EndState::Failed, carried, code, detail),
        }
        went
    }

    fn end(&mut self, state: EndState, carried: Carried, code: &str, detail: &str) {
        let ending = Ending {
            agent: self.row.agent,
            ..Ending::because(code, detail)
        };
        self.plan.end(self.task(), state, carried, ending);
    }

    fn park(
        &mut self,
        signal: &str,
        until: Option<DateTime<Utc>>,
        checkpoint: &Bytes,
    ) -> TaskState {
        self.unmetered();
        if self.is_closed() {
            self.note_attempt("revoked", TaskState::Cancelled, "", "");
            self.end(EndState::Cancelled, self.carried(), self.closed_code(), "");
            return TaskState::Cancelled;
        }
        let found = self.facts.signal.take();
        let went = if found.is_some() {
            TaskState::Ready
        } else {
            TaskState::Parked
        };
        self.note_attempt("parked", went, signal, "");
        let kind = RunEventKind::TaskParked.into();
        let told = Transition::of_task(kind, self.task(), self.row.epoch);
        self.tell(told.by(self.row.agent).because(signal, ""));
        self.plan.parks.push(Park {
            task: self.task(),
            signal: signal.to_owned(),
            checkpoint: checkpoint.to_vec(),
            payload: found.clone(),
            timed_out: false,
        });
        let carried = Carried {
            resumed: true,
            ..self.carried()
        };
        if found.is_some() {
            self.plan.ready(self.task(), carried);
        } else {
            let mut row = self.plan.row(self.task(), hot::PARKED, carried);
            row.until_at = until;
            self.insert(row);
        }
        went
    }

    fn release(&mut self) -> TaskState {
        self.give_back("released", RunEventKind::TaskReleased, self.carried())
    }

    /// Its agent may hold nothing any more: another gets the task, and nobody's attempt is counted.
    fn revoke(&mut self) -> TaskState {
        self.unmetered();
        self.give_back("revoked", RunEventKind::TaskRevoked, self.carried())
    }

    fn lost(&mut self) -> TaskState {
        self.testify(TaskOutcome::LeaseLost, "LEASE_LOST", "", None);
        let mut carried = self.carried();
        carried.losses = carried.losses.saturating_add(1);
        self.unmetered();
        if u32::try_from(carried.losses).unwrap_or(0) >= LOSSES && !self.is_closed() {
            let detail = format!("its lease ran out {LOSSES} times");
            self.note_attempt("lost", TaskState::Failed, "LEASE_LOSSES", &detail);
            self.end(EndState::Failed, carried, "LEASE_LOSSES", &detail);
            return TaskState::Failed;
        }
        self.give_back("lost", RunEventKind::TaskLeaseLost, carried)
    }

    /// Back to the queue without an attempt counted, or to its end if the run is closing.
    fn give_back(
        &mut self,
        ended_as: &'static str,
        kind: RunEventKind,
        carried: Carried,
    ) -> TaskState {
        let went = if self.is_closed() {
            TaskState::Cancelled
        } else {
            TaskState::Ready
        };
        self.note_attempt(ended_as, went, "", "");
        let told = Transition::of_task(kind.into(), self.task(), self.row.epoch);
        self.tell(told.by(self.row.agent));
        if went == TaskState::Cancelled {
            self.end(EndState::Cancelled, carried, self.closed_code(), "");
        } else {
            self.plan.ready(self.task(), carried);
        }
        went
    }

    fn wake(&mut self) -> TaskState {
        if self.row.state == hot::PARKED {
            self.plan.park_ends.push((self.task(), None));
        }
        self.plan.ready(self.task(), self.carried());
        TaskState::Ready
    }

    fn resume(&mut self, payload: &Bytes) -> TaskState {
        self.plan
            .park_ends
            .push((self.task(), Some(payload.clone())));
        self.plan.ready(self.task(), self.carried());
        TaskState::Ready
    }

    fn time_out(&mut self) -> TaskState {
        let total_is_over = self
            .row
            .total_until
            .is_some_and(|until| self.facts.now.is_some_and(|now| now >= until));
        let leased = self.row.state == hot::LEASED;
        if leased && (self.is_closed() || total_is_over) {
            self.unmetered();
        }
        if self.is_closed() {
            self.note_attempt("revoked", TaskState::Cancelled, "REVOKED", "");
            let code = if self.is_run_closed() {
                "REVOKED"
            } else {
                NOT_NEEDED
            };
            let why = "it went on past its grace";
            self.end(EndState::Cancelled, self.carried(), code, why);
            return TaskState::Cancelled;
        }
        if leased && !total_is_over {
            return self.fail("RUN_TIMEOUT", "the attempt took too long", true, None);
        }
        let (code, detail) = if total_is_over {
            ("TOTAL_TIMEOUT", "all attempts together took too long")
        } else {
            ("QUEUE_TIMEOUT", "no worker took it in time")
        };
        if leased {
            self.note_attempt("failed", TaskState::Failed, code, detail);
            self.testify(TaskOutcome::Failed, code, detail, None);
        }
        self.end(EndState::Failed, self.carried(), code, detail);
        TaskState::Failed
    }

    fn decide(&mut self, verdict: &Verdict) -> TaskState {
        match verdict {
            Verdict::Run => {
                self.plan.ready(self.task(), self.carried());
                TaskState::Ready
            }
            Verdict::End {
                state,
                code,
                detail,
            } => {
                let ending = Ending {
                    code: code.clone(),
                    detail: detail.clone(),
                    ..Ending::default()
                };
                self.plan.end(self.task(), *state, self.carried(), ending);
                super::plan::task_state(*state)
            }
            Verdict::FanOut(items) => {
                self.fan_out(items);
                TaskState::Waiting
            }
        }
    }

    fn fan_out(&mut self, items: &[Vec<u8>]) {
        let task = self.task();
        let count = u32::try_from(items.len()).unwrap_or(u32::MAX);
        self.plan.fans.push((task, items.to_vec()));
        if let Some(run) = self.plan.run(task.run) {
            let more = i32::try_from(count).unwrap_or(i32::MAX);
            run.add.open += more;
            // The group is no task: its members stand for it.
            run.add.total += more - 1;
            run.events.push(
                Transition::of_task(RunEventKind::TaskFannedOut.into(), task, 0)
                    .because("", &count.to_string()),
            );
        }
        for i in 1..=count {
            let carried = Carried {
                sources: self.row.sources.clone(),
                ..Carried::default()
            };
            self.plan.ready(TaskKey { i, ..task }, carried);
        }
    }

    fn insert(&mut self, row: crate::store::engine::NewHot) {
        let node = self.task().n;
        self.plan.hot.push(PlannedHot { row, node });
    }

    /// Notes how the attempt ended, for whoever judges agents. Nothing is held against one whose work nobody waits for.
    fn testify(&mut self, outcome: TaskOutcome, code: &str, detail: &str, usage: Option<Usage>) {
        let (hot::LEASED, Some(agent)) = (self.row.state, self.row.agent) else {
            return;
        };
        if outcome != TaskOutcome::Succeeded && self.is_closed() {
            return;
        }
        self.plan.evidence.push(Evidence {
            task: self.task(),
            epoch: self.row.epoch,
            agent,
            outcome,
            code: code.to_owned(),
            detail: detail.to_owned(),
            usage,
            leased_at: self.row.leased_at,
            sources: self.row.sources.clone(),
        });
    }

    fn note_attempt(&mut self, ended_as: &'static str, went: TaskState, code: &str, detail: &str) {
        let (Some(lease), Some(agent)) = (self.row.lease, self.row.agent) else {
            return;
        };
        let sources = sources_of(
            &self.settle.info,
            self.task().n,
            self.row.sources.as_deref(),
        );
        if let Some(run) = self.plan.run(self.settle.task.run) {
            run.add.in_vain += i32::from(!sources.is_empty());
        }
        self.plan.attempts.push(Attempt {
            task: self.task(),
            epoch: self.row.epoch,
            lease,
            agent,
            ended_as,
            went: stored(went),
            body_hash: self.settle.body_hash,
            consumed: !sources.is_empty(),
            code: (!code.is_empty()).then(|| code.to_owned()),
            detail: (!detail.is_empty()).then(|| detail.to_owned()),
        });
    }
}

/// What an attempt adds to its run's cost. Without a figure it counts as declared: nothing was metered.
fn cost(usage: Option<Usage>) -> (i64, bool) {
    usage.map_or((0, false), |usage| (usage.micro_usd, usage.measured))
}

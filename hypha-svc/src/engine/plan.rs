//! What one transaction will write, gathered in memory. Holds the decisions; knows no SQL and waits for nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use cambium_hypha::EndState;
use cambium_hypha::turn::Bill;
use cambium_kernel::{AgentId, LeaseId, RunId};
use cambium_proto::hypha::v1::{RunEventKind, TaskState};
use chrono::{DateTime, Utc};

use super::cache::{Output, RunInfo};
use super::edges::{edge_outcomes, sources_of};
use super::evidence::Evidence;
use super::op::{EdgeOutcome, Start};
use crate::store::engine::{Counts, NewEnd, NewHot, RunHead, TaskKey};
use crate::store::event::Transition;
use crate::store::park::Park;
use crate::store::tally::{Arrival, Fan};
use crate::store::task::Attempt;

pub(crate) const RUNNING: i16 = 1;
pub(crate) const CANCELLING: i16 = 2;
pub(crate) const SUCCEEDED: i16 = 3;
pub(crate) const FAILED: i16 = 4;
pub(crate) const CANCELLED: i16 = 5;

/// States of hot rows.
pub(crate) mod hot {
    pub(crate) const READY: i16 = 0;
    pub(crate) const LEASED: i16 = 1;
    pub(crate) const BACKING_OFF: i16 = 2;
    pub(crate) const PARKED: i16 = 3;
    pub(crate) const DECIDING: i16 = 4;
    pub(crate) const HELD: i16 = 5;
}

/// How long a decision may take before the sweep hands it out again.
pub(crate) const DECIDE_MS: i64 = 2_000;

/// An end state as the wire and the store number it.
pub(crate) fn task_state(state: EndState) -> TaskState {
    match state {
        EndState::Succeeded => TaskState::Succeeded,
        EndState::Failed => TaskState::Failed,
        EndState::Skipped => TaskState::Skipped,
        EndState::Omitted => TaskState::Omitted,
        EndState::Cancelled => TaskState::Cancelled,
    }
}

/// The reverse of [`task_state`], for stored rows.
pub(crate) fn end_state(state: i16) -> Option<EndState> {
    match state {
        6 => Some(EndState::Succeeded),
        7 => Some(EndState::Failed),
        8 => Some(EndState::Skipped),
        9 => Some(EndState::Omitted),
        10 => Some(EndState::Cancelled),
        _ => None,
    }
}

pub(crate) fn stored(state: TaskState) -> i16 {
    i16::try_from(i32::from(state)).unwrap_or(0)
}

/// An edge that has settled and whose target has not been told yet.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    pub(crate) edge: u32,
    pub(crate) succeeded: bool,
    pub(crate) outcome: EdgeOutcome,
}

/// Why a run closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    FailFast,
    Cancel {
        grace_ms: i64,
    },
    /// Its turn has cost as much as it may.
    Spent {
        grace_ms: i64,
    },
}

/// Why a task ends whose turn has cost as much as it may.
pub(crate) const BUDGET: &str = "BUDGET";

impl Closing {
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::FailFast => "FAIL_FAST",
            Self::Cancel { .. } => "RUN_CANCELLED",
            Self::Spent { .. } => BUDGET,
        }
    }
}

/// What happens to one run.
#[derive(Debug)]
pub(crate) struct RunPlan {
    pub(crate) info: Arc<RunInfo>,
    pub(crate) head: RunHead,
    /// Started by this very transaction.
    pub(crate) fresh: bool,
    pub(crate) add: Counts,
    /// What its attempts cost in this transaction; consumed by `turn`, where the run is under one.
    pub(crate) bill: Bill,
    /// Its turn was told of its end.
    pub(crate) has_left: bool,
    pub(crate) events: Vec<Transition>,
    pub(crate) frontier: Vec<Settled>,
    pub(crate) members: BTreeMap<u32, Fan>,
    /// Nodes with `cancel_losers` whose joins this transaction decided; consumed by `losers`.
    pub(crate) decided: Vec<u32>,
    /// Set once, by what this transaction decided; consumed by `close`.
    pub(crate) closing: Option<Closing>,
}

/// A hot row to insert, and whether it still looks for a worker.
#[derive(Clone, Debug)]
pub(crate) struct PlannedHot {
    pub(crate) row: NewHot,
    pub(crate) node: u32,
}

/// What a hot row carries over from one attempt to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    pub(crate) epoch: i32,
    pub(crate) failures: i16,
    pub(crate) losses: i16,
    pub(crate) total_until: Option<DateTime<Utc>>,
    pub(crate) sources: Option<Vec<u8>>,
    pub(crate) resumed: bool,
}

/// Who ended a task, and what for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    pub(crate) agent: Option<AgentId>,
    pub(crate) lease: Option<LeaseId>,
    pub(crate) body_hash: Option<i64>,
    pub(crate) cost: Option<(i64, bool)>,
    pub(crate) code: Option<String>,
    pub(crate) detail: Option<String>,
    pub(crate) output: Option<Bytes>,
    /// Outcomes of the outgoing edges, where they were worked out before the transaction.
    pub(crate) edges: Option<Vec<EdgeOutcome>>,
    /// A fan-out's node: its members were counted in its stead.
    pub(crate) is_group: bool,
}

impl Ending {
    pub(crate) fn because(code: &str, detail: &str) -> Self {
        Self {
            code: Some(code.to_owned()),
            detail: (!detail.is_empty()).then(|| detail.to_owned()),
            ..Self::default()
        }
    }
}

/// A succeeded consumer whose sources are to be thanked.
#[derive(Clone, Debug)]
pub(crate) struct Thanks {
    pub(crate) task: TaskKey,
    pub(crate) agent: Option<AgentId>,
    pub(crate) sources: Vec<u32>,
}

#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) runs: BTreeMap<RunId, RunPlan>,
    pub(crate) hot: Vec<PlannedHot>,
    pub(crate) ends: Vec<NewEnd>,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) fans: Vec<(TaskKey, Vec<Vec<u8>>)>,
    pub(crate) parks: Vec<Park>,
    pub(crate) park_ends: Vec<(TaskKey, Option<Bytes>)>,
    pub(crate) thanks: Vec<Thanks>,
    pub(crate) evidence: Vec<Evidence>,
    /// How many attempts of each agent are told as settled.
    pub(crate) settled: Vec<(AgentId, i64)>,
    /// Agents of leases that end with this transaction, one entry each.
    pub(crate) freed: Vec<AgentId>,
    /// The database's time at the fence, where there was one.
    pub(crate) at: Option<DateTime<Utc>>,
    /// Starts that bring signals along.
    pub(crate) start_signals: Vec<Start>,
    /// Outputs for the cache, once they are stored.
    pub(crate) outputs: Vec<(TaskKey, Output)>,
}

impl Plan {
    /// Registers a locked run.
    pub(crate) fn lock(&mut self, info: &Arc<RunInfo>, head: RunHead) {
        self.runs.entry(info.run).or_insert_with(|| RunPlan {
            info: info.clone(),
            head,
            fresh: false,
            add: Counts::default(),
            bill: Bill::default(),
            has_left: false,
            events: Vec::new(),
            frontier: Vec::new(),
            members: BTreeMap::new(),
            decided: Vec::new(),
            closing: None,
        });
    }

    /// The plan of a run that was locked or started before.
    pub(crate) fn run(&mut self, run: RunId) -> Option<&mut RunPlan> {
        self.runs.get_mut(&run)
    }

    /// Makes a task ready. The assigner finds a worker for it, or it queues; in a paused run it is held.
    pub(crate) fn ready(&mut self, task: TaskKey, carried: Carried) {
        let Some(plan) = self.runs.get(&task.run) else {
            return;
        };
        let state = if plan.head.paused {
            hot::HELD
        } else {
            hot::READY
        };
        let node = &plan.info.graph().nodes()[task.n as usize];
        let queue_ms = node.timeouts.queue.map(|wait| wait.num_milliseconds());
        let mut row = self.row(task, state, carried);
        row.deadline_ms = queue_ms.filter(|_| state == hot::READY);
        self.hot.push(PlannedHot { row, node: task.n });
    }

    /// Hands a node to the loop that evaluates conditions, fan-outs and expressions outside the transaction.
    pub(crate) fn deciding(&mut self, task: TaskKey, sources: Option<Vec<u8>>, lease: LeaseId) {
        let carried = Carried {
            sources,
            ..Carried::default()
        };
        let mut row = self.row(task, hot::DECIDING, carried);
        row.lease = Some(lease);
        row.until_ms = Some(DECIDE_MS);
        self.hot.push(PlannedHot { row, node: task.n });
    }

    /// A hot row in a waiting state; the caller sets its moment.
    pub(crate) fn row(&self, task: TaskKey, state: i16, carried: Carried) -> NewHot {
        let plan = self.runs.get(&task.run);
        let node = plan.map(|plan| &plan.info.graph().nodes()[task.n as usize]);
        let total = node.and_then(|node| node.timeouts.total);
        NewHot {
            task,
            fresh: plan.is_some_and(|plan| plan.fresh),
            state,
            prio: node.map_or(4, |node| i16::from(node.priority)),
            queue: plan.map_or(0, |plan| plan.info.pinned.queues[task.n as usize]),
            turn: None,
            epoch: carried.epoch,
            failures: carried.failures,
            losses: carried.losses,
            lease: None,
            reg: None,
            agent: None,
            until_ms: None,
            until_at: None,
            deadline_ms: None,
            total_ms: total
                .filter(|_| carried.total_until.is_none())
                .map(|total| total.num_milliseconds()),
            total_until: carried.total_until,
            sources: carried.sources,
            resumed: carried.resumed,
        }
    }

    /// Ends a task: counts it, writes it, and settles the edges out of it, or tells its fan-out group.
    pub(crate) fn end(&mut self, task: TaskKey, state: EndState, carried: Carried, ending: Ending) {
        let Some(plan) = self.runs.get_mut(&task.run) else {
            return;
        };
        plan.add.open -= 1;
        if !ending.is_group {
            plan.count(state);
            let code = ending.code.as_deref().unwrap_or_default();
            let detail = ending.detail.as_deref().unwrap_or_default();
            plan.events.push(
                Transition::of_task(ended_kind(state).into(), task, carried.epoch)
                    .by(ending.agent)
                    .because(code, detail),
            );
        }
        if let Some((micro_usd, measured)) = ending.cost {
            plan.charge(micro_usd, measured);
        }
        if task.i > 0 {
            plan.member_ended(task, state);
        } else {
            plan.settle_edges(task.n, state, &ending);
        }
        if state == EndState::Succeeded && !ending.is_group {
            self.thank_and_keep(task, &carried, &ending);
        }
        self.ends.push(NewEnd {
            task,
            state: stored(task_state(state)),
            epoch: carried.epoch,
            failures: carried.failures,
            losses: carried.losses,
            agent: ending.agent,
            lease: ending.lease,
            body_hash: ending.body_hash,
            cost: ending.cost,
            sources: carried.sources,
            code: ending.code,
            detail: ending.detail,
            output: ending.output,
        });
    }

    fn thank_and_keep(&mut self, task: TaskKey, carried: &Carried, ending: &Ending) {
        let Some(plan) = self.runs.get(&task.run) else {
            return;
        };
        let sources = sources_of(&plan.info, task.n, carried.sources.as_deref());
        if !sources.is_empty() {
            self.thanks.push(Thanks {
                task,
                agent: ending.agent,
                sources,
            });
        }
        let output = Output {
            agent: ending.agent,
            bytes: ending.output.clone().unwrap_or_default(),
        };
        self.outputs.push((task, output));
    }

    /// Takes out rows that this transaction was about to insert for a run.
    pub(crate) fn take_planned(&mut self, run: RunId) -> Vec<NewHot> {
        self.take(|task| task.run == run)
    }

    /// Takes out those of certain nodes.
    pub(crate) fn take_planned_of(&mut self, run: RunId, nodes: &[u32]) -> Vec<NewHot> {
        self.take(|task| task.run == run && nodes.contains(&task.n))
    }

    fn take(&mut self, is_meant: impl Fn(TaskKey) -> bool) -> Vec<NewHot> {
        let (gone, kept) = std::mem::take(&mut self.hot)
            .into_iter()
            .partition(|planned| is_meant(planned.row.task));
        self.hot = kept;
        gone.into_iter()
            .map(|planned: PlannedHot| planned.row)
            .collect()
    }
}

impl RunPlan {
    /// Whether nothing new may start: told to cancel, or failing, as it was before or by this transaction.
    pub(crate) fn is_closed(&self) -> bool {
        self.head.failing || self.head.state != RUNNING
    }

    /// Adds what an attempt cost.
    pub(crate) fn charge(&mut self, micro_usd: i64, measured: bool) {
        self.add.cost_micro_usd += micro_usd;
        self.add.unmeasured += i32::from(!measured);
        self.bill.charge(micro_usd, measured);
    }

    fn count(&mut self, state: EndState) {
        let counter = match state {
            EndState::Succeeded => &mut self.add.succeeded,
            EndState::Failed => &mut self.add.failed,
            EndState::Skipped => &mut self.add.skipped,
            EndState::Omitted => &mut self.add.omitted,
            EndState::Cancelled => &mut self.add.cancelled,
        };
        *counter += 1;
    }

    fn member_ended(&mut self, task: TaskKey, state: EndState) {
        let fan = self.members.entry(task.n).or_insert(Fan {
            run: task.run,
            n: task.n,
            total: 0,
            ended: 0,
            failed: 0,
            cancelled: 0,
        });
        fan.ended += 1;
        fan.failed += u32::from(state == EndState::Failed);
        fan.cancelled += u32::from(state == EndState::Cancelled);
    }

    /// Settles the edges out of a node, and notes a failure that no edge handles.
    fn settle_edges(&mut self, n: u32, state: EndState, ending: &Ending) {
        let info = self.info.clone();
        let graph = info.graph();
        let outcomes = ending
            .edges
            .clone()
            .unwrap_or_else(|| edge_outcomes(&info, n, state, ending.output.as_deref()));
        let mut handled = state != EndState::Failed;
        for (edge, outcome) in graph.outgoing(n).iter().zip(outcomes) {
            let names_failed = graph.edges()[*edge as usize].on.contains(EndState::Failed);
            handled |= names_failed && outcome == EdgeOutcome::Fired;
            self.frontier.push(Settled {
                edge: *edge,
                succeeded: state == EndState::Succeeded,
                outcome,
            });
        }
        if !handled {
            self.add.unhandled += 1;
            if graph.fail_fast() && !self.is_closed() && self.closing.is_none() {
                self.closing = Some(Closing::FailFast);
            }
        }
    }
}

fn ended_kind(state: EndState) -> RunEventKind {
    match state {
        EndState::Succeeded => RunEventKind::TaskSucceeded,
        EndState::Failed => RunEventKind::TaskFailed,
        EndState::Skipped => RunEventKind::TaskSkipped,
        EndState::Omitted => RunEventKind::TaskOmitted,
        EndState::Cancelled => RunEventKind::TaskCancelled,
    }
}

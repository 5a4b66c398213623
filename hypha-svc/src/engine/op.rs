//! What callers ask of the engine.

use std::sync::Arc;

use bytes::Bytes;
use cambium_hypha::EndState;
use cambium_kernel::{LeaseId, RunId};
use chrono::{DateTime, Utc};
use tokio::sync::oneshot;

use super::cache::RunInfo;
use super::grant::{Granted, Grants};
use super::registration::Registration;
use crate::error::Error;
use crate::store::engine::{Fence, TaskKey};

/// One call, with where its answer goes.
#[derive(Debug)]
pub(crate) enum Op {
    Start(Box<Start>, oneshot::Sender<Result<Started, Error>>),
    Settle(Box<Settles>, oneshot::Sender<Result<SettledAll, Error>>),
    /// Nothing but: look for ready work.
    Look,
}

/// What any change costs beside its payload, in bytes of one that carries some.
const EACH: usize = 16 << 10;

impl Op {
    /// How much its transaction carries to the database, in bytes.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Start(start, _) => EACH + start.info.input.len(),
            Self::Settle(settles, _) => settles.list.iter().map(Settle::weight).sum(),
            Self::Look => 0,
        }
    }

    /// How many tasks or runs it changes.
    pub(crate) fn changes(&self) -> usize {
        match self {
            Self::Start(..) => 1,
            Self::Settle(settles, _) => settles.list.len(),
            Self::Look => 0,
        }
    }

    /// Whether it depends on a lease being alive, or over.
    pub(crate) fn judges_a_lease(&self) -> bool {
        let Self::Settle(settles, _) = self else {
            return false;
        };
        let judges =
            |settle: &Settle| matches!(settle.fence, Fence::Live { .. } | Fence::Expired { .. });
        settles.list.iter().any(judges)
    }
}

/// Changes that are made together, and what their reply may bring.
#[derive(Clone, Debug)]
pub(crate) struct Settles {
    pub(crate) list: Vec<Settle>,
    /// Slots that the reply may fill.
    pub(crate) next: Option<(Arc<Registration>, u32)>,
}

/// A run to start.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) info: Arc<RunInfo>,
    pub(crate) request_key: String,
    pub(crate) body_hash: Vec<u8>,
    pub(crate) graph_name: String,
    pub(crate) graph_version: i32,
    pub(crate) signals: Vec<(String, Bytes)>,
}

/// The run that a start came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Started {
    pub(crate) run: RunId,
    /// Not one that the key named already.
    pub(crate) is_new: bool,
}

/// A fenced change to one task.
#[derive(Clone, Debug)]
pub(crate) struct Settle {
    pub(crate) info: Arc<RunInfo>,
    pub(crate) task: TaskKey,
    pub(crate) epoch: i32,
    pub(crate) fence: Fence,
    pub(crate) change: Change,
    pub(crate) body_hash: Option<i64>,
}

/// What an edge out of an ended task says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EdgeOutcome {
    Fired,
    Dead,
    /// Its condition errored: the target fails.
    Fault(String),
}

/// Money an attempt used, and whether it was metered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) micro_usd: i64,
    pub(crate) measured: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum Change {
    Complete {
        output: Bytes,
        usage: Option<Usage>,
        /// Outcomes of the node's outgoing edges, in their order; empty for a fan-out member.
        edges: Vec<EdgeOutcome>,
    },
    Fail {
        code: String,
        detail: String,
        retryable: bool,
        usage: Option<Usage>,
    },
    Park {
        signal: String,
        until: Option<DateTime<Utc>>,
        checkpoint: Bytes,
    },
    Release,
    /// The lease ran out.
    Lost,
    /// Its holder may hold nothing any more.
    Revoke,
    /// The back-off or the park is over.
    Wake,
    /// A signal arrived for the parked task.
    Resume {
        payload: Bytes,
    },
    /// One of the timeouts passed.
    TimeOut,
    Decide(Verdict),
}

/// What a node with a condition, a fan-out or an expression turned out to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Run,
    FanOut(Vec<Vec<u8>>),
    End {
        state: EndState,
        code: Option<String>,
        detail: Option<String>,
    },
}

/// What came of a [`Settle`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Settled {
    /// Done; the task's state then, as `TaskState` on the wire.
    Done { went: i16 },
    /// The fence did not hold, and nothing was changed.
    Fenced,
}

/// What came of [`Settles`], in their order.
#[derive(Debug)]
pub(crate) struct SettledAll {
    pub(crate) list: Vec<Settled>,
    pub(crate) next: Grants,
}

impl Settle {
    fn weight(&self) -> usize {
        let payload = match &self.change {
            Change::Complete { output, .. } => output.len(),
            Change::Park { checkpoint, .. } => checkpoint.len(),
            Change::Resume { payload } => payload.len(),
            Change::Decide(Verdict::FanOut(items)) => items.iter().map(Vec::len).sum(),
            Change::Decide(_)
            | Change::Fail { .. }
            | Change::Release
            | Change::Lost
            | Change::Revoke
            | Change::Wake
            | Change::TimeOut => 0,
        };
        EACH + payload
    }

    /// Gives an attempt back that nobody started.
    pub(crate) fn release(granted: &Granted) -> Self {
        Self {
            info: granted.info.clone(),
            task: granted.task,
            epoch: granted.epoch,
            fence: Fence::Live {
                lease: granted.lease,
                reg: None,
            },
            change: Change::Release,
            body_hash: None,
        }
    }

    /// A verdict on a node that was being decided under a lease.
    pub(crate) fn verdict(
        info: Arc<RunInfo>,
        task: TaskKey,
        epoch: i32,
        lease: LeaseId,
        verdict: Verdict,
    ) -> Self {
        Self {
            info,
            task,
            epoch,
            fence: Fence::Deciding { lease },
            change: Change::Decide(verdict),
            body_hash: None,
        }
    }
}

//! Attempts on their way from the committer to a worker.

use std::sync::Arc;

use cambium_kernel::{AgentId, LeaseId};
use chrono::{DateTime, Utc};

use super::Engine;
use super::cache::RunInfo;
use crate::store::engine::TaskKey;

/// One leased attempt.
#[derive(Clone, Debug)]
pub(crate) struct Granted {
    pub(crate) info: Arc<RunInfo>,
    pub(crate) task: TaskKey,
    pub(crate) epoch: i32,
    pub(crate) lease: LeaseId,
    pub(crate) agent: AgentId,
    pub(crate) failures: i16,
    /// Packed nodes; none: all that the graph says.
    pub(crate) sources: Option<Vec<u8>>,
    pub(crate) resumed: bool,
    /// When it was leased, by the database.
    pub(crate) at: DateTime<Utc>,
}

/// Attempts that go back to the queue unless somebody takes them: a caller may vanish at any await.
#[derive(Debug)]
pub(crate) struct Grants {
    list: Vec<Granted>,
    engine: Option<Engine>,
}

impl Grants {
    pub(crate) fn none() -> Self {
        Self {
            list: Vec::new(),
            engine: None,
        }
    }

    pub(crate) fn new(list: Vec<Granted>, engine: Engine) -> Self {
        Self {
            list,
            engine: Some(engine),
        }
    }

    pub(crate) fn as_slice(&self) -> &[Granted] {
        &self.list
    }

    /// Both lists as one.
    pub(crate) fn join(mut self, mut other: Self) -> Self {
        self.list.append(&mut other.list);
        self.engine = self.engine.take().or(other.engine.take());
        self
    }

    /// The caller answers for them from here on.
    pub(crate) fn take(mut self) -> Vec<Granted> {
        std::mem::take(&mut self.list)
    }
}

impl Drop for Grants {
    fn drop(&mut self) {
        if let (false, Some(engine)) = (self.list.is_empty(), &self.engine) {
            engine.give_back(std::mem::take(&mut self.list));
        }
    }
}

/// A node to decide outside any transaction.
#[derive(Clone, Debug)]
pub(crate) struct DecideJob {
    pub(crate) info: Arc<RunInfo>,
    pub(crate) task: TaskKey,
    pub(crate) epoch: i32,
    pub(crate) lease: LeaseId,
    pub(crate) sources: Option<Vec<u8>>,
}

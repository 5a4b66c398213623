//! A worker: takes attempts from hypha, has them done, and reports each effectively once. Knows neither graphs nor
//! agents' minds, and never decides whether a task is tried again.
//!
//! The runtime owns leases, slots and reports; a [`Work`] owns what happens in between.

mod attempt;
pub mod exec;
pub mod http;
mod lease;
mod order;
pub mod payload;
mod reply;
mod report;
mod runtime;
mod session;
pub mod simulate;
mod task;

use bytes::Bytes;
use cambium_proto::hypha::v1 as hypha;

pub use exec::Exec;
pub use http::Http;
pub use order::{Order, Orders, Why};
pub use runtime::{Ended, Options, Runtime};
pub use session::Error;
pub use simulate::Simulate;
pub use task::Task;

/// Does tasks. Called for as many at once as the worker has slots.
///
/// Should watch `task.orders`: whoever goes on after a stop works for nothing.
pub trait Work: Send + Sync + 'static {
    fn run(&self, task: Task) -> impl Future<Output = Outcome> + Send;

    /// Whether this task is to come with a token of its own, good for 15 minutes or less: runs that are started with it
    /// are children of the task's run, and marks that are left with it are its agent's.
    fn wants_token(&self, _attempt: &hypha::Attempt) -> bool {
        false
    }
}

impl<F, Fut> Work for F
where
    F: Fn(Task) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Outcome> + Send,
{
    fn run(&self, task: Task) -> impl Future<Output = Outcome> + Send {
        self(task)
    }
}

/// How an attempt ended, as its worker saw it.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Completed {
        /// UTF-8 JSON; empty is null.
        output: Bytes,
        usage: Option<hypha::Usage>,
    },
    Failed(Failure),
    /// Waits for a signal; the next attempt gets it, with the checkpoint.
    Parked {
        signal: String,
        until: Option<prost_types::Timestamp>,
        checkpoint: Bytes,
    },
    /// Stopped because it was told to.
    Stopped,
}

/// Why an attempt has no output.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Upper snake case.
    pub code: String,
    pub retryable: bool,
    /// For people; what is over 4 KiB is cut off in front.
    pub detail: String,
    pub usage: Option<hypha::Usage>,
}

impl Failure {
    /// One that another attempt may not meet again.
    pub fn retryable(code: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            retryable: true,
            detail: detail.into(),
            usage: None,
        }
    }

    /// One that every attempt would meet.
    pub fn lasting(code: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            retryable: false,
            ..Self::retryable(code, detail)
        }
    }
}

//! Every way a call to hypha can fail: the rules' own failures, the store's, and those of a call's frame.

use std::time::Duration;

use cambium_kernel::{ErrorKind, Failure, RunId};
use cambium_service_kit::token::TokenError;
use cambium_service_kit::{batch, call, database, receipt, status, watchers};
use tonic::Status;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Domain(#[from] cambium_hypha::Error),
    #[error(transparent)]
    Import(#[from] cambium_formats::Error),
    #[error(transparent)]
    Call(#[from] call::Error),
    #[error(transparent)]
    Receipt(#[from] receipt::Error),
    #[error(transparent)]
    Database(#[from] database::Error),
    #[error(transparent)]
    Full(#[from] batch::Full),
    #[error("`{field}` {why}")]
    Field { field: String, why: String },
    #[error("graph `{0}` does not exist")]
    NoGraph(String),
    #[error("graph `{name}` has no version {version}")]
    NoVersion { name: String, version: u32 },
    #[error("run `{0}` does not exist")]
    NoRun(RunId),
    #[error("no run has the key `{0}`")]
    NoKey(String),
    #[error("task `{0}` does not exist")]
    NoTask(String),
    #[error("task `{0}` has no output")]
    NoOutput(String),
    #[error("registration `{0}` does not exist: register again")]
    NoRegistration(String),
    #[error("registration `{0}` is another principal's")]
    NotYourRegistration(String),
    #[error("the lease of task `{0}` is another worker's")]
    NotYourLease(String),
    #[error("the worker's token does not cover agent `{0}`")]
    AgentNotCovered(String),
    #[error("the worker's token does not cover the capability `{0}`")]
    CapabilityNotCovered(String),
    #[error("agent `{0}` is not known here yet")]
    AgentUnknown(String),
    #[error("a newer incarnation of this worker has registered: finish what you hold")]
    Draining,
    #[error("the token has run out: open the stream again with the next one")]
    TokenRanOut,
    #[error("run `{0}` has ended")]
    RunEnded(RunId),
    #[error("run `{0}` has not ended yet")]
    RunNotEnded(RunId),
    #[error("key `{0}` is used with other input")]
    KeyTaken(String),
    #[error("the lease of task `{0}` is stale, lost or expired")]
    LeaseLost(String),
    #[error("the output is refused: {0}")]
    Output(cambium_hypha::payload::PayloadFault),
    #[error("100 signals wait for the key `{0}` already")]
    TooManySignals(String),
    #[error("sequence {asked} is older than kept: the lowest is {lowest}")]
    TooOld { asked: i64, lowest: i64 },
    #[error("the watcher fell behind at sequence {0}")]
    SlowWatcher(i64),
    #[error(transparent)]
    Watches(#[from] watchers::TooMany),
    #[error("the page token is not one of this list's")]
    PageToken,
    #[error("version {0} of the weights is not the latest: read them again")]
    WeightsMoved(i64),
    #[error("turn `{0}` is over or was withdrawn: nothing starts under it any more")]
    TurnLost(String),
    #[error("the agent holds a lease under a turn: it starts runs with that lease's token only")]
    LeaseToken,
    #[error("{0}")]
    Denied(&'static str),
    #[error("another writer won: try again")]
    Contended,
    #[error("the transaction that this call shared failed")]
    Shared(database::Fault),
    #[error("no token could be minted")]
    Token(#[source] TokenError),
    #[error("the service is stopping")]
    Stopping,
}

impl Error {
    pub(crate) fn field(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Field {
            field: field.into(),
            why: why.into(),
        }
    }

    /// What the database said, if it was the database.
    pub(crate) fn fault(&self) -> Option<database::Fault> {
        match self {
            Self::Database(error) => Some(error.fault()),
            Self::Contended => Some(database::Fault::Conflict),
            Self::Shared(fault) => Some(*fault),
            _ => None,
        }
    }

    /// The failure of a shared transaction, told to one of those who shared it.
    pub(crate) fn for_another(&self) -> Self {
        match (self, self.fault()) {
            (Self::Stopping, _) => Self::Stopping,
            (Self::NotYourLease(task), _) => Self::NotYourLease(task.clone()),
            (Self::NoTask(task), _) => Self::NoTask(task.clone()),
            (Self::Full(full), _) => Self::Full(*full),
            (_, Some(database::Fault::Conflict)) => Self::Contended,
            (_, fault) => Self::Shared(fault.unwrap_or(database::Fault::Internal)),
        }
    }

    fn inner(&self) -> Option<&(dyn Failure + 'static)> {
        match self {
            Self::Domain(error) => Some(error),
            Self::Import(error) => Some(error),
            Self::Call(error) => Some(error),
            Self::Receipt(error) => Some(error),
            Self::Database(error) => Some(error),
            Self::Full(error) => Some(error),
            Self::Watches(error) => Some(error),
            _ => None,
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        if let Some(inner) = self.inner() {
            return inner.kind();
        }
        match self {
            Self::Field { .. } | Self::PageToken => ErrorKind::Invalid,
            Self::Output(fault) => match fault {
                cambium_hypha::payload::PayloadFault::TooLarge { .. } => ErrorKind::Exhausted,
                _ => ErrorKind::Invalid,
            },
            Self::NoGraph(_)
            | Self::NoVersion { .. }
            | Self::NoRun(_)
            | Self::NoKey(_)
            | Self::NoTask(_)
            | Self::NoOutput(_)
            | Self::NoRegistration(_) => ErrorKind::NotFound,
            Self::NotYourRegistration(_)
            | Self::NotYourLease(_)
            | Self::AgentNotCovered(_)
            | Self::CapabilityNotCovered(_)
            | Self::Denied(_) => ErrorKind::Denied,
            Self::AgentUnknown(_)
            | Self::Draining
            | Self::RunEnded(_)
            | Self::RunNotEnded(_)
            | Self::LeaseToken => ErrorKind::Refused,
            Self::TokenRanOut => ErrorKind::Unauthenticated,
            Self::KeyTaken(_) => ErrorKind::Taken,
            Self::LeaseLost(_) | Self::WeightsMoved(_) | Self::TurnLost(_) | Self::Contended => {
                ErrorKind::Conflict
            }
            Self::TooManySignals(_) | Self::SlowWatcher(_) => ErrorKind::Exhausted,
            Self::TooOld { .. } => ErrorKind::Stale,
            Self::Shared(database::Fault::Conflict) => ErrorKind::Conflict,
            Self::Shared(database::Fault::StorageFull) => ErrorKind::Exhausted,
            Self::Shared(database::Fault::Unavailable) | Self::Stopping => ErrorKind::Unavailable,
            Self::Shared(database::Fault::Internal) => ErrorKind::Internal,
            Self::Domain(_)
            | Self::Import(_)
            | Self::Call(_)
            | Self::Receipt(_)
            | Self::Full(_)
            | Self::Watches(_)
            | Self::Token(_)
            | Self::Database(_) => ErrorKind::Internal,
        }
    }

    fn reason(&self) -> &'static str {
        if let Some(inner) = self.inner() {
            return inner.reason();
        }
        match self {
            Self::Field { .. } => "FIELD_INVALID",
            Self::NoGraph(_) => "GRAPH_NOT_FOUND",
            Self::NoVersion { .. } => "GRAPH_VERSION_NOT_FOUND",
            Self::NoRun(_) | Self::NoKey(_) => "RUN_NOT_FOUND",
            Self::NoTask(_) => "TASK_NOT_FOUND",
            Self::NoOutput(_) => "OUTPUT_NOT_FOUND",
            Self::NoRegistration(_) => "REGISTRATION_UNKNOWN",
            Self::NotYourRegistration(_) => "REGISTRATION_NOT_YOURS",
            Self::NotYourLease(_) => "LEASE_NOT_YOURS",
            Self::AgentNotCovered(_) => "AGENT_NOT_COVERED",
            Self::CapabilityNotCovered(_) => "CAPABILITY_NOT_COVERED",
            Self::AgentUnknown(_) => "AGENT_UNKNOWN",
            Self::Draining => "DRAINING",
            Self::TokenRanOut => "TOKEN_EXPIRED",
            Self::RunEnded(_) => "RUN_ENDED",
            Self::RunNotEnded(_) => "RUN_NOT_ENDED",
            Self::KeyTaken(_) => "KEY_TAKEN",
            Self::LeaseLost(_) => "LEASE_LOST",
            Self::Output(fault) => fault.code(),
            Self::TooManySignals(_) => "TOO_MANY_SIGNALS",
            Self::TooOld { .. } => "SEQUENCE_TOO_OLD",
            Self::SlowWatcher(_) => "WATCHER_TOO_SLOW",
            Self::PageToken => "PAGE_TOKEN_INVALID",
            Self::WeightsMoved(_) => "WEIGHTS_MOVED",
            Self::TurnLost(_) => "TURN_LOST",
            Self::LeaseToken => "LEASE_TOKEN",
            Self::Denied(_) => "NOT_PERMITTED",
            Self::Contended => "CONTENDED",
            Self::Shared(database::Fault::Conflict) => "CONTENDED",
            Self::Shared(database::Fault::StorageFull) => "STORAGE_FULL",
            Self::Shared(database::Fault::Unavailable) => "DATABASE_UNAVAILABLE",
            Self::Shared(database::Fault::Internal) => "DATABASE_FAILED",
            Self::Stopping => "STOPPING",
            Self::Domain(_)
            | Self::Import(_)
            | Self::Call(_)
            | Self::Receipt(_)
            | Self::Full(_)
            | Self::Watches(_)
            | Self::Token(_)
            | Self::Database(_) => "INTERNAL",
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Field { field, .. } => Some(field.clone()),
            Self::PageToken => Some("page_token".to_owned()),
            Self::Output(_) => Some("output".to_owned()),
            _ => self.inner().and_then(Failure::field),
        }
    }

    fn wait(&self) -> Option<Duration> {
        match self {
            Self::AgentUnknown(_) => Some(Duration::from_secs(1)),
            _ => self.inner().and_then(Failure::wait),
        }
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        // The innermost failure is handed on, so that neither its reason nor its source chain is lost.
        match error.inner() {
            Some(inner) => status::from_failure(inner),
            None => status::from_failure(&error),
        }
    }
}

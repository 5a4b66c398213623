//! Every way stigmergy can say no, and how that leaves: each wraps or names one failure, and hands on its kind and reason.

use std::time::Duration;

use cambium_kernel::{AgentId, ErrorKind, Failure, MarkerId};
use cambium_service_kit::database::Fault;
use cambium_service_kit::{batch, call, database, page, receipt, status, watchers};
use tonic::Status;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Rule(#[from] cambium_stigmergy::Error),

    #[error(transparent)]
    Call(#[from] call::Error),

    #[error(transparent)]
    Receipt(#[from] receipt::Error),

    #[error(transparent)]
    Full(#[from] batch::Full),

    #[error(transparent)]
    Database(#[from] database::Error),

    #[error("`{field}` {why}")]
    Field { field: &'static str, why: String },

    #[error("the caller's token names no agent by its id")]
    NotAnAgent,

    #[error("agent {0} is in quarantine")]
    Quarantined(AgentId),

    #[error("agent {0} has retired")]
    Retired(AgentId),

    #[error("payloads are not shown to viewers, so they cannot be searched by one")]
    PayloadHidden,

    #[error("marker {0} does not exist, or has faded")]
    NoMarker(MarkerId),

    #[error("sequence {asked} is older than kept: the lowest is {lowest}")]
    TooOld { asked: i64, lowest: i64 },

    #[error("the watcher fell behind at sequence {0}")]
    SlowWatcher(i64),

    #[error(transparent)]
    Watches(#[from] watchers::TooMany),

    #[error(transparent)]
    Page(#[from] page::Error),

    #[error("{what} is stored as nothing may be: {why}")]
    Broken { what: String, why: String },

    #[error("the transaction that this call shared failed")]
    Shared(Fault),

    #[error("the service is stopping")]
    Stopping,
}

impl Error {
    pub(crate) fn field(field: &'static str, why: impl Into<String>) -> Self {
        Self::Field {
            field,
            why: why.into(),
        }
    }

    /// What the database said, if it was the database.
    pub(crate) fn fault(&self) -> Option<Fault> {
        match self {
            Self::Database(error) => Some(error.fault()),
            Self::Receipt(receipt::Error::Database(error)) => Some(error.fault()),
            Self::Shared(fault) => Some(*fault),
            _ => None,
        }
    }

    /// The failure inside, where there is one of its own.
    fn inner(&self) -> Option<&(dyn Failure + 'static)> {
        match self {
            Self::Rule(inner) => Some(inner),
            Self::Call(inner) => Some(inner),
            Self::Receipt(inner) => Some(inner),
            Self::Full(inner) => Some(inner),
            Self::Page(inner) => Some(inner),
            Self::Watches(inner) => Some(inner),
            Self::Database(inner) => Some(inner),
            _ => None,
        }
    }
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        if let Some(inner) = self.inner() {
            return inner.kind();
        }
        match self {
            Self::Field { .. } => ErrorKind::Invalid,
            Self::NotAnAgent | Self::Quarantined(_) | Self::Retired(_) | Self::PayloadHidden => {
                ErrorKind::Denied
            }
            Self::NoMarker(_) => ErrorKind::NotFound,
            Self::TooOld { .. } => ErrorKind::Stale,
            Self::SlowWatcher(_) | Self::Shared(Fault::StorageFull) => ErrorKind::Exhausted,
            Self::Shared(Fault::Conflict) => ErrorKind::Conflict,
            Self::Shared(Fault::Unavailable) | Self::Stopping => ErrorKind::Unavailable,
            Self::Shared(Fault::Internal)
            | Self::Broken { .. }
            | Self::Rule(_)
            | Self::Call(_)
            | Self::Receipt(_)
            | Self::Full(_)
            | Self::Page(_)
            | Self::Watches(_)
            | Self::Database(_) => ErrorKind::Internal,
        }
    }

    fn reason(&self) -> &'static str {
        if let Some(inner) = self.inner() {
            return inner.reason();
        }
        match self {
            Self::Field { .. } => "FIELD_INVALID",
            Self::NotAnAgent => "AGENT_ID_INVALID",
            Self::Quarantined(_) => "QUARANTINED",
            Self::Retired(_) => "AGENT_RETIRED",
            Self::PayloadHidden => "PAYLOAD_HIDDEN",
            Self::NoMarker(_) => "MARKER_NOT_FOUND",
            Self::TooOld { .. } => "SEQUENCE_TOO_OLD",
            Self::SlowWatcher(_) => "WATCHER_TOO_SLOW",
            Self::Broken { .. } => "ROW_BROKEN",
            Self::Shared(Fault::Conflict) => "CONTENDED",
            Self::Shared(Fault::StorageFull) => "STORAGE_FULL",
            Self::Shared(Fault::Unavailable) => "DATABASE_UNAVAILABLE",
            Self::Shared(Fault::Internal) => "DATABASE_FAILED",
            Self::Stopping => "STOPPING",
            Self::Rule(_)
            | Self::Call(_)
            | Self::Receipt(_)
            | Self::Full(_)
            | Self::Page(_)
            | Self::Watches(_)
            | Self::Database(_) => "INTERNAL",
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Field { field, .. } => Some((*field).to_owned()),
            _ => self.inner().and_then(Failure::field),
        }
    }

    fn wait(&self) -> Option<Duration> {
        self.inner().and_then(Failure::wait)
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        database::Error::from(error).into()
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

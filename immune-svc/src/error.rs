//! Every way immune can say no, and how that leaves: each wraps or names one failure, and hands on its kind and reason.

use std::time::Duration;

use cambium_kernel::{ErrorKind, Failure};
use cambium_service_kit::{batch, call, database, page, receipt, status, watchers};
use tonic::Status;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Rule(#[from] cambium_immune::Error),

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

    #[error("the workspace has no agent `{0}`")]
    NoAgent(String),

    #[error("agent `{0}` has retired: its standing is closed")]
    Retired(String),

    #[error("the workspace has no rule `{0}`")]
    NoRule(String),

    #[error("a workspace has at most {0} rules of its own")]
    TooManyRules(usize),

    #[error("the workspace has no alert `{0}`")]
    NoAlert(String),

    #[error("`version` is {current} now, not {given}: read it again")]
    VersionMoved { given: i64, current: i64 },

    #[error("it is not for service `{0}` to record this")]
    NotYours(String),

    #[error(transparent)]
    Page(#[from] page::Error),

    #[error(transparent)]
    Watches(#[from] watchers::TooMany),

    #[error("the stream was read too slowly: open it again")]
    SlowWatcher,

    #[error("the service is stopping")]
    Stopping,

    #[error("{what} is stored with what it may not have: {why}")]
    Broken { what: String, why: String },
}

impl Error {
    /// A field that holds what it may not.
    pub(crate) fn field(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Field {
            field: field.into(),
            why: why.into(),
        }
    }

    pub(crate) fn broken(what: impl Into<String>, why: impl ToString) -> Self {
        Self::Broken {
            what: what.into(),
            why: why.to_string(),
        }
    }

    /// The failure inside, where there is one of its own.
    fn inner(&self) -> Option<&(dyn Failure + 'static)> {
        match self {
            Self::Rule(inner) => Some(inner),
            Self::Call(inner) => Some(inner),
            Self::Receipt(inner) => Some(inner),
            Self::Database(inner) => Some(inner),
            Self::Full(inner) => Some(inner),
            Self::Page(inner) => Some(inner),
            Self::Watches(inner) => Some(inner),
            Self::Field { .. }
            | Self::NoAgent(_)
            | Self::Retired(_)
            | Self::NoRule(_)
            | Self::TooManyRules(_)
            | Self::NoAlert(_)
            | Self::VersionMoved { .. }
            | Self::NotYours(_)
            | Self::SlowWatcher
            | Self::Stopping
            | Self::Broken { .. } => None,
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
            Self::NoAgent(_) | Self::NoRule(_) | Self::NoAlert(_) => ErrorKind::NotFound,
            Self::Retired(_) => ErrorKind::Refused,
            Self::VersionMoved { .. } => ErrorKind::Conflict,
            Self::NotYours(_) => ErrorKind::Denied,
            Self::SlowWatcher | Self::TooManyRules(_) => ErrorKind::Exhausted,
            Self::Stopping => ErrorKind::Unavailable,
            Self::Rule(_)
            | Self::Call(_)
            | Self::Receipt(_)
            | Self::Database(_)
            | Self::Full(_)
            | Self::Page(_)
            | Self::Watches(_)
            | Self::Broken { .. } => ErrorKind::Internal,
        }
    }

    fn reason(&self) -> &'static str {
        if let Some(inner) = self.inner() {
            return inner.reason();
        }
        match self {
            Self::Field { .. } => "FIELD_INVALID",
            Self::NoAgent(_) => "AGENT_UNKNOWN",
            Self::Retired(_) => "AGENT_RETIRED",
            Self::NoRule(_) => "RULE_UNKNOWN",
            Self::TooManyRules(_) => "TOO_MANY_RULES",
            Self::NoAlert(_) => "ALERT_UNKNOWN",
            Self::VersionMoved { .. } => "VERSION_MOVED",
            Self::NotYours(_) => "RECORD_NOT_YOURS",
            Self::SlowWatcher => "WATCHER_TOO_SLOW",
            Self::Stopping => "STOPPING",
            Self::Broken { .. } => "ROW_BROKEN",
            Self::Rule(_)
            | Self::Call(_)
            | Self::Receipt(_)
            | Self::Database(_)
            | Self::Full(_)
            | Self::Page(_)
            | Self::Watches(_) => "INTERNAL",
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Field { field, .. } => Some(field.clone()),
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

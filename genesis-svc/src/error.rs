//! Every way genesis can say no, and how that leaves: each wraps or names one failure, and hands on its kind and reason.

use std::time::Duration;

use cambium_genesis::{Capabilities, LearningId, SpawnId, TemplateName};
use cambium_kernel::{AgentId, ErrorKind, Failure};
use cambium_service_kit::{call, database, receipt, status, token, watchers};
use tonic::Status;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Rule(#[from] cambium_genesis::Error),

    #[error(transparent)]
    Call(#[from] call::Error),

    #[error(transparent)]
    Receipt(#[from] receipt::Error),

    #[error("a token for the agent could not be signed")]
    Token(#[from] token::TokenError),

    #[error("name the agent by `agent_id` or by `name`, not by both or neither")]
    WhichAgent,

    #[error("`agent_id` is not a UUID")]
    AgentIdMalformed,

    #[error("`{field}` {why}")]
    Field { field: String, why: String },

    #[error("the workspace has no agent `{0}`")]
    NoAgent(String),

    #[error("the workspace has no template `{0}`")]
    NoTemplate(TemplateName),

    #[error("no template of the workspace offers {}: put one that does", quoted(.0))]
    NoOffer(Capabilities),

    #[error("template `{template}` does not offer {}: name another", quoted(.missing))]
    Lacks {
        template: TemplateName,
        missing: Capabilities,
    },

    #[error("template `{name}` has no version {version}")]
    NoVersion { name: TemplateName, version: i32 },

    #[error("the template is at version {current}, not at {expected}: read it again")]
    VersionMoved { current: i32, expected: i32 },

    #[error("the workspace has no spawn {0}")]
    NoSpawn(SpawnId),

    #[error("the spawn was decided otherwise before")]
    SpawnDecided,

    #[error("the workspace has no learning {0}")]
    NoLearning(LearningId),

    #[error("agent {0} has left no compost")]
    NoCompost(AgentId),

    #[error("{0}")]
    Denied(&'static str),

    #[error("an agent in quarantine changes nothing")]
    Quarantined,

    #[error("this needs a login of the last 5 minutes: log in again")]
    StepUp,

    #[error(transparent)]
    Watchers(#[from] watchers::TooMany),

    #[error("the reader was too slow: watch again")]
    SlowWatcher,

    #[error("the service is stopping: ask another replica")]
    Stopping,

    #[error("`page_size` {0} is outside 0 to 1,000")]
    PageSize(i32),

    #[error("`page_token` is not one that this list gave out")]
    PageToken,

    #[error("{what} is stored with what may not be: {why}")]
    Broken { what: String, why: String },

    #[error(transparent)]
    Database(#[from] database::Error),
}

/// For people: each in ticks.
fn quoted(names: &Capabilities) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

impl Error {
    pub(crate) fn field(field: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Field {
            field: field.into(),
            why: why.into(),
        }
    }

    /// The failure inside, where there is one of its own.
    fn inner(&self) -> Option<&(dyn Failure + 'static)> {
        match self {
            Self::Rule(inner) => Some(inner),
            Self::Call(inner) => Some(inner),
            Self::Receipt(inner) => Some(inner),
            Self::Watchers(inner) => Some(inner),
            Self::Database(inner) => Some(inner),
            Self::Token(_)
            | Self::WhichAgent
            | Self::AgentIdMalformed
            | Self::Field { .. }
            | Self::NoAgent(_)
            | Self::NoTemplate(_)
            | Self::NoOffer(_)
            | Self::Lacks { .. }
            | Self::NoVersion { .. }
            | Self::VersionMoved { .. }
            | Self::NoSpawn(_)
            | Self::SpawnDecided
            | Self::NoLearning(_)
            | Self::NoCompost(_)
            | Self::Denied(_)
            | Self::Quarantined
            | Self::StepUp
            | Self::SlowWatcher
            | Self::Stopping
            | Self::PageSize(_)
            | Self::PageToken
            | Self::Broken { .. } => None,
        }
    }

    /// What the caller should do, and the name of the failure, where it is ours.
    const fn own(&self) -> (ErrorKind, &'static str) {
        match self {
            Self::WhichAgent | Self::AgentIdMalformed => (ErrorKind::Invalid, "AGENT_ID_INVALID"),
            Self::Field { .. } => (ErrorKind::Invalid, "FIELD_INVALID"),
            Self::PageSize(_) => (ErrorKind::Invalid, "PAGE_SIZE_INVALID"),
            Self::PageToken => (ErrorKind::Invalid, "PAGE_TOKEN_INVALID"),
            Self::NoAgent(_) => (ErrorKind::NotFound, "AGENT_UNKNOWN"),
            Self::NoTemplate(_) => (ErrorKind::NotFound, "TEMPLATE_UNKNOWN"),
            Self::NoOffer(_) => (ErrorKind::NotFound, "TEMPLATE_NOT_OFFERED"),
            Self::Lacks { .. } => (ErrorKind::Refused, "TEMPLATE_LACKS"),
            Self::NoVersion { .. } => (ErrorKind::NotFound, "TEMPLATE_VERSION_UNKNOWN"),
            Self::VersionMoved { .. } => (ErrorKind::Conflict, "TEMPLATE_VERSION_MOVED"),
            Self::NoSpawn(_) => (ErrorKind::NotFound, "SPAWN_UNKNOWN"),
            Self::SpawnDecided => (ErrorKind::Refused, "SPAWN_DECIDED"),
            Self::NoLearning(_) => (ErrorKind::NotFound, "LEARNING_UNKNOWN"),
            Self::NoCompost(_) => (ErrorKind::NotFound, "COMPOST_UNKNOWN"),
            Self::Denied(_) => (ErrorKind::Denied, "NOT_PERMITTED"),
            Self::Quarantined => (ErrorKind::Denied, "AGENT_QUARANTINED"),
            Self::StepUp => (ErrorKind::Unauthenticated, "STEP_UP"),
            Self::SlowWatcher => (ErrorKind::Exhausted, "WATCHER_TOO_SLOW"),
            Self::Stopping => (ErrorKind::Unavailable, "STOPPING"),
            Self::Token(_) => (ErrorKind::Internal, "TOKEN_NOT_SIGNED"),
            Self::Broken { .. } => (ErrorKind::Internal, "ROW_BROKEN"),
            Self::Rule(_)
            | Self::Call(_)
            | Self::Receipt(_)
            | Self::Watchers(_)
            | Self::Database(_) => (ErrorKind::Internal, "INTERNAL"),
        }
    }
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        self.inner().map_or_else(|| self.own().0, Failure::kind)
    }

    fn reason(&self) -> &'static str {
        self.inner().map_or_else(|| self.own().1, Failure::reason)
    }

    fn field(&self) -> Option<String> {
        if let Some(inner) = self.inner() {
            return inner.field();
        }
        match self {
            Self::WhichAgent | Self::AgentIdMalformed => Some("agent_id".to_owned()),
            Self::Field { field, .. } => Some(field.clone()),
            Self::PageSize(_) => Some("page_size".to_owned()),
            Self::PageToken => Some("page_token".to_owned()),
            Self::Rule(_)
            | Self::Call(_)
            | Self::Receipt(_)
            | Self::Watchers(_)
            | Self::Database(_)
            | Self::Token(_)
            | Self::NoAgent(_)
            | Self::NoTemplate(_)
            | Self::NoOffer(_)
            | Self::Lacks { .. }
            | Self::NoVersion { .. }
            | Self::VersionMoved { .. }
            | Self::NoSpawn(_)
            | Self::SpawnDecided
            | Self::NoLearning(_)
            | Self::NoCompost(_)
            | Self::Denied(_)
            | Self::Quarantined
            | Self::StepUp
            | Self::SlowWatcher
            | Self::Stopping
            | Self::Broken { .. } => None,
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
        status::of(error)
    }
}

//! Every way genesis can say no, and how that leaves: each wraps or names one failure, and hands on its kind and reason.

use std::time::Duration;

use cambium_kernel::{AgentId, ErrorKind, Failure};
use cambium_service_kit::{call, database, receipt, status, token};
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

    #[error("the workspace has no agent `{0}`")]
    NoAgent(String),

    #[error("`page_size` {0} is outside 0 to 1,000")]
    PageSize(i32),

    #[error("`page_token` is not one that this list gave out")]
    PageToken,

    #[error("agent {id} is stored with what no agent may have: {why}")]
    Broken { id: AgentId, why: String },

    #[error(transparent)]
    Database(#[from] database::Error),
}

impl Error {
    /// The failure inside, where there is one of its own.
    fn inner(&self) -> Option<&(dyn Failure + 'static)> {
        match self {
            Self::Rule(inner) => Some(inner),
            Self::Call(inner) => Some(inner),
            Self::Receipt(inner) => Some(inner),
            Self::Database(inner) => Some(inner),
            Self::Token(_)
            | Self::WhichAgent
            | Self::AgentIdMalformed
            | Self::NoAgent(_)
            | Self::PageSize(_)
            | Self::PageToken
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
            Self::WhichAgent | Self::AgentIdMalformed | Self::PageSize(_) | Self::PageToken => {
                ErrorKind::Invalid
            }
            Self::NoAgent(_) => ErrorKind::NotFound,
            Self::Rule(_)
            | Self::Call(_)
            | Self::Receipt(_)
            | Self::Database(_)
            | Self::Token(_)
            | Self::Broken { .. } => ErrorKind::Internal,
        }
    }

    fn reason(&self) -> &'static str {
        if let Some(inner) = self.inner() {
            return inner.reason();
        }
        match self {
            Self::WhichAgent | Self::AgentIdMalformed => "AGENT_ID_INVALID",
            Self::NoAgent(_) => "AGENT_UNKNOWN",
            Self::PageSize(_) => "PAGE_SIZE_INVALID",
            Self::PageToken => "PAGE_TOKEN_INVALID",
            Self::Token(_) => "TOKEN_NOT_SIGNED",
            Self::Broken { .. } => "ROW_BROKEN",
            Self::Rule(_) | Self::Call(_) | Self::Receipt(_) | Self::Database(_) => "INTERNAL",
        }
    }

    fn field(&self) -> Option<String> {
        if let Some(inner) = self.inner() {
            return inner.field();
        }
        match self {
            Self::WhichAgent | Self::AgentIdMalformed => Some("agent_id".to_owned()),
            Self::PageSize(_) => Some("page_size".to_owned()),
            Self::PageToken => Some("page_token".to_owned()),
            Self::Rule(_)
            | Self::Call(_)
            | Self::Receipt(_)
            | Self::Token(_)
            | Self::NoAgent(_)
            | Self::Broken { .. }
            | Self::Database(_) => None,
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

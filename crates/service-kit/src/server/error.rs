//! Why the server itself, rather than a service behind it, refuses a call.

use std::time::Duration;

use cambium_kernel::{ErrorKind, Failure};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Error {
    #[error("{limit} calls of this sort are in work already: try again shortly")]
    Overloaded { limit: usize },

    #[error("the request is not a well-formed message of this method: {why}")]
    Malformed { why: String },

    #[error("the request is over the limit of this method: {why}")]
    TooLarge { why: String },
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Malformed { .. } => ErrorKind::Invalid,
            Self::Overloaded { .. } | Self::TooLarge { .. } => ErrorKind::Exhausted,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Overloaded { .. } => "OVERLOADED",
            Self::Malformed { .. } => "REQUEST_MALFORMED",
            Self::TooLarge { .. } => "REQUEST_TOO_LARGE",
        }
    }

    fn wait(&self) -> Option<Duration> {
        match self {
            Self::Overloaded { .. } => Some(Duration::from_millis(200)),
            // Waiting does not make it smaller.
            Self::TooLarge { .. } | Self::Malformed { .. } => None,
        }
    }
}

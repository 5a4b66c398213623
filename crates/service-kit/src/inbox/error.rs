//! Every way a delivery can fail.

use std::time::Duration;

use cambium_kernel::{ErrorKind, Failure};

use crate::database;

/// Why signals were not applied: none of them was.
#[derive(Debug, thiserror::Error)]
pub enum Error<E> {
    #[error("`signals[{index}].{field}` {why}")]
    Malformed {
        index: usize,
        field: &'static str,
        why: String,
    },

    #[error("`signals[{index}]` is of a type that is not for `{sender}` to say")]
    Foreign { index: usize, sender: String },

    #[error(transparent)]
    Receptor(E),

    #[error(transparent)]
    Database(#[from] database::Error),
}

impl<E> From<sqlx::Error> for Error<E> {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl<E: Failure> Failure for Error<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Malformed { .. } => ErrorKind::Invalid,
            Self::Foreign { .. } => ErrorKind::Denied,
            Self::Receptor(error) => error.kind(),
            Self::Database(error) => error.kind(),
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "SIGNAL_INVALID",
            Self::Foreign { .. } => "SIGNAL_NOT_YOURS",
            Self::Receptor(error) => error.reason(),
            Self::Database(error) => error.reason(),
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Malformed { index, field, .. } => Some(format!("signals[{index}].{field}")),
            Self::Foreign { index, .. } => Some(format!("signals[{index}].type")),
            Self::Receptor(error) => error.field(),
            Self::Database(error) => error.field(),
        }
    }

    fn wait(&self) -> Option<Duration> {
        match self {
            Self::Malformed { .. } | Self::Foreign { .. } => None,
            Self::Receptor(error) => error.wait(),
            Self::Database(error) => error.wait(),
        }
    }
}

//! Every way a call can fail before or after it reached a service.

use std::path::PathBuf;

use cambium_kernel::{ErrorKind, Failure};
use tonic::{Code, Status};

/// What went wrong on the caller's side, or the status a service answered.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    #[error("`{url}` is no address: {problem}")]
    Address { url: String, problem: String },

    #[error("token file {} cannot be read: {problem}", path.display())]
    TokenFile { path: PathBuf, problem: String },

    #[error("no token could be signed: {0}")]
    Unsigned(String),

    #[error("{}", .0.message())]
    Status(Status),
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Address { .. } => ErrorKind::Invalid,
            Self::TokenFile { .. } | Self::Unsigned(_) => ErrorKind::Unauthenticated,
            Self::Status(status) => kind(status.code()),
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Address { .. } => "ADDRESS_INVALID",
            Self::TokenFile { .. } => "TOKEN_FILE_UNREADABLE",
            Self::Unsigned(_) => "TOKEN_UNSIGNED",
            Self::Status(_) => "REFUSED_BY_SERVICE",
        }
    }
}

/// What a code asks its caller to do; codes that no service of ours answers count as bugs.
fn kind(code: Code) -> ErrorKind {
    match code {
        Code::InvalidArgument => ErrorKind::Invalid,
        Code::Unauthenticated => ErrorKind::Unauthenticated,
        Code::PermissionDenied => ErrorKind::Denied,
        Code::NotFound => ErrorKind::NotFound,
        Code::AlreadyExists => ErrorKind::Taken,
        Code::Aborted => ErrorKind::Conflict,
        Code::FailedPrecondition => ErrorKind::Refused,
        Code::ResourceExhausted => ErrorKind::Exhausted,
        Code::OutOfRange => ErrorKind::Stale,
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => ErrorKind::Unavailable,
        Code::Ok | Code::Unknown | Code::Unimplemented | Code::Internal | Code::DataLoss => {
            ErrorKind::Internal
        }
    }
}

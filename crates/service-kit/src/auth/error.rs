//! Why a caller is turned away before its request is read.

use cambium_kernel::{ErrorKind, Failure};
use tonic::{Code, Status};

use crate::principal::Kind;
use crate::status;
use crate::token::TokenError;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("no token: send the header `authorization: Bearer <token>`")]
    TokenMissing,

    #[error(transparent)]
    Token(#[from] TokenError),

    #[error("{service} does not let a caller of kind {kind} call {method}")]
    NotPermitted {
        service: &'static str,
        method: &'static str,
        kind: Kind,
    },

    #[error("there is no such method here")]
    NoSuchMethod,
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::TokenMissing => ErrorKind::Unauthenticated,
            Self::Token(error) => error.kind(),
            Self::NotPermitted { .. } => ErrorKind::Denied,
            Self::NoSuchMethod => ErrorKind::NotFound,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::TokenMissing => "TOKEN_MISSING",
            Self::Token(error) => error.reason(),
            Self::NotPermitted { .. } => "NOT_PERMITTED",
            Self::NoSuchMethod => "METHOD_UNKNOWN",
        }
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match &error {
            // gRPC has a code of its own for this, which no kind of failure stands for.
            Error::NoSuchMethod => {
                status::refusal(Code::Unimplemented, error.reason(), &error.to_string())
            }
            Error::TokenMissing | Error::Token(_) | Error::NotPermitted { .. } => {
                status::from_failure(&error)
            }
        }
    }
}

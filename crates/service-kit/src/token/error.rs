//! Why a token or a key is not good.

use std::io;
use std::path::PathBuf;

use cambium_kernel::{ErrorKind, Failure, NameError};
use chrono::TimeDelta;

use super::Issuer;
use crate::principal::Kind;

/// Why a token is not accepted, or not minted. No message repeats the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("the token has {bytes} bytes, over the limit of 4096")]
    TooLarge { bytes: usize },
    #[error("the token is not a well-formed JSON web token with all its claims")]
    Malformed,
    #[error("the token is not signed with EdDSA")]
    WrongAlgorithm,
    #[error("the token's key is not known here")]
    UnknownKey,
    #[error("the token's signature does not match")]
    WrongSignature,
    #[error("the token names another issuer than its key's")]
    WrongIssuer,
    #[error("{issuer} may not mint this token for a caller of kind {kind}")]
    MayNotMint { issuer: Issuer, kind: Kind },
    #[error("the token is not meant for this service")]
    WrongAudience,
    #[error("the token has expired: get a new one")]
    Expired,
    #[error("the token is not valid yet")]
    NotYetValid,
    #[error("the token lives {} s, but a caller of kind {kind} may have one of at most {} s", .life.num_seconds(), .limit.num_seconds())]
    WrongLife {
        kind: Kind,
        life: TimeDelta,
        limit: TimeDelta,
    },
    #[error("the token's subject is not a kind and a name")]
    WrongSubject,
    #[error("the name of a token's subject {0}")]
    WrongName(#[from] NameError),
}

impl Failure for TokenError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Unauthenticated
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Expired => "TOKEN_EXPIRED",
            Self::TooLarge { .. }
            | Self::Malformed
            | Self::WrongAlgorithm
            | Self::UnknownKey
            | Self::WrongSignature
            | Self::WrongIssuer
            | Self::MayNotMint { .. }
            | Self::WrongAudience
            | Self::NotYetValid
            | Self::WrongLife { .. }
            | Self::WrongSubject
            | Self::WrongName(_) => "TOKEN_INVALID",
        }
    }
}

/// Why a key or a bundle cannot be used. For operators: the message names the file.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("the key file {path} cannot be read or written", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{path} is not a key file of Cambium: restore it, or remove it to have a new one made", path = path.display())]
    Malformed { path: PathBuf },
    #[error("key `{kid}` is not an Ed25519 key")]
    NotEd25519 { kid: String },
    #[error("the system has no random numbers")]
    NoRandomness,
}

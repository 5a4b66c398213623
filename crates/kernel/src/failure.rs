//! What an error tells its caller. How it looks on the wire is `service-kit::status`'s business.

use std::time::Duration;

/// What the caller should do about a failure (design: style, section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Change the request: as written it can never succeed.
    Invalid,
    /// Show who it is, or show it afresh.
    Unauthenticated,
    /// Ask somebody who may.
    Denied,
    /// Check the name: the thing does not exist, or not for this caller.
    NotFound,
    /// Choose another name or request id.
    Taken,
    /// Reload, then try again: another writer won.
    Conflict,
    /// Change the thing's state first.
    Refused,
    /// Wait as long as `wait` says.
    Exhausted,
    /// List again: the place to resume from is no longer kept.
    Stale,
    /// Try the same call later.
    Unavailable,
    /// Report it: a bug, or data that broke an invariant.
    Internal,
}

/// An error that tells its caller what to do next.
pub trait Failure: std::error::Error {
    fn kind(&self) -> ErrorKind;

    /// Names the failure for machines, in upper snake case. Part of the contract: never renamed.
    fn reason(&self) -> &'static str;

    /// The request's field at fault, where there is one.
    fn field(&self) -> Option<String> {
        None
    }

    /// How long to wait before the same call can succeed, where that is known.
    fn wait(&self) -> Option<Duration> {
        None
    }
}

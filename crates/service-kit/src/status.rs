//! From failure to wire, once: the only place where an error becomes a gRPC code, and where our own faults are logged.
//! Never shows a caller what went wrong inside: such failures leave as one fixed sentence.

use std::collections::HashMap;
use std::error::Error;

use cambium_kernel::{ErrorKind, Failure};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// What a caller hears of a failure that is not its own.
const OUR_FAULT: &str = "the service could not complete the request";

/// Room for a message, in bytes. It travels twice in the headers, which clients hold to 8 or 16 KiB.
const MESSAGE_LIMIT: usize = 2_048;

/// The domain of every `ErrorInfo`.
pub(crate) const DOMAIN: &str = "cambium";

/// The code of a kind (design: style, section 6).
#[must_use]
pub const fn code(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::Invalid => Code::InvalidArgument,
        ErrorKind::Unauthenticated => Code::Unauthenticated,
        ErrorKind::Denied => Code::PermissionDenied,
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::Taken => Code::AlreadyExists,
        ErrorKind::Conflict => Code::Aborted,
        ErrorKind::Refused => Code::FailedPrecondition,
        ErrorKind::Exhausted => Code::ResourceExhausted,
        ErrorKind::Stale => Code::OutOfRange,
        ErrorKind::Unavailable => Code::Unavailable,
        ErrorKind::Internal => Code::Internal,
    }
}

/// Turns a failure into a status, logging it once if it is our fault rather than the caller's.
pub fn from_failure(failure: &(dyn Failure + 'static)) -> Status {
    let (kind, reason) = (failure.kind(), failure.reason());
    let mut details = ErrorDetails::with_error_info(reason, DOMAIN, HashMap::new());
    if let Some(wait) = failure.wait() {
        details.set_retry_info(Some(wait));
    }
    if matches!(kind, ErrorKind::Internal | ErrorKind::Unavailable) {
        let error: &(dyn Error + 'static) = failure;
        tracing::error!(error, reason, "request failed");
        return Status::with_error_details(code(kind), OUR_FAULT, details);
    }
    let message = shortened(failure.to_string());
    tracing::debug!(reason, message, "request refused");
    if let Some(field) = failure.field() {
        details.add_bad_request_violation(field, message.clone());
    }
    Status::with_error_details(code(kind), message, details)
}

/// [`from_failure`] for whoever holds the failure by value, as in `map_err(status::of)`.
pub fn of<E: Failure + 'static>(failure: E) -> Status {
    from_failure(&failure)
}

/// A status of a code that no [`ErrorKind`] has, with the reason that every status carries.
pub(crate) fn refusal(code: Code, reason: &'static str, message: &str) -> Status {
    let details = ErrorDetails::with_error_info(reason, DOMAIN, HashMap::new());
    Status::with_error_details(code, message, details)
}

/// The message, cut at a character's edge where it would not fit into a reply's headers.
fn shortened(mut message: String) -> String {
    if message.len() > MESSAGE_LIMIT {
        message.truncate(message.floor_char_boundary(MESSAGE_LIMIT));
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests;

//! Reads what a refusal says beyond its code. Decides nothing about it.

use std::error::Error as _;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::StatusExt as _;

/// The machine's name for the refusal, as in `LEASE_LOST`; empty where the service gave none.
#[must_use]
pub fn reason(status: &Status) -> String {
    status
        .get_details_error_info()
        .map(|info| info.reason)
        .unwrap_or_default()
}

/// Whether the refusal carries this reason.
#[must_use]
pub fn is(status: &Status, wanted: &str) -> bool {
    reason(status) == wanted
}

/// How long the service asks its caller to wait.
#[must_use]
pub fn wait(status: &Status) -> Option<Duration> {
    status.get_details_retry_info()?.retry_delay
}

/// The fields at fault, each with what is wrong with it.
#[must_use]
pub fn fields(status: &Status) -> Vec<(String, String)> {
    let violations = status
        .get_details_bad_request()
        .map(|bad| bad.field_violations);
    violations
        .unwrap_or_default()
        .into_iter()
        .map(|violation| (violation.field, violation.description))
        .collect()
}

/// Whether the call never got a service's answer: not connected, cut off, or too late.
///
/// A connection that breaks under a call shows as any of several codes, but never as one that came over the wire.
#[must_use]
pub fn is_transport(status: &Status) -> bool {
    let local = status.source().is_some();
    match status.code() {
        Code::Unavailable | Code::DeadlineExceeded => true,
        Code::Unknown | Code::Internal | Code::Cancelled => local,
        _ => false,
    }
}

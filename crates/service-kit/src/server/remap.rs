//! Corrects what the transport answers by itself: its codes for requests it cannot read say that we are at fault.
//! Leaves alone whatever a service answered: a service's refusals carry details, the transport's never do.

use http::Response;
use tonic::body::Body;
use tonic::{Code, Status};

use super::error::Error;
use crate::status;

/// How the transport's messages begin when a request cannot be decoded (tonic 0.14, prost 0.14).
const UNREADABLE: [&str; 5] = [
    "failed to decode Protobuf message",
    "protocol error: received message with",
    "Error decompressing: ",
    "Unexpected EOF decoding stream",
    "Missing request message",
];

/// Likewise for messages over their limit, before and after inflating.
const OVERSIZE: [&str; 2] = [
    "Error, decoded message length too large",
    "Error decompressing: size limit",
];

/// The response as the caller should see it, and the code it has if it is an error.
pub(super) fn corrected(response: Response<Body>) -> (Response<Body>, Code) {
    let Some(code) = response.headers().get(Status::GRPC_STATUS) else {
        return (response, Code::Ok);
    };
    let code = Code::from_bytes(code.as_bytes());
    if !matches!(
        code,
        Code::Internal | Code::OutOfRange | Code::ResourceExhausted
    ) {
        return (response, code);
    }
    match Status::from_header_map(response.headers())
        .as_ref()
        .and_then(transport_fault)
    {
        Some(error) => {
            let status = status::from_failure(&error);
            let code = status.code();
            (status.into_http(), code)
        }
        None => (response, code),
    }
}

/// What the caller did wrong, where the transport answered in the service's place.
fn transport_fault(status: &Status) -> Option<Error> {
    if !status.details().is_empty() {
        return None;
    }
    let message = status.message();
    let begins = |beginnings: &[&str]| beginnings.iter().any(|begin| message.starts_with(begin));
    let why = message.to_owned();
    match status.code() {
        Code::OutOfRange | Code::ResourceExhausted if begins(&OVERSIZE) => {
            Some(Error::TooLarge { why })
        }
        Code::Internal if begins(&UNREADABLE) => Some(Error::Malformed { why }),
        _ => None,
    }
}

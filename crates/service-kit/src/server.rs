//! How every gRPC port of the house behaves: its limits, who is let in, how long a call may take, what it counts.
//! Knows no method by name but those of health; services add their own routes.

mod admission;
mod connection;
mod deadline;
mod error;
mod gate;
mod meter;
mod remap;
mod reply;
mod request_id;
mod stream;

use std::io;
use std::time::Duration;

use futures::Stream;
use tokio::net::TcpListener;
use tonic::transport::Server;

use admission::Limits;
pub(crate) use admission::Pace;
pub use connection::Connection;
pub use gate::{Gate, Layers};
pub(crate) use meter::Meter;
pub use reply::Reply;

use crate::auth::Auth;
use crate::telemetry;

const CONNECTIONS: usize = 512;
const STREAMS_PER_CONNECTION: u32 = 64;
const PENDING_ACCEPT_RESETS: usize = 20;
const LOCAL_ERROR_RESETS: usize = 64;
const HEADER_LIST_BYTES: u32 = 8 * 1024;
const FRAME_BYTES: u32 = 16 * 1024;
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_ANSWER: Duration = Duration::from_secs(10);
const CONNECTION_AGE: Duration = Duration::from_secs(30 * 60);

/// A server with every limit of the house set (design: reliability, section 6).
///
/// No grace follows the connection's age: with one, this version of tonic cuts the connection when both are over
/// and never asks the client to leave. Without, it asks, and lets calls in flight end by their own time limits.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that sets the limits"
)]
pub fn builder() -> Server {
    Server::builder()
        .max_concurrent_streams(STREAMS_PER_CONNECTION)
        .http2_max_pending_accept_reset_streams(Some(PENDING_ACCEPT_RESETS))
        .http2_max_local_error_reset_streams(Some(LOCAL_ERROR_RESETS))
        .http2_max_header_list_size(HEADER_LIST_BYTES)
        .max_frame_size(FRAME_BYTES)
        .http2_keepalive_interval(Some(PING_EVERY))
        .http2_keepalive_timeout(Some(PING_ANSWER))
        .http2_adaptive_window(Some(false))
        .tcp_nodelay(true)
        .max_connection_age(CONNECTION_AGE)
}

/// What a listener lets in, for `serve_with_incoming`: without Nagle's delay, at most 512 connections at once.
pub fn incoming(listener: TcpListener) -> impl Stream<Item = io::Result<Connection>> + Send {
    connection::accepted(listener, CONNECTIONS)
}

/// What stands between the wire and a port's services, for `server::builder().layer(..)`.
///
/// In this order: a span with a request id, room in the process, the caller's token and permission, the call's time
/// limit; and on the way back, the codes that the transport gets wrong, and the call's metrics.
#[must_use]
pub fn layers(auth: Auth) -> Layers {
    // Before the first metric is made: one made without a recorder would count nothing for ever.
    telemetry::metrics();
    Layers::new(auth, Limits::of_process())
}

#[cfg(test)]
mod tests;

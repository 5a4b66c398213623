//! Waiting for what happens elsewhere, with a bound and without guessing how long it takes.

use std::net::TcpListener;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Waits until `is_so` says yes.
///
/// # Panics
/// When it has not after `bound`, naming `what` was waited for.
pub async fn wait_until(bound: Duration, what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + bound;
    while !is_so().await {
        assert!(
            Instant::now() < deadline,
            "waited {bound:?} in vain until {what}"
        );
        sleep(Duration::from_millis(5)).await;
    }
}

/// A port of the loopback that was free a moment ago.
///
/// # Panics
/// When every port is taken.
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback has free ports");
    listener
        .local_addr()
        .expect("a bound listener has an address")
        .port()
}

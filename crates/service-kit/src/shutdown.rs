//! When to stop: the process's signals, and a token that every task of a service listens to.
//! Decides nothing about how to stop: draining is the business of whoever listens.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Resolves once the process is asked to end: by SIGTERM, or by a person's Ctrl-C.
pub async fn signalled() {
    tokio::select! {
        () = received(SignalKind::terminate()) => {}
        () = received(SignalKind::interrupt()) => {}
    }
}

/// Resolves when the signal arrives; never where the system does not let us listen.
async fn received(kind: SignalKind) {
    match signal(kind) {
        Ok(mut stream) => {
            stream.recv().await;
        }
        Err(error) => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a signal cannot be listened to"
            );
            std::future::pending().await
        }
    }
}

/// Tells every task that holds a clone to end. Once stopped, it stays stopped.
#[derive(Clone, Debug, Default)]
pub struct Stop(CancellationToken);

impl Stop {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn stop(&self) {
        self.0.cancel();
    }

    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Resolves when somebody has called [`Stop::stop`], at once if that is past. Owns what it waits on.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + 'static {
        self.0.clone().cancelled_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_clone_hears_a_stop_however_late_it_listens() {
        let stop = Stop::new();
        let early = tokio::spawn(stop.stopped());

        stop.clone().stop();

        early.await.unwrap();
        stop.stopped().await;
        assert!(stop.is_stopped());
    }
}

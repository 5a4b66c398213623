//! Commits facts that callers wait for, as many at once as have gathered.

use std::sync::Arc;

use cambium_service_kit::batch;

use crate::app::{App, Pending};

/// As many as one transaction takes.
const BATCH: usize = 256;

pub(crate) async fn run(app: Arc<App>, queue: batch::Receiver<Pending>) {
    loop {
        let taken = tokio::select! {
            taken = queue.drain(BATCH) => taken,
            // Whoever still waits hears that the service is stopping, once nobody holds the queue any more.
            () = app.stop.stopped() => return,
        };
        let Some(taken) = taken else {
            return;
        };
        app.record_pending(taken).await;
    }
}

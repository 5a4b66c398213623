//! The committer: drains the calls that wait and runs one transaction for all of them. Never waits when idle.

use std::time::Duration;

use cambium_service_kit::batch;
use cambium_service_kit::shutdown::Stop;

use crate::engine::Engine;
use crate::engine::commit::{BATCH, run};
use crate::engine::op::Op;

/// When another transaction holds the run of what was found, a later look finds it free.
const LATER: Duration = Duration::from_millis(5);

pub(crate) async fn commit(engine: Engine, ops: batch::Receiver<Op>, stop: Stop) {
    loop {
        let drained = tokio::select! {
            biased;
            drained = ops.drain(BATCH) => drained,
            () = stop.stopped() => return,
        };
        let Some(batch) = drained else {
            return;
        };
        let again = run(&engine, batch).await;
        if again.now {
            engine.look();
        } else if again.later {
            let engine = engine.clone();
            tokio::spawn(async move {
                tokio::time::sleep(LATER).await;
                engine.look();
            });
        }
    }
}

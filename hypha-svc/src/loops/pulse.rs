//! Notes every second that this replica listens, so that silence can be told from deafness.

use std::time::Duration;

use cambium_service_kit::shutdown::Stop;
use tokio::time::{MissedTickBehavior, interval};

use crate::engine::Engine;

const EVERY: Duration = Duration::from_secs(1);

pub(crate) async fn pulse(engine: Engine, stop: Stop) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.stopped() => return,
        }
        if let Err(error) = engine.note_pulse().await {
            // The database is away: that is the gap which the next note finds.
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "the pulse was not noted"
            );
        }
    }
}

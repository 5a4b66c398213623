//! Notes again and again that this replica listens, so that silence can be told from deafness.

use cambium_service_kit::shutdown::Stop;
use tokio::time::{MissedTickBehavior, interval};

use crate::engine::Engine;
use crate::engine::pulse::every;

pub(crate) async fn pulse(engine: Engine, stop: Stop) {
    let mut ticks = interval(every(engine.settings.lease));
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

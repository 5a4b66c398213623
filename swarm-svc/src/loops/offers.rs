//! Withdraws offers that nobody answered in time. Every replica does: the lock of the records makes that safe.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::app::App;

/// Offers stand for days: so many pulses pass between two looks.
const EVERY: u32 = 10;

pub(crate) async fn run(app: Arc<App>, pulse: Duration) {
    let mut pulses = interval(pulse.saturating_mul(EVERY));
    pulses.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = pulses.tick() => {}
            () = app.stop.stopped() => return,
        }
        if let Err(error) = app.lapse_offers().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "no offers were withdrawn; tried again later");
        }
    }
}

//! Composts agents whose lives are over, as soon as something says so, and every second in case nobody did.

use std::sync::Arc;
use std::time::Duration;

use cambium_service_kit::shutdown::Stop;
use tokio::time::{MissedTickBehavior, interval};

use crate::app::App;

const EVERY: Duration = Duration::from_secs(1);

pub(crate) async fn run(app: Arc<App>, stop: Stop) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = app.composting.notified() => {}
            () = stop.stopped() => return,
        }
        if let Err(error) = app.compost_all().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "nothing was composted; tried again later");
        }
    }
}

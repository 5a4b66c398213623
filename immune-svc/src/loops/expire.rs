//! Ends quarantines whose time is over.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::app::App;
use crate::error::Error;

const EVERY: Duration = Duration::from_millis(500);

pub(crate) async fn run(app: Arc<App>) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = app.stop.stopped() => return,
        }
        if let Err(error) = end_all(&app).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "quarantines were not ended; tried again later"
            );
        }
    }
}

async fn end_all(app: &App) -> Result<(), Error> {
    while !app.stop.is_stopped() && app.end_quarantines().await? {}
    Ok(())
}

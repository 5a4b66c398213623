//! Carries to hypha what was decided here: starts granted turns, stops those that are to stop, closes those that are over.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::app::App;
use crate::error::Error;
use crate::store;

pub(crate) async fn run(app: Arc<App>, pulse: Duration) {
    let mut pulses = interval(pulse);
    pulses.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut news = app.news.subscribe();
    loop {
        tokio::select! {
            _ = pulses.tick() => {}
            Ok(()) = news.changed() => {}
            () = app.stop.stopped() => return,
        }
        if let Err(error) = round(&app).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "turns were not carried to hypha; tried again later");
        }
    }
}

async fn round(app: &App) -> Result<(), Error> {
    let mut conn = app.pool.acquire().await?;
    let workspaces = store::turn::workspaces(&mut conn).await?;
    drop(conn);
    for workspace in workspaces {
        app.dispatch(&workspace).await?;
        app.close(&workspace).await?;
    }
    Ok(())
}

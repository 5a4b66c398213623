//! Asks for the next turn, again and again, in every workspace: at once after anything that may let one start, and every pulse.
//! Every replica does: a row's lock and two indexes make that safe.

use std::sync::Arc;
use std::time::Duration;

use cambium_kernel::{Failure as _, WorkspaceId};
use tokio::time::{MissedTickBehavior, interval};

use crate::app::App;
use crate::app::timeline::Ticked;
use crate::error::Error;
use crate::store;

/// How many pulses pass between two looks for rows that were lost.
const LOST_EVERY: u64 = 10;

pub(crate) async fn run(app: Arc<App>, pulse: Duration) {
    let mut pulses = interval(pulse);
    pulses.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut news = app.news.subscribe();
    let mut count = 0_u64;
    loop {
        tokio::select! {
            _ = pulses.tick() => count += 1,
            Ok(()) = news.changed() => {}
            () = app.stop.stopped() => return,
        }
        if let Err(error) = round(&app, count % LOST_EVERY == 1).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "no turns were looked for; tried again later");
        }
    }
}

async fn round(app: &App, look_for_lost: bool) -> Result<(), Error> {
    let mut conn = app.pool.acquire().await?;
    if look_for_lost {
        let lost = store::timeline::find_lost(&mut conn).await?;
        if lost > 0 {
            tracing::warn!(
                lost,
                "rows of the timeline were lost: their minds begin anew"
            );
        }
    }
    let workspaces = store::turn::workspaces(&mut conn).await?;
    drop(conn);
    for workspace in workspaces {
        launch_all(app, &workspace).await?;
    }
    Ok(())
}

/// As many turns as may start now.
async fn launch_all(app: &App, workspace: &WorkspaceId) -> Result<(), Error> {
    while !app.stop.is_stopped() {
        match app.tick(workspace).await {
            Ok(Ticked::Launched(_)) | Err(Error::Raced) => {}
            Ok(Ticked::Skipped(why)) => {
                tracing::debug!(%workspace, %why, "nothing was launched");
                return Ok(());
            }
            Err(error) if error.kind() == cambium_kernel::ErrorKind::Internal => {
                // One workspace's broken row keeps no other from its turns.
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, %workspace, "a tick failed");
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

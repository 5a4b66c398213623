//! Knows whether a service's database answers. Repairs nothing.

use std::time::Duration;

use sqlx::PgPool;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::shutdown::Stop;

const EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks the database every second, until `stop`.
#[must_use]
pub fn watch(pool: PgPool, stop: Stop) -> watch::Receiver<bool> {
    let (tell, ready) = watch::channel(false);
    tokio::spawn(ask(pool, tell, stop));
    ready
}

async fn ask(pool: PgPool, tell: watch::Sender<bool>, stop: Stop) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.stopped() => break,
        }
        let asked = timeout(PATIENCE, sqlx::query("SELECT 1").execute(&pool)).await;
        let answers = matches!(asked, Ok(Ok(_)));
        let changed = tell.send_if_modified(|known| std::mem::replace(known, answers) != answers);
        if changed {
            tracing::info!(ready = answers, "the database was asked");
        }
    }
    // Nobody listens any more: fine.
    let _ = tell.send(false);
}

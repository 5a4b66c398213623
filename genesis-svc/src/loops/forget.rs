//! Forgets what nobody will ask for again, a few rows at a time: replies after a day, signals after thirty.

use std::time::Duration;

use cambium_service_kit::shutdown::Stop;
use sqlx::PgPool;
use tokio::time::{MissedTickBehavior, interval};

use crate::error::Error;
use crate::store;

const EVERY: Duration = Duration::from_secs(60);
const BATCH: i64 = 1_000;

pub(crate) async fn run(pool: PgPool, stop: Stop) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.stopped() => return,
        }
        if let Err(error) = forget(&pool, &stop).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "old rows were not forgotten; tried again later"
            );
        }
    }
}

/// Until nothing old is left.
async fn forget(pool: &PgPool, stop: &Stop) -> Result<(), Error> {
    while !stop.is_stopped() && store::receipt::forget(pool, BATCH).await? > 0 {}
    while !stop.is_stopped() && store::inbox::forget(pool, BATCH).await? > 0 {}
    Ok(())
}

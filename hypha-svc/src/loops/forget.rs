//! Forgets what nobody asks for again, a few rows at a time: replies after a day, facts heard after thirty, signals to
//! keys that nobody started within a week, what the joins of ended runs needed, and turns that ended long ago.

use std::time::Duration;

use cambium_service_kit::shutdown::Stop;
use sqlx::PgPool;
use tokio::time::{MissedTickBehavior, interval};

use crate::error::Error;
use crate::store;

const EVERY: Duration = Duration::from_secs(60);
const BATCH: i64 = 1_000;

pub(crate) async fn forget(pool: PgPool, stop: Stop) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.stopped() => return,
        }
        if let Err(error) = once(&pool, &stop).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "old rows were not forgotten; tried again later");
        }
    }
}

async fn once(pool: &PgPool, stop: &Stop) -> Result<(), Error> {
    let mut conn = pool.acquire().await?;
    while !stop.is_stopped() && store::receipt::forget(&mut conn, BATCH).await? > 0 {}
    while !stop.is_stopped() && store::inbox::forget(&mut conn, BATCH).await? > 0 {}
    while !stop.is_stopped() && store::signal::forget(&mut conn, BATCH).await? > 0 {}
    while !stop.is_stopped() && store::tally::forget(&mut conn, BATCH).await? > 0 {}
    while !stop.is_stopped() && store::turn::forget(&mut conn, BATCH).await? > 0 {}
    Ok(())
}

//! Forgets what nobody will ask for again, a few rows at a time: replies after a day, signals after thirty, logs after 400.

use std::time::Duration;

use cambium_service_kit::shutdown::Stop;
use sqlx::PgPool;
use tokio::time::{MissedTickBehavior, interval};

use crate::error::Error;
use crate::store::retention;

const EVERY: Duration = Duration::from_secs(60);
const BATCH: i64 = 1_000;
/// Logs that are thinned before it is asked again which are old.
const KEYS: i64 = 100;

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
    while !stop.is_stopped() && retention::receipts(pool, BATCH).await? > 0 {}
    while !stop.is_stopped() && retention::inbox(pool, BATCH).await? > 0 {}
    while !stop.is_stopped() && retention::audit(pool, BATCH).await? > 0 {}
    while !stop.is_stopped() && retention::events(pool, BATCH).await? > 0 {}
    while !stop.is_stopped() && thin_buckets(pool).await? {}
    while !stop.is_stopped() && thin_clocks(pool).await? {}
    Ok(())
}

/// Whether any log was old, and nobody else was at it.
async fn thin_buckets(pool: &PgPool) -> Result<bool, Error> {
    let old = retention::old_buckets(pool, KEYS).await?;
    for key in &old {
        let mut tx = pool.begin().await?;
        if !retention::is_alone(&mut tx).await? {
            return Ok(false);
        }
        retention::bucket(&mut tx, key, BATCH).await?;
        tx.commit().await?;
    }
    Ok(!old.is_empty())
}

/// As [`thin_buckets`], of minds' clocks.
async fn thin_clocks(pool: &PgPool) -> Result<bool, Error> {
    let old = retention::old_clocks(pool, KEYS).await?;
    for key in &old {
        let mut tx = pool.begin().await?;
        if !retention::is_alone(&mut tx).await? {
            return Ok(false);
        }
        retention::clock(&mut tx, key, BATCH).await?;
        tx.commit().await?;
    }
    Ok(!old.is_empty())
}

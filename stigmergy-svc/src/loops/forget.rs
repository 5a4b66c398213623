//! Forgets what nobody asks for again, a few rows at a time: old replies, signals and events, windows that are past, and
//! regions without a mark.

use std::time::Duration;

use cambium_service_kit::shutdown::Stop;
use sqlx::{PgConnection, PgPool};
use tokio::time::{MissedTickBehavior, interval};

use crate::error::Error;
use crate::store;

const EVERY: Duration = Duration::from_secs(10);
const BATCH: i64 = 1_000;
/// Events that a workspace keeps, at most; none is kept for longer than a day.
const EVENTS: i64 = 100_000;

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
    while !stop.is_stopped() && store::rate::forget(&mut conn, BATCH).await? > 0 {}
    while !stop.is_stopped() && store::region::forget(&mut conn, BATCH).await? > 0 {}
    while !stop.is_stopped() && store::forget::receipts(&mut conn, BATCH).await? > 0 {}
    while !stop.is_stopped() && store::forget::inbox(&mut conn, BATCH).await? > 0 {}
    events(&mut conn, stop).await
}

async fn events(conn: &mut PgConnection, stop: &Stop) -> Result<(), Error> {
    let mut after = String::new();
    while !stop.is_stopped() {
        let workspaces = store::forget::workspaces(conn, &after, BATCH).await?;
        for workspace in &workspaces {
            while !stop.is_stopped()
                && store::forget::events(conn, workspace, EVENTS, BATCH).await? > 0
            {}
        }
        match workspaces.last() {
            Some(last) => after.clone_from(last),
            None => break,
        }
    }
    Ok(())
}

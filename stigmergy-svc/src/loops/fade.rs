//! The sweeper: notices within a second or so that marks have fallen silent, says so once, and deletes them an hour later.
//! Nobody depends on it: what is silent is not sensed, swept or not.

use std::collections::BTreeMap;
use std::time::Duration;

use cambium_kernel::WorkspaceId;
use cambium_service_kit::shutdown::Stop;
use sqlx::PgPool;
use tokio::sync::broadcast;
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

use crate::error::Error;
use crate::store;

const EVERY: Duration = Duration::from_secs(1);
/// Marks that one transaction is about: those who touch marks wait for it.
const BATCH: i64 = 200;

pub(crate) async fn fade(pool: PgPool, news: broadcast::Sender<WorkspaceId>, stop: Stop) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stop.stopped() => return,
        }
        if let Err(error) = sweep(&pool, &news, &stop).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "silent marks were not swept; tried again later");
        }
    }
}

/// Until nothing silent is left unnoticed, nor anything that was noticed an hour ago.
async fn sweep(
    pool: &PgPool,
    news: &broadcast::Sender<WorkspaceId>,
    stop: &Stop,
) -> Result<(), Error> {
    while !stop.is_stopped() {
        let due = store::fading::due(&mut *pool.acquire().await?, BATCH).await?;
        if due.is_empty() {
            break;
        }
        let mut noticed = 0;
        for (workspace, markers) in by_workspace(due)? {
            noticed += notice(pool, &workspace, &markers).await?;
            // Nobody may be watching.
            let _ = news.send(workspace);
        }
        if noticed == 0 {
            break; // another replica is at it
        }
    }
    let mut conn = pool.acquire().await?;
    while !stop.is_stopped() && store::fading::purge(&mut conn, BATCH).await? > 0 {}
    Ok(())
}

async fn notice(pool: &PgPool, workspace: &WorkspaceId, markers: &[Uuid]) -> Result<u64, Error> {
    let mut tx = store::workspace::begin(pool, [workspace]).await?;
    let noticed = store::fading::fade(&mut tx, workspace, markers).await?;
    tx.commit().await?;
    Ok(noticed)
}

fn by_workspace(due: Vec<(String, Uuid)>) -> Result<BTreeMap<WorkspaceId, Vec<Uuid>>, Error> {
    let mut sorted: BTreeMap<WorkspaceId, Vec<Uuid>> = BTreeMap::new();
    for (workspace, marker) in due {
        let workspace = WorkspaceId::parse(&workspace).map_err(|why| Error::Broken {
            what: format!("marker {marker}"),
            why: why.to_string(),
        })?;
        sorted.entry(workspace).or_default().push(marker);
    }
    Ok(sorted)
}

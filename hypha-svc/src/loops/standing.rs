//! Keeps what this replica knows of agents fresh, takes leases from those that may hold none, and says who has drained.
//!
//! Woken when the copy of a standing changes. A transaction that leased just before the change committed was not seen by it:
//! the sweep comes by here too, so nobody keeps a lease for longer than a second.

use std::time::Duration;

use cambium_kernel::AgentId;
use cambium_service_kit::outbox;
use cambium_service_kit::shutdown::Stop;
use sqlx::PgPool;

use crate::app::graph::run_info;
use crate::engine::op::{Change, Settle};
use crate::engine::{Engine, evidence};
use crate::error::Error;
use crate::store;
use crate::store::engine::Fence;

const MOST: i64 = 500;
/// Scores change with every batch of evidence: they are not read more often than this.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) async fn standing(engine: Engine, pool: PgPool, stop: Stop) {
    loop {
        tokio::select! {
            () = engine.standings.notified() => {}
            () = stop.stopped() => return,
        }
        if let Err(error) = once(&engine, &pool).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "standings were not read, and will be with the next sweep"
            );
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = stop.stopped() => return,
        }
    }
}

async fn once(engine: &Engine, pool: &PgPool) -> Result<(), Error> {
    read(engine, pool).await?;
    revoke(engine, pool).await?;
    part(engine, pool).await
}

/// Reads what the store says of the agents that are known here.
pub(crate) async fn read(engine: &Engine, pool: &PgPool) -> Result<(), Error> {
    let mut conn = pool.acquire().await?;
    let (known, stamp) = engine
        .offers
        .roster(|roster| (roster.agents(), roster.stamp()));
    let ids: Vec<_> = known.into_iter().map(AgentId::as_uuid).collect();
    let standings = store::standing::of(&mut conn, &ids).await?;
    let held = store::standing::held(&mut conn).await?;
    let weights = store::weights::all(&mut conn).await?;
    engine.offers.roster(|roster| {
        roster.set_standings(&standings);
        roster.set_held(&stamp, &held);
        roster.set_weights(weights);
    });
    Ok(())
}

/// Takes leases from agents in quarantine and from retired ones.
pub(crate) async fn revoke(engine: &Engine, pool: &PgPool) -> Result<(), Error> {
    loop {
        let mut conn = pool.acquire().await?;
        let leases = store::standing::revocable(&mut conn, MOST).await?;
        let mut settles = Vec::new();
        for lease in &leases {
            settles.push(Settle {
                info: run_info(&mut conn, engine, lease.task.run).await?,
                task: lease.task,
                epoch: lease.epoch,
                fence: Fence::Live {
                    lease: lease.lease,
                    reg: None,
                },
                change: Change::Revoke,
                body_hash: None,
            });
        }
        drop(conn);
        let settled = settles.into_iter().map(|settle| engine.settle(settle));
        for done in futures::future::join_all(settled).await {
            done?;
        }
        if i64::try_from(leases.len()).is_ok_and(|found| found < MOST) {
            return Ok(());
        }
    }
}

/// Tells genesis of draining agents that hold nothing any more, with how much evidence on each there is to come. The end of a lease
/// that is granted in this very instant comes too late to be learned from; nothing else is lost.
pub(crate) async fn part(engine: &Engine, pool: &PgPool) -> Result<(), Error> {
    let mut tx = pool.begin().await?;
    let drained = store::standing::take_drained(&mut tx, MOST).await?;
    if drained.is_empty() {
        return Ok(());
    }
    let at = store::now(&mut tx).await?;
    let told = drained.iter().map(|one| evidence::drained(one, at));
    let rows = outbox::rows(&engine.routes, told.collect());
    outbox::insert(&mut tx, store::SCHEMA, &rows).await?;
    tx.commit().await?;
    engine.relay.notify();
    Ok(())
}

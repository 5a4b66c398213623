//! The sweep: hands on whatever has a moment behind it. For ever, never a one-shot recovery list.

use std::time::Duration;

use cambium_service_kit::shutdown::Stop;
use sqlx::PgPool;

use crate::app::graph::run_info;
use crate::engine::Engine;
use crate::engine::grant::DecideJob;
use crate::engine::op::{Change, Settle};
use crate::engine::plan::{DECIDE_MS, hot};
use crate::engine::steer::{self, redeliver};
use crate::engine::turn;
use crate::error::Error;
use crate::store;
use crate::store::engine::Fence;
use crate::store::hot::Seen;

const EVERY: Duration = Duration::from_secs(1);
const MOST: i64 = 500;
/// Every so many sweeps, ready work is looked for from the start of each queue.
const FROM_START: u64 = 10;

/// Sweeps every second.
pub(crate) async fn sweep(engine: Engine, pool: PgPool, stop: Stop) {
    for round in 0_u64.. {
        let from_start = round.is_multiple_of(FROM_START);
        if let Err(error) = once(&engine, &pool, from_start).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a sweep failed and will be repeated"
            );
        }
        tokio::select! {
            () = tokio::time::sleep(EVERY) => {}
            () = stop.stopped() => return,
        }
    }
}

/// One sweep: lapsed leases, ended back-offs and parks, timeouts, abandoned decisions, signals sent ahead.
pub(crate) async fn once(engine: &Engine, pool: &PgPool, from_start: bool) -> Result<(), Error> {
    // First of all: a lease that ran out while nobody listened is not lost.
    engine.listen().await?;
    learn(engine, pool, from_start).await?;
    super::standing::read(engine, pool).await?;
    let heads = {
        let mut conn = pool.acquire().await?;
        store::queue::heads(&mut conn, &engine.fair.open()).await?
    };
    engine.fair.note_heads(heads);
    engine.offers.note_doubt(from_start);
    if engine.offers.anybody_waits() {
        engine.look();
    }
    super::standing::revoke(engine, pool).await?;
    super::standing::part(engine, pool).await?;
    if from_start {
        store::standing::add_up(&mut *pool.acquire().await?).await?;
    }
    while settle_due(engine, pool).await? {}
    while decide_again(engine, pool).await? {}
    while stop_orphans(engine, pool).await? {}
    while turn::stop(engine, pool, None).await? {}
    deliver_signals(engine, pool).await
}

/// Settles rows that are due. Answers whether there may be more.
async fn settle_due(engine: &Engine, pool: &PgPool) -> Result<bool, Error> {
    let mut conn = pool.acquire().await?;
    let due = store::hot::due(&mut conn, MOST).await?;
    let is_full = i64::try_from(due.len()).is_ok_and(|length| length >= MOST);
    let mut settles = Vec::new();
    for row in due {
        let info = run_info(&mut conn, engine, row.task.run).await?;
        settles.extend(change(&row).map(|(fence, change)| Settle {
            info,
            task: row.task,
            epoch: row.epoch,
            fence,
            change,
            body_hash: None,
        }));
    }
    drop(conn);
    let handed: Vec<_> = settles
        .into_iter()
        .map(|settle| engine.settle(settle))
        .collect();
    let mut all_settled = true;
    for settled in futures::future::join_all(handed).await {
        if let Err(error) = settled {
            // The next sweep finds the row again; the others must not wait for it.
            all_settled = false;
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "a due row was not settled"
            );
        }
    }
    Ok(is_full && all_settled)
}

/// Hands out decisions that nobody brought to an end. Answers whether there may be more.
async fn decide_again(engine: &Engine, pool: &PgPool) -> Result<bool, Error> {
    let mut conn = pool.acquire().await?;
    let late = store::hot::take_decisions(&mut conn, DECIDE_MS, MOST).await?;
    let is_full = i64::try_from(late.len()).is_ok_and(|length| length >= MOST);
    for row in late {
        let info = run_info(&mut conn, engine, row.task.run).await?;
        if let Some(lease) = row.lease {
            engine.decide(DecideJob {
                info,
                task: row.task,
                epoch: row.epoch,
                lease,
                sources: row.sources,
            });
        }
    }
    Ok(is_full)
}

/// Stops runs whose parent was stopped; their own children are next. Answers whether there may be more.
async fn stop_orphans(engine: &Engine, pool: &PgPool) -> Result<bool, Error> {
    let mut conn = pool.acquire().await?;
    let orphans = store::orphan::list(&mut conn, MOST).await?;
    let found = !orphans.is_empty();
    for run in orphans {
        match run_info(&mut conn, engine, run).await {
            Ok(info) => steer::stop_orphan(engine, &info).await?,
            // Forgotten meanwhile: there is nothing to stop.
            Err(Error::NoRun(_)) => drop(store::orphan::take(&mut conn, run).await?),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// What a due row asks for.
fn change(row: &Seen) -> Option<(Fence, Change)> {
    if row.overdue {
        return Some((Fence::Overdue, Change::TimeOut));
    }
    match (row.state, row.lease) {
        (hot::LEASED, Some(lease)) => Some((Fence::Expired { lease }, Change::Lost)),
        (hot::BACKING_OFF | hot::PARKED, _) => Some((Fence::Due, Change::Wake)),
        _ => None,
    }
}

/// Other replicas intern queues and drain incarnations too.
async fn learn(engine: &Engine, pool: &PgPool, from_start: bool) -> Result<(), Error> {
    let mut conn = pool.acquire().await?;
    // Numbers commit out of order, so now and then all are read.
    let mark = if from_start { 0 } else { engine.offers.mark() };
    let new = store::queue::above(&mut conn, mark).await?;
    engine.offers.learn_up_to(new);
    let active = engine.caches.registrations.active();
    let active: Vec<_> = active
        .into_iter()
        .map(cambium_kernel::RegistrationId::as_uuid)
        .collect();
    let drained = store::registration::draining(&mut conn, &active).await?;
    engine.caches.registrations.note_draining(&drained);
    Ok(())
}

/// Signals that were sent to a key at the moment its run started, or to a task at the moment it parked.
async fn deliver_signals(engine: &Engine, pool: &PgPool) -> Result<(), Error> {
    let mut conn = pool.acquire().await?;
    store::signal::attach(&mut conn).await?;
    for (run, name) in store::signal::deliverable(&mut conn, MOST).await? {
        let info = run_info(&mut conn, engine, run).await?;
        redeliver(engine, &info, &name).await?;
    }
    Ok(())
}

//! Deletes ended runs past their time, and the events of those whose events are, in small batches. Looks through all runs
//! again and again, in the order of their ids: an index on their ends would cost every run that ends.

use cambium_hypha::graph::Spec;
use cambium_hypha::retention::{Days, Due, due};
use cambium_kernel::RunId;
use cambium_service_kit::shutdown::Stop;
use sqlx::PgPool;
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

use crate::config::Retention;
use crate::engine::Engine;
use crate::error::Error;
use crate::store;
use crate::store::retention::{Aged, Most};

/// Runs looked at together.
const PAGE: i64 = 1_000;
/// Events deleted by one statement.
const EVENTS: i64 = 5_000;
/// Runs deleted by one statement, each with its input.
const RUNS: usize = 100;
/// Deleted runs whose rest is taken on together.
const GONE: i64 = 100;
/// By the number of tables, one statement deletes 3,750 rows at most.
const REST: Most = Most {
    narrow: 500,
    wide: 250,
};

/// One replica's way through all runs.
struct Walk {
    engine: Engine,
    pool: PgPool,
    retention: Retention,
    stop: Stop,
    /// The last run that was dealt with: where the database went away, the next round goes on.
    at: Option<RunId>,
}

pub(crate) async fn expire(engine: Engine, pool: PgPool, retention: Retention, stop: Stop) {
    let mut ticks = interval(retention.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut walk = Walk {
        engine,
        pool,
        retention,
        stop,
        at: None,
    };
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = walk.stop.stopped() => return,
        }
        if let Err(error) = walk.round().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "old runs were not deleted; tried again later");
        }
    }
}

impl Walk {
    /// To the last run, from the first or from where the round before was cut short.
    async fn round(&mut self) -> Result<(), Error> {
        self.delete_rest().await?;
        while !self.stop.is_stopped() {
            let (page, past) = self.look().await?;
            self.delete_events(&past.events).await?;
            for runs in past.runs.chunks(RUNS) {
                self.delete_runs(runs).await?;
            }
            self.at = page.last().map(|aged| aged.run);
            if i64::try_from(page.len()).is_ok_and(|length| length < PAGE) {
                self.at = None;
                return Ok(());
            }
        }
        Ok(())
    }

    /// The next runs, and what of them is past its time.
    async fn look(&self) -> Result<(Vec<Aged>, Past), Error> {
        let mut conn = self.pool.acquire().await?;
        let now = store::now(&mut conn).await?;
        let page = store::retention::after(&mut conn, self.at, PAGE).await?;
        let mut past = Past::default();
        for aged in &page {
            let days = Days {
                run: aged.retain_days.unwrap_or(Spec::RETAIN_DAYS),
                events: self.retention.event_days,
            };
            match due(aged.ended_at, days, now) {
                Due::Nothing => {}
                Due::Events => past.events.push(aged.run.as_uuid()),
                Due::Run => past.runs.push(aged.run.as_uuid()),
            }
        }
        Ok((page, past))
    }

    async fn delete_events(&self, runs: &[Uuid]) -> Result<(), Error> {
        if runs.is_empty() {
            return Ok(());
        }
        let most = u64::try_from(EVENTS).unwrap_or(u64::MAX);
        let mut conn = self.pool.acquire().await?;
        while !self.stop.is_stopped()
            && store::retention::delete_events(&mut conn, runs, EVENTS).await? >= most
        {}
        Ok(())
    }

    async fn delete_runs(&self, runs: &[Uuid]) -> Result<(), Error> {
        let mut conn = self.pool.acquire().await?;
        let gone = store::retention::delete_runs(&mut conn, runs).await?;
        drop(conn);
        self.engine.caches.forget(&gone);
        self.delete_rest().await
    }

    /// Deletes what deleted runs left behind, those of other replicas and of earlier rounds too.
    async fn delete_rest(&self) -> Result<(), Error> {
        while !self.stop.is_stopped() {
            let mut tx = self.pool.begin().await?;
            let runs = store::retention::take_gone(&mut tx, GONE).await?;
            if runs.is_empty() {
                return Ok(());
            }
            if !store::retention::delete_rest(&mut tx, &runs, REST).await? {
                store::retention::forget_gone(&mut tx, &runs).await?;
            }
            tx.commit().await?;
        }
        Ok(())
    }
}

/// Runs of one page with something past its time.
#[derive(Debug, Default)]
struct Past {
    events: Vec<Uuid>,
    runs: Vec<Uuid>,
}

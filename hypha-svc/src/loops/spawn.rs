//! Asks genesis for agents where work is ready that nobody can do, and the graph allows it. Whoever comes is known at once, so
//! that one agent answers for all nodes that it can do.

use std::time::Duration;

use cambium_service_kit::shutdown::Stop;
use sqlx::PgPool;

use crate::app::graph::run_info;
use crate::engine::Engine;
use crate::error::Error;
use crate::peers::genesis::{Genesis, UNREACHABLE};
use crate::store;
use crate::store::agent::Agent;
use crate::store::spawn::{Refusal, Stranded};

/// Between two looks at most, and at least.
const EVERY: Duration = Duration::from_secs(1);
const LEAST: Duration = Duration::from_millis(50);
/// Nobody is asked again sooner than this after a refusal.
const AGAIN_MS: i64 = 10_000;
/// Nodes that are looked at together.
const MOST: i64 = 100;

/// What it takes to ask.
pub(crate) struct Asking {
    pub(crate) engine: Engine,
    pub(crate) pool: PgPool,
    pub(crate) genesis: Genesis,
    /// How long work waits for somebody who can do it.
    pub(crate) after: Duration,
}

pub(crate) async fn spawn(asking: Asking, stop: Stop) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(asking.after.clamp(LEAST, EVERY)) => {}
            () = stop.stopped() => return,
        }
        if let Err(error) = asking.once().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "agents were not asked for, and will be");
        }
    }
}

impl Asking {
    async fn once(&self) -> Result<(), Error> {
        let mut conn = self.pool.acquire().await?;
        store::spawn::forget_ended(&mut conn).await?;
        let stranded = store::spawn::stranded(&mut conn, MOST).await?;
        drop(conn);
        let mut came: Vec<Agent> = Vec::new();
        for wanted in stranded {
            if came.iter().any(|agent| wanted.is_for(agent)) {
                continue;
            }
            match self.ask(&wanted).await? {
                Some(Ok(agent)) => came.push(agent),
                Some(Err(refusal)) if refusal.code == UNREACHABLE => break,
                Some(Err(_)) | None => {}
            }
        }
        Ok(())
    }

    /// Asks for one node, if it is time. No transaction is open meanwhile.
    async fn ask(&self, wanted: &Stranded) -> Result<Option<Result<Agent, Refusal>>, Error> {
        let mut conn = self.pool.acquire().await?;
        let after_ms = i64::try_from(self.after.as_millis()).unwrap_or(i64::MAX);
        if !store::spawn::is_due(&mut conn, wanted.run, wanted.n, after_ms, AGAIN_MS).await? {
            return Ok(None);
        }
        let info = run_info(&mut conn, &self.engine, wanted.run).await?;
        drop(conn);
        let node = &info.graph().nodes()[wanted.n as usize];
        let reason = format!("nobody can do node {} of run {}", node.key, wanted.run);
        let reason: String = reason.chars().take(500).collect();
        let came = self
            .genesis
            .spawn(wanted, &node.spawn_template, reason)
            .await;
        let mut conn = self.pool.acquire().await?;
        if let Ok(agent) = &came {
            store::agent::upsert(&mut conn, agent).await?;
        }
        store::spawn::note(&mut conn, wanted.run, wanted.n, &came).await?;
        Ok(Some(came))
    }
}

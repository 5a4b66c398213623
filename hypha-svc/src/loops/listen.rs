//! Hears from other replicas that work was left ready, which incarnations of workers were drained, and that an agent may have
//! lost its place. Hints: the sweep looks every second anyway.

use std::time::Duration;

use cambium_service_kit::shutdown::Stop;
use sqlx::PgPool;
use sqlx::postgres::PgListener;

use crate::engine::Engine;

const RETRY: Duration = Duration::from_secs(1);

pub(crate) async fn listen(engine: Engine, pool: PgPool, stop: Stop) {
    loop {
        let heard = tokio::select! {
            heard = hear(&engine, &pool) => heard,
            () = stop.stopped() => return,
        };
        if let Err(error) = heard {
            tracing::debug!(error = &error as &dyn std::error::Error, "listening again");
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY) => {}
            () = stop.stopped() => return,
        }
    }
}

async fn hear(engine: &Engine, pool: &PgPool) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener
        .listen_all(["hypha_ready", "hypha_drained", "hypha_standing"])
        .await?;
    loop {
        let told = listener.recv().await?;
        if told.channel() == "hypha_drained" {
            let drained = told.payload().split(' ').filter_map(|id| id.parse().ok());
            let drained: Vec<_> = drained.collect();
            engine.caches.registrations.note_draining(&drained);
            continue;
        }
        if told.channel() == "hypha_standing" {
            engine.standings.notify_one();
            continue;
        }
        if told.payload() != engine.name && engine.offers.anybody_waits() {
            engine.offers.note_doubt(false);
            engine.look();
        }
    }
}

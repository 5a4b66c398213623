//! Tells immune who runs into the limit: at most once in ten seconds of one agent in one region. It has a transaction of its
//! own, since of the call that was refused nothing is stored.

use cambium_service_kit::outbox;
use cambium_service_kit::shutdown::Stop;
use tokio::sync::mpsc;

use crate::convert::signal::{RATE_LIMITED, rate_limited};
use crate::error::Error;
use crate::store;
use crate::store::rate::Refused;
use crate::touch::Toucher;

/// Refusals that one transaction is about.
const BATCH: usize = 64;

pub(crate) async fn tell(toucher: Toucher, mut refused: mpsc::Receiver<Refused>, stop: Stop) {
    loop {
        let mut batch = Vec::new();
        tokio::select! {
            _ = refused.recv_many(&mut batch, BATCH) => {}
            () = stop.stopped() => return,
        }
        if batch.is_empty() {
            return;
        }
        if toucher.routes.receivers(RATE_LIMITED).is_empty() {
            continue;
        }
        batch.sort_unstable();
        batch.dedup();
        if let Err(error) = once(&toucher, &batch).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "immune was not told who ran into the limit");
        }
    }
}

async fn once(toucher: &Toucher, refused: &[Refused]) -> Result<(), Error> {
    let mut tx = toucher.pool.begin().await?;
    let told = store::rate::tell(&mut tx, refused).await?;
    if told.is_empty() {
        return Ok(());
    }
    let now = store::now(&mut tx).await?;
    let signals = told.iter().map(|refused| rate_limited(refused, now));
    let rows = outbox::rows(&toucher.routes, signals.collect());
    outbox::insert(&mut tx, store::SCHEMA, &rows).await?;
    tx.commit().await?;
    toucher.relay.notify();
    Ok(())
}

//! Hears from every replica that something has happened: whoever commits a row of `swarm.event` tells it. Hints: loops and watchers look
//! by themselves anyway.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgListener;

use crate::app::App;
use crate::store::CHANNEL;

const RETRY: Duration = Duration::from_secs(1);

pub(crate) async fn run(app: Arc<App>) {
    loop {
        let heard = tokio::select! {
            heard = hear(&app) => heard,
            () = app.stop.stopped() => return,
        };
        if let Err(error) = heard {
            tracing::debug!(error = &error as &dyn std::error::Error, "listening again");
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY) => {}
            () = app.stop.stopped() => return,
        }
    }
}

async fn hear(app: &App) -> Result<(), sqlx::Error> {
    let mut listener = PgListener::connect_with(&app.pool).await?;
    listener.listen(CHANNEL).await?;
    loop {
        listener.recv().await?;
        app.news.send_replace(());
    }
}

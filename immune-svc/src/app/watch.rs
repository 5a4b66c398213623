//! Watching: what there is, then what changes as it commits. Never holds up a writer: a reader that falls behind is ended.

mod alerts;
mod standings;

use std::sync::Arc;
use std::time::Duration;

use cambium_kernel::WorkspaceId;
use cambium_service_kit::watchers::{Outlet, Unsent};
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::App;
use crate::error::Error;

pub(crate) use alerts::Sent as AlertSent;
pub(crate) use standings::Sent as StandingSent;

/// News is a hint: this often is looked anyway.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Rows read at once.
const ROWS: i64 = 200;

/// Why a watch is over.
enum End {
    ReaderGone,
    Because(Error),
}

impl From<Unsent> for End {
    fn from(unsent: Unsent) -> Self {
        match unsent {
            Unsent::ReaderGone => Self::ReaderGone,
            Unsent::TooSlow => Self::Because(Error::SlowWatcher),
        }
    }
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Because(error)
    }
}

impl From<sqlx::Error> for End {
    fn from(error: sqlx::Error) -> Self {
        Self::Because(error.into())
    }
}

/// Something to look at again and again, and how it is told.
trait Subject: Send + 'static {
    type Item: Send + 'static;

    /// Tells what is new.
    fn look(&mut self, outlet: &Outlet<Self::Item>)
    -> impl Future<Output = Result<(), End>> + Send;

    fn heartbeat() -> Self::Item;
}

/// Looks and tells until the reader has gone, falls behind, or the service stops.
async fn follow<S: Subject>(
    app: Arc<App>,
    workspace: WorkspaceId,
    mut subject: S,
    outlet: Outlet<S::Item>,
) {
    let mut news = app.news.subscribe();
    let mut beat = Instant::now() + HEARTBEAT;
    loop {
        let mut told = subject.look(&outlet).await;
        if told.is_ok() && Instant::now() >= beat {
            beat = Instant::now() + HEARTBEAT;
            told = outlet.send(S::heartbeat()).await.map_err(End::from);
        }
        if told.is_ok() {
            told = wait(&app, &workspace, &outlet, &mut news).await;
        }
        match told {
            Ok(()) => {}
            Err(End::ReaderGone) => return,
            Err(End::Because(error)) => return outlet.end(error),
        }
    }
}

/// Waits for news of the workspace, or for the moment to look anyway.
async fn wait<T>(
    app: &App,
    workspace: &WorkspaceId,
    outlet: &Outlet<T>,
    news: &mut broadcast::Receiver<String>,
) -> Result<(), End> {
    let look = tokio::time::sleep(LOOK_EVERY);
    tokio::pin!(look);
    loop {
        tokio::select! {
            () = &mut look => return Ok(()),
            () = outlet.closed() => return Err(End::ReaderGone),
            () = app.stop.stopped() => return Err(End::Because(Error::Stopping)),
            heard = news.recv() => match heard {
                Ok(other) if other != workspace.as_str() => {}
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return Ok(()),
                Err(broadcast::error::RecvError::Closed) => return Err(End::Because(Error::Stopping)),
            },
        }
    }
}

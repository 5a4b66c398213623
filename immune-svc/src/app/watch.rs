//! Watching: what there is, then what changes as it commits. Never holds up a writer: a reader that falls behind is ended.

mod alerts;
mod outlet;
mod standings;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cambium_kernel::WorkspaceId;
use tokio::sync::broadcast;
use tokio::time::Instant;

use super::App;
use crate::error::Error;
use outlet::{End, Outlet};

pub(crate) use alerts::Sent as AlertSent;
pub(crate) use standings::Sent as StandingSent;

/// Watches that one principal may hold.
const MOST_WATCHES: usize = 16;
/// News is a hint: this often is looked anyway.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Rows read at once.
const ROWS: i64 = 200;

/// How many watches each principal holds in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watchers(Arc<Mutex<HashMap<String, usize>>>);

/// One principal's place among the watchers. Dropping it makes room.
struct Seat {
    watchers: Watchers,
    subject: String,
}

impl Watchers {
    fn sit(&self, subject: String) -> Result<Seat, Error> {
        let mut seats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = seats.entry(subject.clone()).or_default();
        if *taken >= MOST_WATCHES {
            return Err(Error::TooManyWatches);
        }
        *taken += 1;
        drop(seats);
        Ok(Seat {
            watchers: self.clone(),
            subject,
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self
            .watchers
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = seats.get_mut(&self.subject) {
            *taken -= 1;
            if *taken == 0 {
                seats.remove(&self.subject);
            }
        }
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
            told = outlet.send(S::heartbeat()).await;
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

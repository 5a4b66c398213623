//! Following a log of the workspace: what is kept after a number, then what is new, then a sign of life.
//! Knows nothing of what is watched.

use std::time::Duration;

use cambium_service_kit::principal::Principal;
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::watchers::{self, Outlet, Unsent};
use tokio::sync::mpsc;
use tokio::sync::watch::Receiver;
use tokio::time::{Instant, sleep};

use crate::app::App;
use crate::error::Error;

/// In case nobody said that something has happened.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(500);
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);
/// Rows read at once.
pub(crate) const ROWS: i64 = 200;

pub(crate) type Sent<T> = watchers::Sent<T>;

/// Why a stream ends: its reader has gone, or there is something to say.
pub(crate) enum End {
    Gone,
    Because(Error),
}

impl From<Unsent> for End {
    fn from(unsent: Unsent) -> Self {
        match unsent {
            Unsent::ReaderGone => Self::Gone,
            Unsent::TooSlow => Self::Because(Error::SlowWatcher),
        }
    }
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Because(error)
    }
}

/// One who looks again and again.
pub(crate) trait Watcher: Send + 'static {
    type Item: Send + 'static;

    /// Sends what has changed since the last look.
    fn look(&mut self, outlet: &Outlet<Self::Item>)
    -> impl Future<Output = Result<(), End>> + Send;

    /// What says that the stream lives.
    fn beat(&self) -> Self::Item;
}

impl App {
    /// Gives a watcher its stream. It ends with the service, with its reader, or when that one falls behind.
    pub(crate) fn follow<W: Watcher>(
        &self,
        caller: &Principal,
        watcher: W,
    ) -> Result<mpsc::Receiver<Sent<W::Item>>, Error> {
        let (outlet, stream) = Outlet::new(self.watchers.sit(caller.subject())?);
        let news = self.news.subscribe();
        tokio::spawn(run(watcher, outlet, news, self.stop.clone()));
        Ok(stream)
    }
}

async fn run<W: Watcher>(
    mut watcher: W,
    outlet: Outlet<W::Item>,
    mut news: Receiver<()>,
    stop: Stop,
) {
    let end = tokio::select! {
        end = looking(&mut watcher, &outlet, &mut news) => end,
        () = stop.stopped() => End::Because(Error::Stopping),
    };
    if let End::Because(error) = end {
        outlet.end(error);
    }
}

async fn looking<W: Watcher>(
    watcher: &mut W,
    outlet: &Outlet<W::Item>,
    news: &mut Receiver<()>,
) -> End {
    let mut beat = Instant::now() + HEARTBEAT;
    loop {
        if let Err(end) = watcher.look(outlet).await {
            return end;
        }
        if Instant::now() >= beat {
            beat = Instant::now() + HEARTBEAT;
            if let Err(unsent) = outlet.send(watcher.beat()).await {
                return unsent.into();
            }
        }
        tokio::select! {
            () = sleep(LOOK_EVERY) => {}
            Ok(()) = news.changed() => {}
            () = outlet.closed() => return End::Gone,
        }
    }
}

//! Watching a run: its history, then what happens, then its end.

use std::sync::Arc;
use std::time::Duration;

use cambium_kernel::{RunId, WorkspaceId};
use cambium_proto::hypha::v1 as wire;
use cambium_service_kit::principal::Principal;
use cambium_service_kit::watchers::{self, Outlet, Unsent};
use sqlx::PgConnection;
use tokio::sync::{broadcast, mpsc};
use tokio::time::Instant;

use super::App;
use crate::convert;
use crate::engine::cache::RunInfo;
use crate::error::Error;
use crate::store;

/// Other replicas' commits are seen by looking.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Stored batches read at once.
const ROWS: i64 = 200;

pub(crate) type Sent = watchers::Sent<wire::WatchRunResponse>;

/// One watcher.
struct Watcher {
    app: App,
    info: Arc<RunInfo>,
    seq: i64,
    outlet: Outlet<wire::WatchRunResponse>,
}

impl App {
    /// Watches from a sequence on. The stream ends with the run, or when its reader falls behind.
    pub(crate) async fn watch_run(
        &self,
        principal: &Principal,
        workspace: &WorkspaceId,
        run: RunId,
        after_seq: i64,
    ) -> Result<mpsc::Receiver<Sent>, Error> {
        if after_seq < 0 {
            return Err(Error::field("after_seq", "is below 0"));
        }
        let info = self.info(workspace, run).await?;
        let mut conn = self.pool.acquire().await?;
        let reach = store::event::reach(&mut conn, run).await?;
        let lowest = reach.ok_or(Error::NoRun(run))?.lowest;
        drop(conn);
        follows(after_seq, lowest.into())?;
        let (outlet, stream) = Outlet::new(self.watchers.sit(principal.subject())?);
        let watcher = Watcher {
            app: self.clone(),
            info,
            seq: after_seq,
            outlet,
        };
        let news = self.engine.news.subscribe();
        tokio::spawn(watcher.follow(news));
        Ok(stream)
    }
}

impl Watcher {
    async fn follow(mut self, mut news: broadcast::Receiver<RunId>) {
        let mut beat = Instant::now() + HEARTBEAT;
        loop {
            match self.send_new().await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.outlet.end(error),
            }
            if Instant::now() >= beat {
                beat = Instant::now() + HEARTBEAT;
                let item = wire::watch_run_response::Item::Heartbeat(wire::WatchHeartbeat {
                    seq: self.seq,
                });
                if let Err(fault) = self.send(item).await {
                    return fault.map_or((), |fault| self.outlet.end(fault));
                }
            }
            if let Err(fault) = self.wait(&mut news).await {
                return fault.map_or((), |fault| self.outlet.end(fault));
            }
        }
    }

    /// Sends what is new. Answers whether there may be more.
    async fn send_new(&mut self) -> Result<bool, Error> {
        loop {
            let mut conn = self.app.pool.acquire().await?;
            let events = store::event::after(&mut conn, self.info.run, self.seq, ROWS).await?;
            let Some(first) = events.first() else {
                return Ok(!self.is_over(&mut conn).await?);
            };
            drop(conn);
            follows(self.seq, first.seq)?;
            for event in events {
                self.seq = event.seq;
                let wire = convert::event::event_to_wire(self.info.graph(), &event);
                let is_end = wire.kind() == wire::RunEventKind::RunEnded;
                let item = wire::watch_run_response::Item::Event(wire);
                if let Err(fault) = self.send(item).await {
                    return fault.map_or(Ok(false), Err);
                }
                if is_end {
                    return Ok(false);
                }
            }
        }
    }

    /// Whether the run has ended and everything has been sent: to whoever asks from its end there is nothing to send.
    async fn is_over(&self, conn: &mut PgConnection) -> Result<bool, Error> {
        let run = self.info.run;
        let reach = store::event::reach(conn, run).await?;
        let reach = reach.ok_or(Error::NoRun(run))?;
        follows(self.seq, reach.lowest.into())?;
        Ok(reach.has_ended && i64::from(reach.last) <= self.seq)
    }

    /// An error without a reason means that the reader has gone.
    async fn send(&self, item: wire::watch_run_response::Item) -> Result<(), Option<Error>> {
        let item = wire::WatchRunResponse { item: Some(item) };
        let sent = self.outlet.send(item).await;
        sent.map_err(|unsent| match unsent {
            Unsent::ReaderGone => None,
            Unsent::TooSlow => Some(Error::SlowWatcher(self.seq)),
        })
    }

    /// Waits for news of this run, or for the moment to look anyway.
    async fn wait(&self, news: &mut broadcast::Receiver<RunId>) -> Result<(), Option<Error>> {
        let look = tokio::time::sleep(LOOK_EVERY);
        tokio::pin!(look);
        loop {
            tokio::select! {
                () = &mut look => return Ok(()),
                () = self.outlet.closed() => return Err(None),
                () = self.app.stop.stopped() => return Err(Some(Error::Stopping)),
                heard = news.recv() => match heard {
                    Ok(run) if run != self.info.run => {}
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return Ok(()),
                    Err(broadcast::error::RecvError::Closed) => return Err(None),
                },
            }
        }
    }
}

/// Refuses to leave a gap: whoever has seen `seen` goes on with the next one, or hears which is the lowest there is.
fn follows(seen: i64, lowest: i64) -> Result<(), Error> {
    if lowest > seen + 1 {
        return Err(Error::TooOld {
            asked: seen,
            lowest,
        });
    }
    Ok(())
}

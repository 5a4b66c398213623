//! Watching marks: what is kept of what happened, then what happens, until the reader goes.

use std::time::Duration;

use cambium_kernel::WorkspaceId;
use cambium_proto::stigmergy::v1 as wire;
use cambium_service_kit::principal::{Kind, Principal};
use cambium_service_kit::watchers::{self, Outlet, Unsent};
use cambium_stigmergy::Region;
use tokio::sync::{broadcast, mpsc};
use tokio::time::Instant;

use super::App;
use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::event::Event;

/// Other replicas' commits are seen by looking.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Events read at once.
const ROWS: i64 = 200;

pub(crate) type Sent = watchers::Sent<wire::WatchMarkersResponse>;

/// One watcher.
struct Watcher {
    app: App,
    workspace: WorkspaceId,
    /// This region and all below it; none is everywhere.
    region: Option<Region>,
    /// Payloads are not for viewers, not even a part of one.
    is_redacted: bool,
    seq: i64,
    outlet: Outlet<wire::WatchMarkersResponse>,
}

impl App {
    /// Watches from a sequence on. 0 stands for the first that is kept.
    pub(crate) async fn watch(
        &self,
        principal: &Principal,
        workspace: WorkspaceId,
        region: Option<Region>,
        after_seq: i64,
    ) -> Result<mpsc::Receiver<Sent>, Error> {
        let mut conn = self.pool.acquire().await?;
        let reach = store::event::reach(&mut conn, &workspace).await?;
        drop(conn);
        if !(0..=reach.last).contains(&after_seq) {
            let why = format!("{after_seq} is outside 0 to {}, the last one", reach.last);
            return Err(Error::field("after_seq", why));
        }
        let seq = match after_seq {
            0 => reach.lowest - 1,
            seq => follows(seq, reach.lowest)?,
        };
        // Before the first look: what commits from here on is heard of.
        let news = self.news.subscribe();
        let (outlet, stream) = Outlet::new(self.watchers.sit(principal.subject())?);
        let watcher = Watcher {
            app: self.clone(),
            workspace,
            region,
            is_redacted: principal.kind == Kind::Viewer,
            seq,
            outlet,
        };
        tokio::spawn(watcher.follow(news));
        Ok(stream)
    }
}

impl Watcher {
    /// An end without a reason means that the reader has gone.
    async fn follow(mut self, mut news: broadcast::Receiver<WorkspaceId>) {
        if let Err(Some(why)) = self.run(&mut news).await {
            self.outlet.end(why);
        }
    }

    async fn run(
        &mut self,
        news: &mut broadcast::Receiver<WorkspaceId>,
    ) -> Result<(), Option<Error>> {
        let mut beat = Instant::now() + HEARTBEAT;
        loop {
            if self.send_new().await? {
                beat = Instant::now() + HEARTBEAT;
            }
            if Instant::now() >= beat {
                beat = Instant::now() + HEARTBEAT;
                self.send(convert::event::heartbeat(self.seq)).await?;
            }
            self.wait(news).await?;
        }
    }

    /// Sends what is new. Tells whether anything was.
    async fn send_new(&mut self) -> Result<bool, Option<Error>> {
        let mut has_sent = false;
        loop {
            let events = self.look().await.map_err(Some)?;
            let Some(first) = events.first() else {
                return Ok(has_sent);
            };
            follows(self.seq, first.seq).map_err(Some)?;
            for event in events {
                self.seq = event.seq;
                if self.is_wanted(&event) {
                    let mut item = convert::event::to_wire(event);
                    if self.is_redacted {
                        item.old_payload_summary.clear();
                        item.new_payload_summary.clear();
                    }
                    self.send(item).await?;
                    has_sent = true;
                }
            }
        }
    }

    async fn look(&self) -> Result<Vec<Event>, Error> {
        let mut conn = self.app.pool.acquire().await?;
        store::event::after(&mut conn, &self.workspace, self.seq, ROWS).await
    }

    fn is_wanted(&self, event: &Event) -> bool {
        let Some(region) = &self.region else {
            return true;
        };
        Region::parse(&event.region).is_ok_and(|of| of.is_within(region))
    }

    async fn send(&self, item: wire::WatchMarkersResponse) -> Result<(), Option<Error>> {
        let sent = self.outlet.send(item).await;
        sent.map_err(|unsent| match unsent {
            Unsent::ReaderGone => None,
            Unsent::TooSlow => Some(Error::SlowWatcher(self.seq)),
        })
    }

    /// Waits for news of this workspace, or for the moment to look anyway.
    async fn wait(&self, news: &mut broadcast::Receiver<WorkspaceId>) -> Result<(), Option<Error>> {
        let look = tokio::time::sleep(LOOK_EVERY);
        tokio::pin!(look);
        loop {
            tokio::select! {
                () = &mut look => return Ok(()),
                () = self.outlet.closed() => return Err(None),
                () = self.app.stop.stopped() => return Err(Some(Error::Stopping)),
                heard = news.recv() => match heard {
                    Ok(workspace) if workspace != self.workspace => {}
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return Ok(()),
                    Err(broadcast::error::RecvError::Closed) => return Err(None),
                },
            }
        }
    }
}

/// Refuses to leave a gap: whoever has seen `seen` goes on with the next one, or hears which is the lowest there is.
fn follows(seen: i64, lowest: i64) -> Result<i64, Error> {
    if lowest > seen + 1 {
        return Err(Error::TooOld {
            asked: seen,
            lowest,
        });
    }
    Ok(seen)
}

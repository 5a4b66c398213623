//! Following the timeline: every grant, start, settlement, withdrawal, clamp and control change, in the order of the commits.

use std::sync::Arc;

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1::WatchTimelineResponse;
use cambium_proto::swarm::v1::watch_timeline_response::Item;
use cambium_service_kit::principal::Principal;
use cambium_service_kit::watchers::Outlet;
use tokio::sync::mpsc;

use crate::app::watch::{End, ROWS, Watcher};
use crate::app::{App, Sent};
use crate::convert::timeline as wired;
use crate::error::Error;
use crate::store::event;

struct Follower {
    app: Arc<App>,
    workspace: WorkspaceId,
    seq: i64,
}

impl App {
    pub(crate) async fn watch_timeline(
        self: &Arc<Self>,
        caller: &Principal,
        workspace: WorkspaceId,
        after_seq: i64,
    ) -> Result<mpsc::Receiver<Sent<WatchTimelineResponse>>, Error> {
        if after_seq < 0 {
            return Err(Error::field("after_seq", "is below 0"));
        }
        let mut conn = self.pool.acquire().await?;
        let (lowest, _) = event::reach(&mut conn, &workspace).await?;
        drop(conn);
        // From the beginning means from the first that is kept.
        if after_seq > 0 && lowest > after_seq + 1 {
            return Err(Error::TooOld {
                asked: after_seq,
                lowest,
            });
        }
        let follower = Follower {
            app: Arc::clone(self),
            workspace,
            seq: after_seq,
        };
        self.follow(caller, follower)
    }
}

impl Watcher for Follower {
    type Item = WatchTimelineResponse;

    async fn look(&mut self, outlet: &Outlet<Self::Item>) -> Result<(), End> {
        loop {
            let mut conn = self.app.pool.acquire().await.map_err(Error::from)?;
            let events = event::after(&mut conn, &self.workspace, self.seq, ROWS).await?;
            drop(conn);
            if events.is_empty() {
                return Ok(());
            }
            for event in events {
                self.seq = event.seq;
                let item = Some(Item::Event(wired::event_to_wire(event)));
                outlet.send(WatchTimelineResponse { item }).await?;
            }
        }
    }

    fn beat(&self) -> Self::Item {
        WatchTimelineResponse {
            item: Some(Item::HeartbeatSeq(self.seq)),
        }
    }
}

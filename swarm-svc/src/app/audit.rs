//! Reading the audit: who changed what, and who was refused. Adds nothing to it.

use std::sync::Arc;

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::watch_audit_response::Item;
use cambium_service_kit::page::Page;
use cambium_service_kit::principal::Principal;
use cambium_service_kit::watchers::Outlet;
use cambium_swarm::authority::{self, Action, Facts};
use tokio::sync::mpsc;

use crate::app::watch::{End, ROWS, Watcher};
use crate::app::{App, Sent};
use crate::convert;
use crate::convert::control::entry_to_wire;
use crate::error::Error;
use crate::store::audit;

struct Follower {
    app: Arc<App>,
    workspace: WorkspaceId,
    seq: i64,
}

impl App {
    /// Newest first, a page of it.
    pub(crate) async fn list_audit(
        &self,
        caller: &Principal,
        workspace: &WorkspaceId,
        page: &Page<i64>,
    ) -> Result<wire::ListAuditResponse, Error> {
        may_read_audit(caller)?;
        let mut conn = self.pool.acquire().await?;
        let found = audit::before(&mut conn, workspace, page.after, page.size + 1).await?;
        let cursors: Vec<i64> = found.iter().map(|kept| kept.seq).collect();
        let (entries, next_page_token) = page.cut(found.iter().map(entry_to_wire), &cursors);
        Ok(wire::ListAuditResponse {
            entries,
            next_page_token,
        })
    }

    pub(crate) async fn watch_audit(
        self: &Arc<Self>,
        caller: &Principal,
        workspace: WorkspaceId,
        after_seq: i64,
    ) -> Result<mpsc::Receiver<Sent<wire::WatchAuditResponse>>, Error> {
        may_read_audit(caller)?;
        if after_seq < 0 {
            return Err(Error::field("after_seq", "is below 0"));
        }
        let mut conn = self.pool.acquire().await?;
        let lowest = audit::lowest(&mut conn, &workspace).await?;
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

fn may_read_audit(caller: &Principal) -> Result<(), Error> {
    let actor = convert::actor(caller)?;
    authority::decide(&actor, Action::ReadAudit, &Facts::default())?;
    Ok(())
}

impl Watcher for Follower {
    type Item = wire::WatchAuditResponse;

    async fn look(&mut self, outlet: &Outlet<Self::Item>) -> Result<(), End> {
        loop {
            let mut conn = self.app.pool.acquire().await.map_err(Error::from)?;
            let entries = audit::after(&mut conn, &self.workspace, self.seq, ROWS).await?;
            drop(conn);
            if entries.is_empty() {
                return Ok(());
            }
            for entry in entries {
                self.seq = entry.seq;
                let item = Some(Item::Entry(entry_to_wire(&entry)));
                outlet.send(wire::WatchAuditResponse { item }).await?;
            }
        }
    }

    fn beat(&self) -> Self::Item {
        wire::WatchAuditResponse {
            item: Some(Item::HeartbeatSeq(self.seq)),
        }
    }
}

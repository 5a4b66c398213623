//! Following the minds: all of them, then each again when it looks otherwise than it did. Some changes come by themselves, as a
//! rest's end does: such a mind is looked at again at its instant.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::WatchMindsResponse;
use cambium_proto::swarm::v1::watch_minds_response::Event;
use cambium_service_kit::principal::Principal;
use cambium_service_kit::watchers::Outlet;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use tokio::sync::mpsc;

use super::look::{Looked, looked};
use crate::app::watch::{End, ROWS, Watcher};
use crate::app::{App, Sent};
use crate::error::Error;
use crate::store::{self, event as events, mind};

/// A mind as it was sent, and until when it looks so.
struct Known {
    mind: wire::Mind,
    until: Option<DateTime<Utc>>,
}

struct Follower {
    app: Arc<App>,
    workspace: WorkspaceId,
    /// How far the events were read; none before the first look.
    seq: Option<i64>,
    known: BTreeMap<String, Known>,
}

impl App {
    pub(crate) fn watch_minds(
        self: &Arc<Self>,
        caller: &Principal,
        workspace: WorkspaceId,
    ) -> Result<mpsc::Receiver<Sent<WatchMindsResponse>>, Error> {
        let follower = Follower {
            app: Arc::clone(self),
            workspace,
            seq: None,
            known: BTreeMap::new(),
        };
        self.follow(caller, follower)
    }
}

impl Follower {
    /// Every mind, by name.
    async fn all(
        &mut self,
        conn: &mut PgConnection,
        outlet: &Outlet<WatchMindsResponse>,
    ) -> Result<(), End> {
        let mut after = String::new();
        loop {
            let rows = mind::list(conn, &self.workspace, &after, ROWS).await?;
            let Some(last) = rows.last() else {
                return Ok(());
            };
            after = last.instance.to_string();
            let seen = looked(conn, &self.workspace, rows).await?;
            self.send(seen, outlet).await?;
        }
    }

    /// Those that events name, and those whose instant has come. An event that names none may be about any.
    async fn changed(
        &mut self,
        conn: &mut PgConnection,
        seq: i64,
        outlet: &Outlet<WatchMindsResponse>,
    ) -> Result<(), End> {
        let events = events::after(conn, &self.workspace, seq, ROWS).await?;
        let now = store::now(conn).await?;
        let due = self
            .known
            .iter()
            .filter(|(_, known)| known.until.is_some_and(|until| until <= now));
        let mut names: BTreeSet<String> = due.map(|(name, _)| name.clone()).collect();
        names.extend(events.iter().map(|event| event.instance.clone()));
        self.seq = events.last().map_or(Some(seq), |event| Some(event.seq));
        if names.remove("") {
            return self.all(conn, outlet).await;
        }
        if names.is_empty() {
            return Ok(());
        }
        let names: Vec<String> = names.into_iter().collect();
        let rows = mind::of(conn, &self.workspace, &names).await?;
        let seen = looked(conn, &self.workspace, rows).await?;
        self.send(seen, outlet).await
    }

    async fn send(
        &mut self,
        seen: Vec<Looked>,
        outlet: &Outlet<WatchMindsResponse>,
    ) -> Result<(), End> {
        for one in seen {
            let name = one.instance.to_string();
            let (mind, until) = (one.mind, one.until);
            let is_news = self.known.get(&name).is_none_or(|known| known.mind != mind);
            if is_news {
                outlet.send(event(Event::Mind(mind.clone()))).await?;
            }
            self.known.insert(name, Known { mind, until });
        }
        Ok(())
    }
}

const fn event(event: Event) -> WatchMindsResponse {
    WatchMindsResponse { event: Some(event) }
}

impl Watcher for Follower {
    type Item = WatchMindsResponse;

    async fn look(&mut self, outlet: &Outlet<Self::Item>) -> Result<(), End> {
        let app = Arc::clone(&self.app);
        let mut conn = app.pool.acquire().await.map_err(Error::from)?;
        let Some(seq) = self.seq else {
            let (_, last) = events::reach(&mut conn, &self.workspace).await?;
            self.all(&mut conn, outlet).await?;
            self.seq = Some(last);
            outlet.send(event(Event::CaughtUp(true))).await?;
            return Ok(());
        };
        self.changed(&mut conn, seq, outlet).await
    }

    fn beat(&self) -> Self::Item {
        event(Event::Heartbeat(true))
    }
}

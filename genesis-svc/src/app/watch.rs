//! Watching the agents of a workspace: all that there are, then each change as it commits.

use std::collections::HashMap;
use std::time::Duration;

use cambium_genesis::State;
use cambium_kernel::{AgentId, WorkspaceId};
use cambium_proto::genesis::v1::WatchAgentsResponse;
use cambium_proto::genesis::v1::watch_agents_response::Event;
use cambium_service_kit::principal::Principal;
use cambium_service_kit::watchers::{self, Outlet, Unsent};
use sqlx::PgPool;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::app::App;
use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::agent::changes::Change;

/// Commits are seen by looking: they may be another replica's.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Agents read at once.
const ROWS: i64 = 200;

pub(crate) type Sent = watchers::Sent<WatchAgentsResponse>;

/// Why a stream ends: its reader has gone, or there is something to say.
enum End {
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

/// One watcher.
struct Watcher {
    pool: PgPool,
    workspace: WorkspaceId,
    /// All transactions below have been seen.
    horizon: i64,
    /// What has been sent of those from there on, so that it is not sent again.
    sent: HashMap<AgentId, i64>,
    is_caught_up: bool,
    outlet: Outlet<WatchAgentsResponse>,
}

impl App {
    pub(crate) fn watch_agents(
        &self,
        caller: &Principal,
        workspace: WorkspaceId,
    ) -> Result<mpsc::Receiver<Sent>, Error> {
        let (outlet, stream) = Outlet::new(self.watchers.sit(caller.subject())?);
        let watcher = Watcher {
            pool: self.pool.clone(),
            workspace,
            horizon: 0,
            sent: HashMap::new(),
            is_caught_up: false,
            outlet,
        };
        let stop = self.stop.clone();
        tokio::spawn(async move {
            let mut watcher = watcher;
            let end = tokio::select! {
                end = watcher.follow() => end,
                () = stop.stopped() => End::Because(Error::Stopping),
            };
            if let End::Because(error) = end {
                watcher.outlet.end(error);
            }
        });
        Ok(stream)
    }
}

impl Watcher {
    async fn follow(&mut self) -> End {
        let mut beat = Instant::now() + HEARTBEAT;
        loop {
            if let Err(end) = self.look().await {
                return end;
            }
            if Instant::now() >= beat {
                beat = Instant::now() + HEARTBEAT;
                if let Err(end) = self.send(Event::Heartbeat(true)).await {
                    return end;
                }
            }
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                () = self.outlet.closed() => return End::Gone,
            }
        }
    }

    /// Sends what has changed since the last look.
    async fn look(&mut self) -> Result<(), End> {
        let mut conn = self.pool.acquire().await.map_err(Error::from)?;
        let horizon = store::agent::changes::horizon(&mut conn).await?;
        drop(conn);
        let mut after = (-1, AgentId::from_uuid(Uuid::nil()));
        loop {
            let changes = self.changes(after).await?;
            let Some(last) = changes.last() else { break };
            after = (last.changed_in, last.agent.id);
            for change in changes {
                let known = self.sent.insert(change.agent.id, change.changed_in);
                let is_new = known != Some(change.changed_in);
                let is_there = self.is_caught_up || change.agent.state != State::Retired;
                if is_new && is_there {
                    self.send(Event::Agent(convert::agent_to_wire(&change.agent)))
                        .await?;
                }
            }
        }
        self.horizon = horizon;
        self.sent.retain(|_, changed_in| *changed_in >= horizon);
        if !self.is_caught_up {
            self.is_caught_up = true;
            self.send(Event::CaughtUp(true)).await?;
        }
        Ok(())
    }

    /// Reads with a connection that is not held while a slow reader is waited for.
    async fn changes(&self, after: (i64, AgentId)) -> Result<Vec<Change>, Error> {
        let mut conn = self.pool.acquire().await?;
        store::agent::changes::since(&mut conn, &self.workspace, self.horizon, after, ROWS).await
    }

    async fn send(&self, event: Event) -> Result<(), End> {
        let item = WatchAgentsResponse { event: Some(event) };
        Ok(self.outlet.send(item).await?)
    }
}

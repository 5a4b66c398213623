//! Watching the agents of a workspace: all that there are, then each change as it commits.

use std::collections::HashMap;
use std::time::Duration;

use cambium_genesis::State;
use cambium_kernel::{AgentId, WorkspaceId};
use cambium_proto::genesis::v1::WatchAgentsResponse;
use cambium_proto::genesis::v1::watch_agents_response::Event;
use cambium_service_kit::principal::Principal;
use cambium_service_kit::watchers::Seat;
use sqlx::PgPool;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};
use tonic::Status;
use uuid::Uuid;

use crate::app::App;
use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::agent::changes::Change;

/// Events that a watcher may be behind.
const BEHIND: usize = 1_000;
/// How long one may stay that far behind.
const PATIENCE: Duration = Duration::from_secs(10);
/// Commits are seen by looking: they may be another replica's.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Agents read at once.
const ROWS: i64 = 200;

pub(crate) type Sent = Result<WatchAgentsResponse, Status>;

/// Why a stream ends: its reader has gone, or there is something to say.
enum End {
    Gone,
    Because(Error),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Because(error)
    }
}

/// One watcher.
struct Watcher {
    _seat: Seat,
    pool: PgPool,
    workspace: WorkspaceId,
    /// All transactions below have been seen.
    horizon: i64,
    /// What has been sent of those from there on, so that it is not sent again.
    sent: HashMap<AgentId, i64>,
    is_caught_up: bool,
    out: mpsc::Sender<Sent>,
    /// Room for the reason why the stream ends, however far behind its reader is.
    last_word: Option<mpsc::OwnedPermit<Sent>>,
}

impl App {
    pub(crate) fn watch_agents(
        &self,
        caller: &Principal,
        workspace: WorkspaceId,
    ) -> Result<mpsc::Receiver<Sent>, Error> {
        let seat = self.watchers.sit(caller.subject())?;
        let (out, stream) = mpsc::channel(BEHIND + 1);
        let watcher = Watcher {
            _seat: seat,
            pool: self.pool.clone(),
            workspace,
            horizon: 0,
            sent: HashMap::new(),
            is_caught_up: false,
            last_word: out.clone().try_reserve_owned().ok(),
            out,
        };
        let stop = self.stop.clone();
        tokio::spawn(async move {
            let mut watcher = watcher;
            let end = tokio::select! {
                end = watcher.follow() => end,
                () = stop.stopped() => End::Because(Error::Stopping),
            };
            if let (End::Because(error), Some(room)) = (end, watcher.last_word) {
                room.send(Err(error.into()));
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
                () = self.out.closed() => return End::Gone,
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
        let item = Ok(WatchAgentsResponse { event: Some(event) });
        match timeout(PATIENCE, self.out.send(item)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(End::Gone),
            Err(_) => Err(End::Because(Error::SlowWatcher)),
        }
    }
}

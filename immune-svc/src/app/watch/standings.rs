//! Standings as they change. Goes on from the oldest transaction that the last look could not see: none is missed, whatever
//! the order in which transactions commit.

use std::collections::HashMap;
use std::sync::Arc;

use cambium_kernel::{AgentId, WorkspaceId};
use cambium_proto::immune::v1::{self as wire, watch_standings_response::Event};
use cambium_service_kit::principal::Principal;
use cambium_service_kit::watchers::{self, Outlet};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{End, ROWS, Subject, follow};
use crate::app::App;
use crate::app::shown::shown;
use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::Key;
use crate::store::standing::Account;

pub(crate) type Sent = watchers::Sent<wire::WatchStandingsResponse>;

struct Standings {
    app: Arc<App>,
    workspace: WorkspaceId,
    /// This one only.
    agent: Option<AgentId>,
    /// Everything that older transactions changed has been told.
    since: i64,
    /// What was told of changes by later ones: sequence, and transaction.
    told: HashMap<AgentId, (i64, i64)>,
    is_caught_up: bool,
}

impl App {
    pub(crate) async fn watch_standings(
        self: &Arc<Self>,
        principal: &Principal,
        workspace: &WorkspaceId,
        agent: Option<AgentId>,
    ) -> Result<mpsc::Receiver<Sent>, Error> {
        if let Some(agent) = agent {
            let which = crate::app::Which::Id(agent);
            self.standing(workspace, &which).await?;
        }
        let (outlet, stream) = Outlet::new(self.watchers.sit(principal.subject())?);
        let subject = Standings {
            app: Arc::clone(self),
            workspace: workspace.clone(),
            agent,
            since: 0,
            told: HashMap::new(),
            is_caught_up: false,
        };
        tokio::spawn(follow(Arc::clone(self), workspace.clone(), subject, outlet));
        Ok(stream)
    }
}

impl Subject for Standings {
    type Item = wire::WatchStandingsResponse;

    async fn look(&mut self, outlet: &Outlet<Self::Item>) -> Result<(), End> {
        let horizon = {
            let mut conn = self.app.pool.acquire().await?;
            store::standing::horizon(&mut conn).await?
        };
        let mut after = (-1, Uuid::nil());
        loop {
            let mut conn = self.app.pool.acquire().await?;
            let found = self.changed(&mut conn, after).await?;
            let is_last = self.agent.is_some() || found.len() < usize::try_from(ROWS).unwrap_or(0);
            if let Some((key, account)) = found.last() {
                after = (account.changed_in, key.agent.as_uuid());
            }
            let fresh = found
                .into_iter()
                .filter(|(key, account)| self.is_new(key, account));
            let standings = shown(&mut conn, fresh.collect()).await?;
            // Not held while a reader takes its time.
            drop(conn);
            for standing in &standings {
                let account = &standing.account;
                self.told
                    .insert(standing.key.agent, (account.seq, account.changed_in));
                let wire = convert::standing_to_wire(standing);
                outlet.send(event(Event::Standing(Box::new(wire)))).await?;
            }
            if is_last {
                break;
            }
        }
        self.since = horizon;
        self.told
            .retain(|_, (_, changed_in)| *changed_in >= horizon);
        if !self.is_caught_up {
            self.is_caught_up = true;
            outlet.send(event(Event::CaughtUp(true))).await?;
        }
        Ok(())
    }

    fn heartbeat() -> Self::Item {
        event(Event::Heartbeat(true))
    }
}

impl Standings {
    async fn changed(
        &self,
        conn: &mut sqlx::PgConnection,
        after: (i64, Uuid),
    ) -> Result<Vec<(Key, Account)>, Error> {
        let Some(agent) = self.agent else {
            return store::standing::changed_since(conn, &self.workspace, self.since, after, ROWS)
                .await;
        };
        let key = Key {
            workspace: self.workspace.clone(),
            agent,
        };
        let account = store::standing::by_key(conn, &key).await?;
        let found = account.filter(|account| account.changed_in >= self.since);
        Ok(found.map(|account| (key, account)).into_iter().collect())
    }

    fn is_new(&self, key: &Key, account: &Account) -> bool {
        let told = self.told.get(&key.agent);
        told.is_none_or(|(seq, _)| *seq < account.seq)
    }
}

const fn event(event: Event) -> wire::WatchStandingsResponse {
    wire::WatchStandingsResponse { event: Some(event) }
}

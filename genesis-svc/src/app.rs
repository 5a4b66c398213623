//! The use cases of genesis. Each owns its transaction; the rules are the domain's.

mod agent;
mod authority;
mod compost;
mod learning;
mod retire;
mod spawn;
mod template;
mod watch;

use std::fmt;
use std::sync::Arc;

use cambium_genesis::Agent;
use cambium_kernel::{Clock, SignalId};
use cambium_proto::genesis::v1 as wire;
use cambium_proto::signal::v1::Signal;
use cambium_service_kit::outbox;
use cambium_service_kit::principal::Kind;
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::token::{Mint, SigningKey};
use cambium_service_kit::watchers::Watchers;
use chrono::TimeDelta;
use sqlx::{PgConnection, PgPool};
use tokio::sync::Notify;

use crate::convert::{self, Inheritance};
use crate::error::Error;
use crate::store;

pub(crate) use authority::recently_logged_in;
pub(crate) use watch::Sent;

/// What every use case needs.
pub(crate) struct App {
    pub(crate) pool: PgPool,
    /// Signs what an agent shows.
    pub(crate) key: Arc<SigningKey>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) routes: outbox::Routes,
    pub(crate) relay: outbox::Wake,
    /// Some agent's life may be over.
    pub(crate) composting: Arc<Notify>,
    pub(crate) watchers: Watchers,
    pub(crate) stop: Stop,
}

/// Where agents and their workers show their tokens.
const AUDIENCE: [&str; 2] = ["hypha", "genesis"];
const AGENT_TOKEN: TimeDelta = TimeDelta::minutes(15);
const WORKER_TOKEN: TimeDelta = TimeDelta::hours(1);

impl App {
    /// Authenticates the agent itself.
    fn agent_token(&self, agent: &wire::Agent) -> Result<String, Error> {
        let itself = mint(agent, Kind::Agent, agent.agent_id.clone(), AGENT_TOKEN);
        Ok(self.key.mint(self.clock.now(), itself)?)
    }

    /// Lets a worker take tasks for this agent alone.
    fn worker_token(&self, agent: &wire::Agent) -> Result<String, Error> {
        let worker = Mint {
            agents: vec![agent.agent_id.clone()],
            ..mint(agent, Kind::Worker, agent.name.clone(), WORKER_TOKEN)
        };
        Ok(self.key.mint(self.clock.now(), worker)?)
    }

    /// Tells others in the transaction that makes it true.
    async fn tell(&self, tx: &mut PgConnection, signals: Vec<Signal>) -> Result<(), Error> {
        Ok(outbox::insert(tx, store::SCHEMA, &outbox::rows(&self.routes, signals)).await?)
    }

    /// Adds an agent and tells of it; says no if its name is in use.
    async fn born(
        &self,
        tx: &mut PgConnection,
        agent: &Agent,
        inheritance: &Inheritance,
    ) -> Result<bool, Error> {
        if !store::agent::insert(tx, agent, inheritance).await? {
            return Ok(false);
        }
        let signal = convert::agent_spawned(SignalId::generate(), agent, inheritance);
        self.tell(tx, vec![signal]).await?;
        Ok(true)
    }
}

fn mint(agent: &wire::Agent, kind: Kind, name: String, ttl: TimeDelta) -> Mint {
    Mint {
        kind,
        name,
        audience: AUDIENCE.map(str::to_owned).to_vec(),
        ttl,
        workspaces: vec![agent.workspace_id.clone()],
        agents: Vec::new(),
        capabilities: agent.capabilities.clone(),
        act: None,
        lease: None,
        fence: None,
    }
}

// Nothing in it is for a log.
impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}

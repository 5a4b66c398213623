//! Facts from other services: who the agents are, and what immune thinks of them.

use std::collections::BTreeSet;

use cambium_kernel::{WorkspaceId, check_name};
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{AgentRetired, AgentSpawned, Signal};
use cambium_service_kit::inbox::Receptor;
use sqlx::PgConnection;

use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::agent::{Agent, State};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Receptors;

impl Receptor for Receptors {
    type Error = Error;

    /// Each fact is its owner's. What means nothing here anybody may say.
    fn may_say(&self, sender: &str, signal: &Signal) -> bool {
        match &signal.payload {
            Some(Payload::StandingChanged(_)) => sender == "immune",
            Some(Payload::AgentSpawned(_) | Payload::AgentRetired(_)) => sender == "genesis",
            Some(_) | None => true,
        }
    }

    async fn apply(&self, conn: &mut PgConnection, signals: &[Signal]) -> Result<(), Error> {
        // Under the lock of those who touch marks: once this has committed, nothing is stored that it forbids.
        store::workspace::lock(conn, &workspaces(signals)?).await?;
        for signal in signals {
            let workspace = &signal.workspace_id;
            match &signal.payload {
                Some(Payload::StandingChanged(changed)) => {
                    let change = convert::signal::standing_from_wire(workspace, changed)?;
                    store::standing::upsert(conn, &change).await?;
                }
                Some(Payload::AgentSpawned(spawned)) => {
                    store::agent::upsert(conn, &spawned_agent(workspace, spawned)?).await?;
                }
                Some(Payload::AgentRetired(retired)) => {
                    store::agent::upsert(conn, &retired_agent(workspace, retired)?).await?;
                }
                // Of no meaning here.
                Some(_) | None => {}
            }
        }
        Ok(())
    }
}

fn workspaces(signals: &[Signal]) -> Result<BTreeSet<WorkspaceId>, Error> {
    let parse = |signal: &Signal| {
        WorkspaceId::parse(&signal.workspace_id)
            .map_err(|why| Error::field("workspace_id", why.to_string()))
    };
    signals.iter().map(parse).collect()
}

fn spawned_agent(workspace: &str, spawned: &AgentSpawned) -> Result<Agent, Error> {
    check_name(&spawned.name).map_err(|why| Error::field("agent_spawned.name", why.to_string()))?;
    Ok(Agent {
        workspace: workspace.to_owned(),
        id: convert::signal::agent("agent_spawned.agent_id", &spawned.agent_id)?,
        name: Some(spawned.name.clone()),
        state: State::Active,
    })
}

fn retired_agent(workspace: &str, retired: &AgentRetired) -> Result<Agent, Error> {
    let state = if retired.draining {
        State::Draining
    } else {
        State::Retired
    };
    Ok(Agent {
        workspace: workspace.to_owned(),
        id: convert::signal::agent("agent_retired.agent_id", &retired.agent_id)?,
        name: None,
        state,
    })
}

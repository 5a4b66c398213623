//! Facts from other services: who the agents are, and what immune thinks of them.

use std::collections::{BTreeMap, BTreeSet};

use cambium_kernel::{AgentId, WorkspaceId, check_name};
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{AgentRetired, AgentSpawned, Signal};
use cambium_service_kit::inbox::Receptor;
use sqlx::PgConnection;

use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::agent::{Agent, State};
use crate::store::standing::Change;

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
        // Under the lock of those who touch marks: once this has committed, nothing is stored that it forbids. What forbids
        // nothing holds nobody up.
        let forbidding = signals.iter().filter(|signal| forbids(signal));
        store::workspace::lock(conn, &workspaces(forbidding)?).await?;
        store::standing::upsert(conn, &standings(signals)?).await?;
        for signal in signals {
            let workspace = &signal.workspace_id;
            match &signal.payload {
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

/// Whether its agent may touch no marks from here on.
fn forbids(signal: &Signal) -> bool {
    match &signal.payload {
        Some(Payload::StandingChanged(changed)) => changed.quarantined,
        Some(Payload::AgentRetired(_)) => true,
        Some(_) | None => false,
    }
}

fn workspaces<'a>(
    signals: impl Iterator<Item = &'a Signal>,
) -> Result<BTreeSet<WorkspaceId>, Error> {
    let parse = |signal: &Signal| {
        WorkspaceId::parse(&signal.workspace_id)
            .map_err(|why| Error::field("workspace_id", why.to_string()))
    };
    signals.map(parse).collect()
}

/// The newest that is said of each agent.
fn standings(signals: &[Signal]) -> Result<Vec<Change>, Error> {
    let mut newest: BTreeMap<(String, AgentId), Change> = BTreeMap::new();
    for signal in signals {
        let Some(Payload::StandingChanged(changed)) = &signal.payload else {
            continue;
        };
        let change = convert::signal::standing_from_wire(&signal.workspace_id, changed)?;
        let key = (change.workspace.clone(), change.agent);
        if newest.get(&key).is_none_or(|known| known.seq < change.seq) {
            newest.insert(key, change);
        }
    }
    Ok(newest.into_values().collect())
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

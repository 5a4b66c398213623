//! Spawns.

use cambium_genesis::{Capabilities, SpawnId, TemplateName};
use cambium_kernel::{AgentId, Failure as _, WorkspaceId};
use cambium_proto::genesis::v1 as wire;
use cambium_service_kit::principal::Principal;

use super::{agent_id, reason, template_name, time_to_wire, workspace};
use crate::error::Error;
use crate::store::spawn;

/// A wish for an agent.
#[derive(Clone, Debug)]
pub(crate) struct Spawn {
    pub(crate) workspace: WorkspaceId,
    /// None: the first that offers what is required.
    pub(crate) template: Option<TemplateName>,
    pub(crate) requires: Capabilities,
    /// As the body names it; who calls may be one itself.
    pub(crate) parent: Option<AgentId>,
    pub(crate) reason: String,
}

/// An operator's word on a spawn that waits.
#[derive(Clone, Debug)]
pub(crate) struct Decide {
    pub(crate) workspace: WorkspaceId,
    pub(crate) spawn: SpawnId,
    pub(crate) approve: bool,
    pub(crate) reason: String,
}

pub(crate) fn spawn_from_wire(
    caller: &Principal,
    request: &wire::SpawnRequest,
) -> Result<Spawn, Error> {
    let workspace = workspace(caller, &request.workspace_id)?;
    let parent = match request.parent_agent_id.as_str() {
        "" => None,
        id => Some(agent_id(id).map_err(|_| Error::field("parent_agent_id", "is not a UUID"))?),
    };
    let template = match request.template.as_str() {
        "" if request.requires.is_empty() => {
            return Err(Error::field("template", "is empty, as is `requires`"));
        }
        "" => None,
        name => Some(template_name("template", name)?),
    };
    Ok(Spawn {
        workspace,
        template,
        requires: requires(&request.requires)?,
        parent,
        reason: reason(&request.reason)?,
    })
}

/// Refused by the field that a spawn's request calls them.
fn requires(names: &[String]) -> Result<Capabilities, Error> {
    Capabilities::parse(names).map_err(|why| {
        let at = why.field().unwrap_or_default();
        let field = at.replacen("capabilities", "requires", 1);
        Error::field(field, why.to_string())
    })
}

pub(crate) fn decision_from_wire(
    caller: &Principal,
    request: &wire::DecideSpawnRequest,
) -> Result<Decide, Error> {
    let workspace = workspace(caller, &request.workspace_id)?;
    let spawn = request.spawn_id.parse();
    Ok(Decide {
        workspace,
        spawn: spawn.map_err(|_| Error::field("spawn_id", "is not a UUID"))?,
        approve: request.approve,
        reason: reason(&request.reason)?,
    })
}

pub(crate) fn spawn_to_wire(spawn: &spawn::Spawn) -> wire::Spawn {
    let decision = spawn.decision.as_ref();
    wire::Spawn {
        spawn_id: spawn.id.to_string(),
        template: spawn.template.to_string(),
        parent_agent_id: spawn.parent.map_or_else(String::new, |id| id.to_string()),
        reason: spawn.reason.clone(),
        requested_by: spawn.requested_by.clone(),
        state: state_to_wire(spawn.state).into(),
        request_time: Some(time_to_wire(spawn.requested_at)),
        agent_id: spawn.agent.map_or_else(String::new, |id| id.to_string()),
        decide_time: decision.map(|decision| time_to_wire(decision.at)),
        decided_by: decision.map_or_else(String::new, |decision| decision.by.clone()),
        decision_reason: decision.map_or_else(String::new, |decision| decision.reason.clone()),
    }
}

const fn state_to_wire(state: spawn::State) -> wire::SpawnState {
    match state {
        spawn::State::Pending => wire::SpawnState::Pending,
        spawn::State::Spawned => wire::SpawnState::Spawned,
        spawn::State::Denied => wire::SpawnState::Denied,
    }
}

/// The state that a list is filtered by; none for all.
pub(crate) fn state_from_wire(state: i32) -> Result<Option<spawn::State>, Error> {
    match wire::SpawnState::try_from(state) {
        Ok(wire::SpawnState::Unspecified) => Ok(None),
        Ok(wire::SpawnState::Pending) => Ok(Some(spawn::State::Pending)),
        Ok(wire::SpawnState::Spawned) => Ok(Some(spawn::State::Spawned)),
        Ok(wire::SpawnState::Denied) => Ok(Some(spawn::State::Denied)),
        Err(_) => Err(Error::field("state", "is unknown")),
    }
}

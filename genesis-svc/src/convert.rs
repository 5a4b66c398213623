//! Wire in, wire out: what passes here is whole, or it is refused by the name of its field.

mod page;
mod signal;

use cambium_genesis::{Agent, AgentName, Capabilities, State};
use cambium_kernel::{AgentId, WorkspaceId};
use cambium_proto::genesis::v1 as wire;
use cambium_service_kit::call;
use cambium_service_kit::principal::Principal;
use chrono::{DateTime, Utc};
use prost_types::Timestamp;

use crate::error::Error;

pub(crate) use page::{Page, page_to_wire};
pub(crate) use signal::{AGENT_SPAWNED, agent_spawned};

/// A wish to be known here.
#[derive(Clone, Debug)]
pub(crate) struct Enrollment {
    pub(crate) workspace: WorkspaceId,
    pub(crate) name: AgentName,
    pub(crate) capabilities: Capabilities,
}

/// How somebody names an agent.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    Id(AgentId),
    Name(AgentName),
}

pub(crate) fn enrollment_from_wire(
    caller: &Principal,
    request: &wire::EnrollAgentRequest,
) -> Result<Enrollment, Error> {
    Ok(Enrollment {
        workspace: call::workspace(caller, &request.workspace_id, "workspace_id")?,
        name: AgentName::parse(&request.name)?,
        capabilities: Capabilities::parse(&request.capabilities)?,
    })
}

pub(crate) fn which_from_wire(
    caller: &Principal,
    request: &wire::GetAgentRequest,
) -> Result<(WorkspaceId, Which), Error> {
    let workspace = call::workspace(caller, &request.workspace_id, "workspace_id")?;
    let which = match (request.agent_id.as_str(), request.name.as_str()) {
        ("", "") => return Err(Error::WhichAgent),
        (id, "") => Which::Id(id.parse().map_err(|_| Error::AgentIdMalformed)?),
        ("", name) => Which::Name(AgentName::parse(name)?),
        (_, _) => return Err(Error::WhichAgent),
    };
    Ok((workspace, which))
}

pub(crate) fn page_from_wire(
    caller: &Principal,
    request: &wire::ListAgentsRequest,
) -> Result<(WorkspaceId, Page), Error> {
    let workspace = call::workspace(caller, &request.workspace_id, "workspace_id")?;
    let page = Page::from_wire(&workspace, request.page_size, &request.page_token)?;
    Ok((workspace, page))
}

pub(crate) fn agent_to_wire(agent: &Agent) -> wire::Agent {
    wire::Agent {
        agent_id: agent.id.to_string(),
        workspace_id: agent.workspace.to_string(),
        name: agent.name.to_string(),
        capabilities: agent.capabilities.iter().map(str::to_owned).collect(),
        state: state_to_wire(agent.state).into(),
        enroll_time: Some(time_to_wire(agent.enrolled_at)),
        root_agent_id: agent.root.to_string(),
        ..wire::Agent::default()
    }
}

const fn state_to_wire(state: State) -> wire::AgentState {
    match state {
        State::Active => wire::AgentState::Active,
        State::Draining => wire::AgentState::Draining,
        State::Retired => wire::AgentState::Retired,
    }
}

fn time_to_wire(time: DateTime<Utc>) -> Timestamp {
    Timestamp {
        seconds: time.timestamp(),
        nanos: time.timestamp_subsec_nanos().cast_signed(),
    }
}

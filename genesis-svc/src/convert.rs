//! Wire in, wire out: what passes here is whole, or it is refused by the name of its field.

mod inheritance;
mod learning;
mod page;
mod signal;
mod spawn;
mod template;
mod yaml;

use std::collections::BTreeSet;

use cambium_genesis::{Agent, AgentName, Capabilities, Pattern, State, minds};
use cambium_kernel::{AgentId, Score, WorkspaceId};
use cambium_proto::genesis::v1 as wire;
use cambium_service_kit::call;
use cambium_service_kit::principal::Principal;
use chrono::{DateTime, Utc};
use prost_types::Timestamp;

use crate::error::Error;

pub(crate) use inheritance::{Inheritance, inherit, inherited_patterns, learnings_to_json};
pub(crate) use learning::{
    compost_to_wire, confirmation_to_wire, fared_to_wire, learning_id, learning_to_wire,
};
pub(crate) use page::{Page, cut};
pub(crate) use signal::{AGENT_RETIRED, AGENT_SPAWNED, agent_retired, agent_spawned, time_of};
pub(crate) use spawn::{
    Decide, Spawn, decision_from_wire, spawn_from_wire, spawn_to_wire, state_from_wire,
};
pub(crate) use template::{
    Put, config_to_wire, import_from_wire, put_from_wire, template_name, template_to_wire,
    version_number,
};
use yaml::from_yaml;
pub(crate) use yaml::to_yaml;

/// A reason of a person or a program: 1 to this many characters.
const MOST_REASON: usize = 500;

/// A wish to be known here.
#[derive(Clone, Debug)]
pub(crate) struct Enrollment {
    pub(crate) workspace: WorkspaceId,
    pub(crate) name: AgentName,
    pub(crate) capabilities: Capabilities,
    pub(crate) serves_minds: BTreeSet<String>,
}

/// How somebody names an agent.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    Id(AgentId),
    Name(AgentName),
}

/// A wish that an agent retires, and what it has to say.
#[derive(Clone, Debug)]
pub(crate) struct Retirement {
    pub(crate) workspace: WorkspaceId,
    pub(crate) agent: AgentId,
    pub(crate) failures: Vec<String>,
    pub(crate) hints: Vec<String>,
}

pub(crate) fn workspace(caller: &Principal, text: &str) -> Result<WorkspaceId, Error> {
    Ok(call::workspace(caller, text, "workspace_id")?)
}

pub(crate) fn enrollment_from_wire(
    caller: &Principal,
    request: &wire::EnrollAgentRequest,
) -> Result<Enrollment, Error> {
    Ok(Enrollment {
        workspace: workspace(caller, &request.workspace_id)?,
        name: AgentName::parse(&request.name)?,
        capabilities: Capabilities::parse(&request.capabilities)?,
        serves_minds: minds::parse(&request.serves_minds)?,
    })
}

pub(crate) fn which_from_wire(
    caller: &Principal,
    request: &wire::GetAgentRequest,
) -> Result<(WorkspaceId, Which), Error> {
    let workspace = workspace(caller, &request.workspace_id)?;
    let which = match (request.agent_id.as_str(), request.name.as_str()) {
        ("", "") => return Err(Error::WhichAgent),
        (id, "") => Which::Id(agent_id(id)?),
        ("", name) => Which::Name(AgentName::parse(name)?),
        (_, _) => return Err(Error::WhichAgent),
    };
    Ok((workspace, which))
}

pub(crate) fn agent_id(text: &str) -> Result<AgentId, Error> {
    text.parse().map_err(|_| Error::AgentIdMalformed)
}

pub(crate) fn retirement_from_wire(
    caller: &Principal,
    request: wire::RetireAgentRequest,
) -> Result<Retirement, Error> {
    let workspace = workspace(caller, &request.workspace_id)?;
    let agent = agent_id(&request.agent_id)?;
    Pattern::parse_all(&request.failure_patterns, &request.routing_hints)?;
    Ok(Retirement {
        workspace,
        agent,
        failures: request.failure_patterns,
        hints: request.routing_hints,
    })
}

/// Why somebody does something: 1 to 500 characters.
fn reason(text: &str) -> Result<String, Error> {
    let length = text.chars().count();
    if text.trim().is_empty() {
        return Err(Error::field("reason", "is empty: say why"));
    }
    if length > MOST_REASON {
        let why = format!("has {length} characters, over the limit of {MOST_REASON}");
        return Err(Error::field("reason", why));
    }
    if text.contains('\0') {
        return Err(Error::field("reason", "holds a NUL character"));
    }
    Ok(text.to_owned())
}

pub(crate) fn reason_from_wire(text: &str) -> Result<String, Error> {
    reason(text)
}

/// A number from 0 to 1, to the nearest millionth.
fn score(field: &str, number: f64) -> Result<Score, Error> {
    if !(0.0..=1.0).contains(&number) {
        return Err(Error::field(field, "is outside 0 to 1"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is from 0 to 1,000,000")]
    let millionths = (number * 1e6).round() as i32;
    Score::from_millionths(millionths).map_err(|why| Error::field(field, why.to_string()))
}

pub(crate) fn agent_to_wire(agent: &Agent) -> wire::Agent {
    let origin = agent.origin.as_ref();
    wire::Agent {
        agent_id: agent.id.to_string(),
        workspace_id: agent.workspace.to_string(),
        name: agent.name.to_string(),
        capabilities: agent.capabilities.iter().map(str::to_owned).collect(),
        state: state_to_wire(agent.state).into(),
        enroll_time: Some(time_to_wire(agent.enrolled_at)),
        template: origin.map_or_else(String::new, |origin| origin.template.to_string()),
        template_version: origin.map_or(0, |origin| origin.version),
        parent_agent_id: agent.parent.map_or_else(String::new, |id| id.to_string()),
        root_agent_id: agent.root.to_string(),
        serves_minds: agent.serves_minds.iter().cloned().collect(),
        generation: i32::try_from(agent.generation).unwrap_or(i32::MAX),
    }
}

pub(crate) fn kin_to_wire(agent: &Agent) -> wire::Kin {
    let agent = agent_to_wire(agent);
    wire::Kin {
        agent_id: agent.agent_id,
        name: agent.name,
        state: agent.state,
        generation: agent.generation,
        template: agent.template,
        template_version: agent.template_version,
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

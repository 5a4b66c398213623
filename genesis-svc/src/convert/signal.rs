//! The facts that genesis tells other services, and those it hears.

use cambium_genesis::Agent;
use cambium_kernel::{AgentId, SignalId, WorkspaceId};
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{AgentRetired, AgentSpawned, Signal, SignalClass};
use chrono::{DateTime, Utc};
use prost_types::Timestamp;

use super::{Inheritance, agent_to_wire, time_to_wire};

pub(crate) const AGENT_SPAWNED: &str = "coord.agent_spawned";
pub(crate) const AGENT_RETIRED: &str = "coord.agent_retired";

/// Says that the agent exists. True from its enrolment on.
pub(crate) fn agent_spawned(id: SignalId, agent: &Agent, inheritance: &Inheritance) -> Signal {
    let wire = agent_to_wire(agent);
    let told = AgentSpawned {
        agent_id: wire.agent_id,
        name: wire.name,
        capabilities: wire.capabilities,
        template: wire.template,
        template_version: wire.template_version,
        parent_agent_id: wire.parent_agent_id,
        root_agent_id: wire.root_agent_id,
        inherited_learnings: inheritance.to_wire(),
        serves_minds: wire.serves_minds,
    };
    coordination(
        id,
        AGENT_SPAWNED,
        &agent.workspace,
        agent.enrolled_at,
        Payload::AgentSpawned(told),
    )
}

/// Says that the agent takes no new work, or at last that its life is over.
pub(crate) fn agent_retired(
    id: SignalId,
    workspace: &WorkspaceId,
    agent: AgentId,
    draining: bool,
    now: DateTime<Utc>,
) -> Signal {
    let told = AgentRetired {
        agent_id: agent.to_string(),
        draining,
    };
    coordination(
        id,
        AGENT_RETIRED,
        workspace,
        now,
        Payload::AgentRetired(told),
    )
}

fn coordination(
    id: SignalId,
    kind: &str,
    workspace: &WorkspaceId,
    at: DateTime<Utc>,
    payload: Payload,
) -> Signal {
    Signal {
        signal_id: id.to_string(),
        r#type: kind.to_owned(),
        class: SignalClass::Coordination.into(),
        intensity: 1.0,
        workspace_id: workspace.to_string(),
        workflow_run_id: String::new(),
        source: "genesis".to_owned(),
        emit_time: Some(time_to_wire(at)),
        causal_depth: 0,
        traceparent: String::new(),
        payload: Some(payload),
    }
}

/// A moment that was told; none if it is none.
pub(crate) fn time_of(told: &Timestamp) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(told.seconds, u32::try_from(told.nanos).ok()?)
}

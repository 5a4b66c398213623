//! The facts that genesis tells other services.

use cambium_genesis::Agent;
use cambium_kernel::SignalId;
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{AgentSpawned, Signal, SignalClass};

use super::time_to_wire;

pub(crate) const AGENT_SPAWNED: &str = "coord.agent_spawned";

/// Says that the agent exists. True from its enrolment on.
pub(crate) fn agent_spawned(id: SignalId, agent: &Agent) -> Signal {
    Signal {
        signal_id: id.to_string(),
        r#type: AGENT_SPAWNED.to_owned(),
        class: SignalClass::Coordination.into(),
        intensity: 1.0,
        workspace_id: agent.workspace.to_string(),
        workflow_run_id: String::new(),
        source: "genesis".to_owned(),
        emit_time: Some(time_to_wire(agent.enrolled_at)),
        causal_depth: 0,
        traceparent: String::new(),
        payload: Some(Payload::AgentSpawned(AgentSpawned {
            agent_id: agent.id.to_string(),
            name: agent.name.to_string(),
            capabilities: agent.capabilities.iter().map(str::to_owned).collect(),
            // Nobody spawned it: it is the first of its line, and no template taught it.
            root_agent_id: agent.id.to_string(),
            ..AgentSpawned::default()
        })),
    }
}

//! Run events to the wire.

use cambium_hypha::Graph;
use cambium_proto::hypha::v1 as wire;

use super::{id, time_to_wire};
use crate::store::event::Event;

pub(crate) fn event_to_wire(graph: &Graph, event: &Event) -> wire::RunEvent {
    let transition = &event.transition;
    let task = transition
        .node
        .checked_sub(1)
        .map(|n| id::node(graph, n, transition.member));
    wire::RunEvent {
        seq: event.seq,
        at: Some(time_to_wire(event.at)),
        kind: transition.kind,
        task: task.unwrap_or_default(),
        epoch: transition.epoch,
        agent_id: transition
            .agent_id()
            .map(|agent| agent.to_string())
            .unwrap_or_default(),
        code: transition.code.clone(),
        detail: transition.detail.clone(),
        run_state: transition.run_state,
    }
}

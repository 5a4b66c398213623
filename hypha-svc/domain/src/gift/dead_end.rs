//! Who took and passed nothing on, at a run's end. Whoever was not free to do better is left out.

use std::collections::BTreeSet;

use cambium_kernel::AgentId;

use super::{Lineage, is_output, succeeded};
use crate::{EndState, Graph};

impl Lineage<'_> {
    /// Agents that consumed, none of whose outputs were consumed, and none of whose tasks is a sink that succeeded.
    ///
    /// Spares those whose output had a data edge to a task that did not succeed: that was not their doing. A node without
    /// any task counts as one that did not succeed. A task that was cancelled under its agent is no consumption: nobody let it
    /// give. A cancelled run has no dead ends. Sorted, each agent once.
    #[must_use]
    pub fn dead_ends(&self, graph: &Graph, cancelled: bool) -> Vec<AgentId> {
        if cancelled {
            return Vec::new();
        }
        let consumed = self
            .executions
            .iter()
            .filter(|execution| execution.state != EndState::Cancelled)
            .flat_map(|execution| &execution.consumed_by);
        let spared = self.spared(graph);
        let dead: BTreeSet<_> = consumed
            .filter(|agent| !spared.contains(agent))
            .copied()
            .collect();
        dead.into_iter().collect()
    }

    fn spared(&self, graph: &Graph) -> BTreeSet<AgentId> {
        let consumers = self.consumers();
        let all_succeeded = self.all_succeeded(graph);
        let excused = succeeded(self.executions).filter(|(at, execution)| {
            let out = graph.outgoing(execution.id.node);
            let let_down = |&edge: &u32| {
                let edge = &graph.edges()[edge as usize];
                edge.data && !all_succeeded[edge.to as usize]
            };
            out.is_empty() || consumers[*at] > 0 || out.iter().any(let_down)
        });
        excused
            .filter_map(|(_, execution)| execution.agent)
            .collect()
    }

    /// Of each node: whether it had tasks and all of them succeeded.
    fn all_succeeded(&self, graph: &Graph) -> Vec<bool> {
        let mut seen = vec![false; graph.nodes().len()];
        let mut all = vec![true; graph.nodes().len()];
        for execution in self.executions {
            let node = execution.id.node as usize;
            seen[node] = true;
            all[node] &= is_output(execution);
        }
        seen.into_iter()
            .zip(all)
            .map(|(seen, all)| seen && all)
            .collect()
    }
}

//! What of an ended run is done again, and what is taken over (design: hypha, section 3, `RerunFrom`).
//! Knows ends and edges; outputs and how a run starts are not its business.

use crate::{EndState, Graph};

/// How a node of the run to repeat ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    pub state: EndState,
    /// Of a failure: whether an edge that names `failed` fired from it. Of a cancelled task: whether it was the loser of a
    /// join, so that nobody waited for it.
    pub accepted: bool,
}

impl Ended {
    /// A task that was stopped has no result, and an unhandled failure would be the new run's too.
    const fn can_be_reused(self) -> bool {
        match self.state {
            EndState::Succeeded | EndState::Skipped | EndState::Omitted => true,
            EndState::Failed | EndState::Cancelled => self.accepted,
        }
    }
}

/// For each node in the graph's order, whether it is done again: those named, those that cannot be reused, and everything
/// downstream of either.
///
/// `ends` has one entry for each node.
#[must_use]
pub fn done_again(graph: &Graph, ends: &[Ended], named: &[u32]) -> Vec<bool> {
    let mut again: Vec<bool> = ends.iter().map(|end| !end.can_be_reused()).collect();
    again.resize(graph.nodes().len(), true);
    for node in named {
        again[*node as usize] = true;
    }
    let mut reached: Vec<u32> = (0..)
        .zip(&again)
        .filter(|(_, again)| **again)
        .map(|(n, _)| n)
        .collect();
    while let Some(node) = reached.pop() {
        for edge in graph.outgoing(node) {
            let to = graph.edges()[*edge as usize].to;
            if !std::mem::replace(&mut again[to as usize], true) {
                reached.push(to);
            }
        }
    }
    again
}

#[cfg(test)]
mod tests;

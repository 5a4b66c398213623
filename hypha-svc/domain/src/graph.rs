//! A checked graph of work. There is no way to hold one that breaks a rule: [`Graph::check`] is its only door.
//! Versions, names of stored graphs and their hashes are the service's.

mod build;
mod check;
mod condition;
mod cycle;
mod edges;
mod key;
mod nodes;
mod spec;

use std::collections::HashMap;

use cambium_kernel::Capability;

pub use key::NodeKey;
pub use spec::{EdgeSpec, JoinSpec, NodeSpec, RetrySpec, Spec};

use crate::gift::Metrics;
use crate::{Condition, EndStates, Error, Join, Path, Retry, Timeouts};

/// How many nodes a graph may have.
pub const MAX_NODES: usize = 50_000;
/// How many edges a graph may have.
pub const MAX_EDGES: usize = 500_000;
/// How many bytes of JSON a node may carry for its worker.
pub const MAX_CONFIG: usize = 64 * 1024;
/// How long a node's instructions may be, in bytes.
pub const MAX_INSTRUCTIONS: usize = 256 * 1024;
/// How many days a run may be kept past its end.
pub const MAX_RETAIN_DAYS: u32 = 3_660;
/// How deep JSON may be nested.
pub const MAX_DEPTH: usize = 64;

/// One piece of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub key: NodeKey,
    pub name: String,
    pub instructions: String,
    /// JSON in UTF-8, or nothing.
    pub config: Vec<u8>,
    /// Sorted and distinct.
    pub requires: Vec<Capability>,
    /// Sorted and distinct.
    pub prefers: Vec<Capability>,
    /// 0 is served first, 9 last.
    pub priority: u8,
    pub retry: Retry,
    pub timeouts: Timeouts,
    pub when: Option<Condition>,
    pub join: Join,
    /// Once it starts, upstream tasks whose output no node waits for any more are cancelled.
    pub cancel_losers: bool,
    pub fan_out: Option<Path>,
    /// Empty: none is named.
    pub spawn_template: String,
}

/// That one node waits for another.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    /// Whether the output is handed on.
    pub data: bool,
    /// Never empty.
    pub on: EndStates,
    pub when: Option<Condition>,
}

/// A directed acyclic graph of work. Nodes and edges are named by their place in the order in which they were given.
#[derive(Debug)]
pub struct Graph {
    // INVARIANT: acyclic; edges lead between nodes that are here, no two of them between the same nodes; every
    // condition and path names neighbours upstream. `check` is the only constructor.
    name: String,
    fail_fast: bool,
    retain_days: u32,
    fair_key: String,
    spawn: bool,
    cancels_losers: bool,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    index: HashMap<NodeKey, u32>,
    incoming: Neighbours,
    outgoing: Neighbours,
    gift: Option<Metrics>,
}

/// A graph that was accepted, and what in it deserves a look.
#[derive(Debug)]
pub struct Checked {
    pub graph: Graph,
    pub warnings: Vec<String>,
}

impl Graph {
    /// Accepts or refuses a graph as a whole. An error names every offender of the first kind that is found.
    pub fn check(spec: Spec) -> Result<Checked, Error> {
        check::check(spec)
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether an unhandled failure ends the run early.
    #[must_use]
    pub const fn fail_fast(&self) -> bool {
        self.fail_fast
    }

    /// How many days a run is kept past its end.
    #[must_use]
    pub const fn retain_days(&self) -> u32 {
        self.retain_days
    }

    /// The key that its runs share a turn by; empty: each has its own.
    #[must_use]
    pub fn fair_key(&self) -> &str {
        &self.fair_key
    }

    /// Whether agents may be spawned for work that nobody can do.
    #[must_use]
    pub const fn spawns(&self) -> bool {
        self.spawn
    }

    /// Whether any node cancels upstream tasks that nobody waits for any more.
    #[must_use]
    pub const fn cancels_losers(&self) -> bool {
        self.cancels_losers
    }

    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The edges into a node, as places in [`Graph::edges`].
    #[must_use]
    pub fn incoming(&self, node: u32) -> &[u32] {
        self.incoming.of(node)
    }

    /// The edges out of a node, as places in [`Graph::edges`].
    #[must_use]
    pub fn outgoing(&self, node: u32) -> &[u32] {
        self.outgoing.of(node)
    }

    #[must_use]
    pub fn index_of(&self, key: &str) -> Option<u32> {
        self.index.get(key).copied()
    }

    /// Nodes without edges into them: ready at the start.
    pub fn roots(&self) -> impl Iterator<Item = u32> {
        (0..)
            .zip(&self.nodes)
            .map(|(node, _)| node)
            .filter(|&node| self.incoming(node).is_empty())
    }

    /// Whether nothing but the success of everything upstream decides that a node runs.
    #[must_use]
    pub fn is_plain(&self, node: u32) -> bool {
        self.nodes[node as usize].join == Join::All
            && self.incoming(node).iter().all(|&edge| {
                let edge = &self.edges[edge as usize];
                edge.on.only_succeeded() && edge.when.is_none()
            })
    }

    /// Whether a node that its edges allow to run has more to decide: a condition, a list to go over, a join by condition.
    #[must_use]
    pub fn needs_decision(&self, node: u32) -> bool {
        let node = &self.nodes[node as usize];
        node.when.is_some() || node.fan_out.is_some() || matches!(node.join, Join::Expr(_))
    }

    /// The metrics of a run in which every task succeeds, where the graph alone decides them.
    ///
    /// `None` as soon as anything could keep an output from travelling: a data-less edge, an edge that success does not
    /// fire, a condition, a fan-out, a join other than `all`.
    #[must_use]
    pub const fn static_gift(&self) -> Option<Metrics> {
        self.gift
    }
}

/// The edges at each node, one list behind the other.
#[derive(Debug)]
struct Neighbours {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Neighbours {
    fn of(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.edges[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

#[cfg(test)]
mod tests;

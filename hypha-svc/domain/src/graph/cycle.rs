//! Finds nodes that wait on one another.

use std::collections::VecDeque;

use petgraph::algo::{kosaraju_scc, toposort};
use petgraph::graph::{DiGraph, NodeIndex};

use super::edges::Link;
use super::{NodeKey, NodeSpec};
use crate::Error;

/// Refuses a graph with a cycle and lists one, as short as there is through its first node.
pub(super) fn refuse(nodes: &[NodeSpec], links: &[Link]) -> Result<(), Error> {
    let mut graph = DiGraph::<(), ()>::with_capacity(nodes.len(), links.len());
    for _ in nodes {
        graph.add_node(());
    }
    for link in links {
        graph.add_edge(
            NodeIndex::new(link.from as usize),
            NodeIndex::new(link.to as usize),
            (),
        );
    }
    if toposort(&graph, None).is_ok() {
        return Ok(());
    }
    let key = |node: NodeIndex| NodeKey::parse(&nodes[node.index()].key);
    Err(Error::Cycle(
        cycle(&graph)
            .into_iter()
            .map(key)
            .collect::<Result<_, _>>()?,
    ))
}

/// A cycle through the earliest node that is on any.
// Kosaraju's search rather than Tarjan's: petgraph's Tarjan recurses, and a long chain would overflow the stack.
fn cycle(graph: &DiGraph<(), ()>) -> Vec<NodeIndex> {
    let tangles = kosaraju_scc(graph)
        .into_iter()
        .filter(|tangle| tangle.len() > 1);
    let start = tangles.flatten().min();
    start
        .map(|start| shortest_way_back(graph, start))
        .unwrap_or_default()
}

/// Breadth first from `start` until an edge leads back to it.
fn shortest_way_back(graph: &DiGraph<(), ()>, start: NodeIndex) -> Vec<NodeIndex> {
    let mut parent = vec![None; graph.node_count()];
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for next in graph.neighbors(node) {
            if next == start {
                let walk = std::iter::successors(Some(node), |at| parent[at.index()]);
                let mut cycle: Vec<_> = walk.collect();
                cycle.reverse();
                return cycle;
            }
            if parent[next.index()].is_none() {
                parent[next.index()] = Some(node);
                queue.push_back(next);
            }
        }
    }
    Vec::new()
}

//! Puts a graph together from parts that were checked.

use std::collections::HashMap;

use cambium_kernel::Capability;
use chrono::TimeDelta;

use super::condition::Compiled;
use super::edges::Link;
use super::{
    Edge, EdgeSpec, Graph, JoinSpec, Neighbours, Node, NodeKey, NodeSpec, RetrySpec, Spec,
};
use crate::gift::{Execution, Lineage, Metrics, TaskRef};
use crate::{Condition, EndState, Error, Join, Retry};

pub(super) fn build(
    spec: Spec,
    index: HashMap<NodeKey, u32>,
    links: Vec<Link>,
    mut compiled: Compiled,
) -> Result<Graph, Error> {
    let edges = links
        .iter()
        .map(|link| edge(*link, &spec.edges, &mut compiled))
        .collect::<Vec<_>>();
    let nodes = spec.nodes.into_iter().enumerate();
    let nodes = nodes
        .map(|(at, it)| node(at, it, &mut compiled))
        .collect::<Result<Vec<_>, _>>()?;
    let incoming = Neighbours::new(nodes.len(), edges.iter().map(|edge| edge.to));
    let outgoing = Neighbours::new(nodes.len(), edges.iter().map(|edge| edge.from));
    let mut graph = Graph {
        name: spec.name,
        fail_fast: spec.fail_fast,
        retain_days: spec.retain_days,
        fair_key: spec.fair_key,
        spawn: spec.spawn,
        cancels_losers: nodes.iter().any(|node| node.cancel_losers),
        nodes,
        edges,
        index,
        incoming,
        outgoing,
        gift: None,
    };
    graph.gift = gift(&graph);
    Ok(graph)
}

fn edge(link: Link, specs: &[EdgeSpec], compiled: &mut Compiled) -> Edge {
    let spec = &specs[link.spec];
    Edge {
        from: link.from,
        to: link.to,
        data: spec.data,
        on: spec.on,
        when: compiled.edges.remove(&link.spec),
    }
}

fn node(at: usize, spec: NodeSpec, compiled: &mut Compiled) -> Result<Node, Error> {
    Ok(Node {
        key: NodeKey::parse(&spec.key)?,
        name: spec.name,
        instructions: spec.instructions,
        config: spec.config,
        requires: capabilities(&spec.requires),
        prefers: capabilities(&spec.prefers),
        priority: u8::try_from(spec.priority).unwrap_or(u8::MAX),
        retry: retry(spec.retry),
        timeouts: spec.timeouts,
        when: compiled.whens.remove(&at),
        join: join(spec.join, compiled.joins.remove(&at)),
        cancel_losers: spec.cancel_losers,
        fan_out: compiled.fan_outs.remove(&at),
        spawn_template: spec.spawn_template,
    })
}

/// Sorted and distinct. Each was checked before.
fn capabilities(texts: &[String]) -> Vec<Capability> {
    let parsed = texts.iter().flat_map(|text| Capability::parse(text));
    let mut capabilities: Vec<_> = parsed.collect();
    capabilities.sort_unstable();
    capabilities.dedup();
    capabilities
}

fn retry(spec: RetrySpec) -> Retry {
    let usual = Retry::default();
    let span = |ms: Option<u32>, usual| ms.map_or(usual, |ms| TimeDelta::milliseconds(ms.into()));
    Retry {
        max_attempts: spec.max_attempts.unwrap_or(usual.max_attempts),
        initial: span(spec.initial_ms, usual.initial),
        factor_milli: spec.factor_milli.unwrap_or(usual.factor_milli),
        cap: span(spec.cap_ms, usual.cap),
        non_retryable: spec.non_retryable,
    }
}

fn join(spec: JoinSpec, condition: Option<Condition>) -> Join {
    match spec {
        JoinSpec::All => Join::All,
        JoinSpec::Any => Join::Any,
        JoinSpec::Settled => Join::Settled,
        JoinSpec::Quorum(needed) => Join::Quorum(needed),
        JoinSpec::Expr(_) => Join::Expr(condition.expect("every join's condition was compiled")),
    }
}

impl Neighbours {
    /// Groups edges, given in order by the node they belong to.
    fn new(nodes: usize, owners: impl Iterator<Item = u32> + Clone) -> Self {
        let mut starts = vec![0_u32; nodes + 1];
        for owner in owners.clone() {
            starts[owner as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut edges = vec![0; starts[nodes] as usize];
        for (edge, owner) in (0..).zip(owners) {
            let place = &mut next[owner as usize];
            edges[*place as usize] = edge;
            *place += 1;
        }
        Self { starts, edges }
    }
}

fn gift(graph: &Graph) -> Option<Metrics> {
    let nodes_are_plain = graph
        .nodes
        .iter()
        .all(|node| node.join == Join::All && node.when.is_none() && node.fan_out.is_none());
    let edges_carry = graph
        .edges
        .iter()
        .all(|edge| edge.data && edge.when.is_none() && edge.on.contains(EndState::Succeeded));
    let executions = || {
        (0..)
            .zip(&graph.nodes)
            .map(|(node, _)| success(graph, node))
    };
    (nodes_are_plain && edges_carry)
        .then(|| Lineage::of(&executions().collect::<Vec<_>>()).compute_metrics())
}

fn success(graph: &Graph, node: u32) -> Execution {
    let sources = graph
        .incoming(node)
        .iter()
        .map(|&edge| graph.edges[edge as usize].from);
    Execution {
        id: TaskRef::node(node),
        state: EndState::Succeeded,
        agent: None,
        sources: sources.map(TaskRef::node).collect(),
        consumed_by: Vec::new(),
    }
}

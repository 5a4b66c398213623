//! Graphs between the wire, their canonical form and the domain.

use cambium_hypha::graph::{EdgeSpec, JoinSpec, NodeSpec, RetrySpec, Spec};
use cambium_hypha::{EndState, EndStates, Timeouts};
use cambium_proto::hypha::v1 as wire;
use chrono::TimeDelta;
use prost::Message;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::store::graph::Version;

/// Turns a graph into its unchecked domain form; the domain checks it.
pub(crate) fn spec_from_wire(graph: &wire::Graph) -> Result<Spec, Error> {
    crate::convert::name("graph.name", &graph.name)?;
    let nodes = graph.nodes.iter().enumerate();
    let edges = graph.edges.iter().enumerate();
    Ok(Spec {
        name: graph.name.clone(),
        nodes: nodes
            .map(|(at, node)| node_from_wire(at, node))
            .collect::<Result<_, _>>()?,
        edges: edges
            .map(|(at, edge)| edge_from_wire(at, edge))
            .collect::<Result<_, _>>()?,
        fail_fast: graph.fail_fast.unwrap_or(true),
        retain_days: graph.retain_days.unwrap_or(Spec::RETAIN_DAYS),
        fair_key: graph.fair_key.clone(),
        spawn: graph.spawn,
    })
}

fn node_from_wire(at: usize, node: &wire::Node) -> Result<NodeSpec, Error> {
    let optional = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Ok(NodeSpec {
        name: node.name.clone(),
        instructions: node.instructions.clone(),
        config: node.config.to_vec(),
        requires: node.requires.clone(),
        prefers: node.prefers.clone(),
        priority: node.priority.unwrap_or(NodeSpec::PRIORITY),
        retry: retry_from_wire(node.retry.as_ref()),
        timeouts: timeouts_from_wire(at, node.timeouts.as_ref())?,
        when: optional(&node.when),
        join: join_from_wire(at, node.join.as_ref())?,
        cancel_losers: node.join.as_ref().is_some_and(|join| join.cancel_losers),
        fan_out: node.fan_out.as_ref().map(|fan_out| fan_out.over.clone()),
        spawn_template: node.spawn_template.clone(),
        ..NodeSpec::new(&node.key)
    })
}

fn retry_from_wire(retry: Option<&wire::Retry>) -> RetrySpec {
    retry.map_or_else(RetrySpec::default, |retry| RetrySpec {
        max_attempts: retry.max_attempts,
        initial_ms: retry.initial_ms,
        factor_milli: retry.factor_milli,
        cap_ms: retry.cap_ms,
        non_retryable: retry.non_retryable.clone(),
    })
}

fn timeouts_from_wire(at: usize, timeouts: Option<&wire::Timeouts>) -> Result<Timeouts, Error> {
    let Some(timeouts) = timeouts else {
        return Ok(Timeouts::default());
    };
    let one = |name: &str, value: Option<u64>| {
        let Some(value) = value else {
            return Ok(None);
        };
        // A century bounds what dates can hold.
        let millis = i64::try_from(value).ok();
        let millis = millis.filter(|value| (1..=3_155_760_000_000).contains(value));
        let field = format!("graph.nodes[{at}].timeouts.{name}");
        millis
            .map(|millis| Some(TimeDelta::milliseconds(millis)))
            .ok_or_else(|| Error::field(field, "is outside 1 ms to 100 years"))
    };
    Ok(Timeouts {
        queue: one("queue_ms", timeouts.queue_ms)?,
        run: one("run_ms", timeouts.run_ms)?,
        total: one("total_ms", timeouts.total_ms)?,
    })
}

fn join_from_wire(at: usize, join: Option<&wire::Join>) -> Result<JoinSpec, Error> {
    let Some(join) = join else {
        return Ok(JoinSpec::All);
    };
    Ok(match join.kind() {
        wire::JoinKind::All => JoinSpec::All,
        wire::JoinKind::Any => JoinSpec::Any,
        wire::JoinKind::Settled => JoinSpec::Settled,
        wire::JoinKind::Quorum => JoinSpec::Quorum(join.needed),
        wire::JoinKind::Expr => JoinSpec::Expr(join.expr.clone()),
        wire::JoinKind::Unspecified => {
            let field = format!("graph.nodes[{at}].join.kind");
            return Err(Error::field(field, "is not set, or unknown"));
        }
    })
}

fn edge_from_wire(at: usize, edge: &wire::Edge) -> Result<EdgeSpec, Error> {
    let mut on = EndStates::default();
    if !edge.on.is_empty() {
        let states: Result<Vec<EndState>, Error> = edge
            .on()
            .map(|state| {
                end_state_from_wire(state).ok_or_else(|| {
                    let field = format!("graph.edges[{at}].on");
                    Error::field(field, "names something that is no end state")
                })
            })
            .collect();
        on = EndStates::of(&states?);
    }
    Ok(EdgeSpec {
        data: edge.data.unwrap_or(true),
        on,
        when: (!edge.when.is_empty()).then(|| edge.when.clone()),
        ..EdgeSpec::new(&edge.from, &edge.to)
    })
}

pub(crate) fn end_state_from_wire(state: wire::TaskState) -> Option<EndState> {
    match state {
        wire::TaskState::Succeeded => Some(EndState::Succeeded),
        wire::TaskState::Failed => Some(EndState::Failed),
        wire::TaskState::Skipped => Some(EndState::Skipped),
        wire::TaskState::Omitted => Some(EndState::Omitted),
        wire::TaskState::Cancelled => Some(EndState::Cancelled),
        wire::TaskState::Unspecified
        | wire::TaskState::Waiting
        | wire::TaskState::Ready
        | wire::TaskState::Running
        | wire::TaskState::BackingOff
        | wire::TaskState::Parked => None,
    }
}

/// A graph's content in the one form that is hashed and stored: defaults spelt out where the wire leaves a choice,
/// capabilities and end states sorted. The order of nodes and edges is content: people see it.
pub(crate) fn canonical(graph: &wire::Graph) -> (Vec<u8>, Vec<u8>) {
    let mut graph = graph.clone();
    graph.name.clear();
    graph.fail_fast = Some(graph.fail_fast.unwrap_or(true));
    // Left out at its default: what was stored before there was a choice keeps its hash.
    graph.retain_days = graph.retain_days.filter(|days| *days != Spec::RETAIN_DAYS);
    for node in &mut graph.nodes {
        for capabilities in [&mut node.requires, &mut node.prefers] {
            capabilities.sort();
            capabilities.dedup();
        }
        node.priority = Some(node.priority.unwrap_or(NodeSpec::PRIORITY));
        if node
            .join
            .as_ref()
            .is_some_and(|join| join.kind() == wire::JoinKind::All && !join.cancel_losers)
        {
            node.join = None;
        }
    }
    for edge in &mut graph.edges {
        edge.data = Some(edge.data.unwrap_or(true));
        if edge.on.is_empty() {
            edge.on.push(wire::TaskState::Succeeded.into());
        }
        edge.on.sort_unstable();
        edge.on.dedup();
    }
    let mut seen = std::collections::HashSet::new();
    graph.edges.retain(|edge| seen.insert(edge.encode_to_vec()));
    let spec = graph.encode_to_vec();
    let hash = Sha256::digest(&spec).to_vec();
    (hash, spec)
}

/// Reads a stored content back.
pub(crate) fn from_stored(spec: &[u8], name: &str) -> Result<wire::Graph, sqlx::Error> {
    let mut graph =
        wire::Graph::decode(spec).map_err(|fault| sqlx::Error::Decode(Box::new(fault)))?;
    name.clone_into(&mut graph.name);
    Ok(graph)
}

pub(crate) fn version_to_wire(version: &Version) -> wire::GraphVersion {
    wire::GraphVersion {
        name: version.name.clone(),
        version: u32::try_from(version.version).unwrap_or(0),
        hash: hex(&version.hash),
        nodes: u32::try_from(version.nodes).unwrap_or(0),
        edges: u32::try_from(version.edges).unwrap_or(0),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// What a queue is made of.
pub(crate) fn requires(node: &cambium_hypha::graph::Node) -> Vec<String> {
    node.requires.iter().map(ToString::to_string).collect()
}

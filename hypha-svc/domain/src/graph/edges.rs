//! What edges may join, and that no two join the same nodes.

use std::collections::{BTreeSet, HashMap};

use super::check::{at_edge, at_node, none};
use super::{EdgeSpec, JoinSpec, NodeKey, NodeSpec};
use crate::Error;

const MAX_WARNINGS: usize = 20;

/// An edge that stays, by the places of its nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) from: u32,
    pub(super) to: u32,
    /// Its place in the spec.
    pub(super) spec: usize,
}

/// Finds the nodes of every edge and merges edges that were given twice.
pub(super) fn link(
    edges: &[EdgeSpec],
    index: &HashMap<NodeKey, u32>,
) -> Result<(Vec<Link>, Vec<String>), Error> {
    let places = || edges.iter().enumerate();
    let ends = |edge: &EdgeSpec| [("from", edge.from.clone()), ("to", edge.to.clone())];
    let unknown = places().flat_map(|(at, edge)| {
        let missing = ends(edge)
            .into_iter()
            .filter(|(_, key)| !index.contains_key(key.as_str()));
        missing.map(move |(end, key)| at_edge(at, &format!(".{end}"), key))
    });
    none(unknown, Error::UnknownNode)?;
    let loops = places().filter(|(_, edge)| edge.from == edge.to);
    none(
        loops.map(|(at, edge)| at_edge(at, "", &edge.from)),
        Error::SelfEdge,
    )?;
    let never = places().filter(|(_, edge)| edge.on.is_empty());
    none(
        never.map(|(at, edge)| at_edge(at, ".on", arrow(edge))),
        Error::EdgeNeverFires,
    )?;
    merge(edges, index)
}

fn merge(
    edges: &[EdgeSpec],
    index: &HashMap<NodeKey, u32>,
) -> Result<(Vec<Link>, Vec<String>), Error> {
    let mut first = HashMap::with_capacity(edges.len());
    let mut links = Vec::with_capacity(edges.len());
    let (mut merged, mut conflicts) = (BTreeSet::new(), Vec::new());
    for (at, edge) in edges.iter().enumerate() {
        let (from, to) = (index[edge.from.as_str()], index[edge.to.as_str()]);
        let earlier = *first.entry((from, to)).or_insert(at);
        if earlier == at {
            links.push(Link { from, to, spec: at });
        } else if edges[earlier] == *edge {
            merged.insert(earlier);
        } else {
            conflicts.push(at_edge(at, "", arrow(edge)));
        }
    }
    none(conflicts, Error::EdgeConflict)?;
    Ok((links, warnings(edges, &merged)))
}

/// Names the edges that were merged, as far as anybody will read on.
fn warnings(edges: &[EdgeSpec], merged: &BTreeSet<usize>) -> Vec<String> {
    let said = |&at: &usize| {
        format!(
            "edge {} was given again and is kept once",
            arrow(&edges[at])
        )
    };
    let mut warnings: Vec<_> = merged.iter().take(MAX_WARNINGS).map(said).collect();
    if merged.len() > MAX_WARNINGS {
        let more = merged.len() - MAX_WARNINGS;
        warnings.push(format!(
            "{more} more edges were given again and are kept once"
        ));
    }
    warnings
}

fn arrow(edge: &EdgeSpec) -> String {
    format!("{} -> {}", edge.from, edge.to)
}

/// A quorum is reachable, and never reached by nothing.
pub(super) fn quorums(nodes: &[NodeSpec], links: &[Link]) -> Result<(), Error> {
    let mut incoming = vec![0_u32; nodes.len()];
    for link in links {
        incoming[link.to as usize] += 1;
    }
    let offenders = nodes
        .iter()
        .zip(incoming)
        .enumerate()
        .filter_map(|(at, (node, edges))| {
            let JoinSpec::Quorum(needed) = node.join else {
                return None;
            };
            let what = format!("asks for {needed} of {edges} edges into `{}`", node.key);
            (needed == 0 || needed > edges).then(|| at_node(at, "join.needed", what))
        });
    none(offenders, Error::Quorum)
}

//! What every graph must be before anybody runs it. The server asks the same again: it cannot trust a caller.

use std::collections::{BTreeSet, HashMap, HashSet};

use cambium_proto::hypha::v1::{Edge, Graph};

use crate::{Error, keys};

const MAX_NODES: usize = 50_000;
const MAX_EDGES: usize = 500_000;

/// Refuses what cannot run, naming the offenders, and merges edges that are given twice alike.
pub(crate) fn graph(mut graph: Graph) -> Result<Graph, Error> {
    size(&graph)?;
    unique_keys(&graph)?;
    known_ends(&graph)?;
    refuse(
        graph
            .edges
            .iter()
            .filter(|edge| edge.from == edge.to)
            .map(|edge| edge.from.clone()),
        Error::SelfEdges,
    )?;
    graph.edges = merged(graph.edges)?;
    match cycle(&graph) {
        Some(cycle) => Err(Error::Cycle(cycle)),
        None => Ok(graph),
    }
}

/// Refuses with the offenders, sorted and each once, if there are any.
fn refuse(
    offenders: impl Iterator<Item = String>,
    error: fn(Vec<String>) -> Error,
) -> Result<(), Error> {
    let offenders: BTreeSet<String> = offenders.collect();
    if offenders.is_empty() {
        Ok(())
    } else {
        Err(error(offenders.into_iter().collect()))
    }
}

fn size(graph: &Graph) -> Result<(), Error> {
    let (nodes, edges) = (graph.nodes.len(), graph.edges.len());
    if nodes == 0 {
        return Err(Error::Empty);
    }
    if nodes > MAX_NODES {
        return Err(Error::TooLarge {
            what: "nodes",
            count: nodes,
            limit: MAX_NODES,
        });
    }
    if edges > MAX_EDGES {
        return Err(Error::TooLarge {
            what: "edges",
            count: edges,
            limit: MAX_EDGES,
        });
    }
    Ok(())
}

fn unique_keys(graph: &Graph) -> Result<(), Error> {
    let keys = || graph.nodes.iter().map(|node| node.key.clone());
    refuse(keys().filter(|key| !keys::is_key(key)), Error::KeysInvalid)?;
    let mut seen = HashSet::new();
    refuse(
        keys().filter(|key| !seen.insert(key.clone())),
        Error::KeysDuplicate,
    )
}

fn known_ends(graph: &Graph) -> Result<(), Error> {
    let known: HashSet<&str> = graph.nodes.iter().map(|node| node.key.as_str()).collect();
    let ends = graph.edges.iter().flat_map(|edge| [&edge.from, &edge.to]);
    refuse(
        ends.filter(|end| !known.contains(end.as_str())).cloned(),
        Error::UnknownReferences,
    )
}

fn merged(edges: Vec<Edge>) -> Result<Vec<Edge>, Error> {
    let mut places: HashMap<(String, String), usize> = HashMap::new();
    let mut kept: Vec<Edge> = Vec::with_capacity(edges.len());
    let mut conflicts = Vec::new();
    for edge in edges {
        match places.get(&(edge.from.clone(), edge.to.clone())) {
            Some(&place) if kept[place] == edge => {}
            Some(_) => conflicts.push(format!("{} -> {}", edge.from, edge.to)),
            None => {
                places.insert((edge.from.clone(), edge.to.clone()), kept.len());
                kept.push(edge);
            }
        }
    }
    refuse(conflicts.into_iter(), Error::EdgesConflict)?;
    Ok(kept)
}

/// One cycle, in the order of its edges, if there is any.
///
/// Takes nodes without upstream away until none is left; whatever stays has an upstream that
/// stayed, so a walk against the edges must come round. No recursion: a chain may be 50,000 long.
fn cycle(graph: &Graph) -> Option<Vec<String>> {
    let place: HashMap<&str, usize> = graph
        .nodes
        .iter()
        .enumerate()
        .map(|(index, node)| (node.key.as_str(), index))
        .collect();
    let mut upstream = vec![Vec::new(); graph.nodes.len()];
    let mut downstream = vec![Vec::new(); graph.nodes.len()];
    for edge in &graph.edges {
        let (from, to) = (
            *place.get(edge.from.as_str())?,
            *place.get(edge.to.as_str())?,
        );
        upstream[to].push(from);
        downstream[from].push(to);
    }
    let mut open: Vec<usize> = upstream.iter().map(Vec::len).collect();
    let mut free: Vec<usize> = (0..open.len()).filter(|&node| open[node] == 0).collect();
    while let Some(node) = free.pop() {
        for &next in &downstream[node] {
            open[next] -= 1;
            if open[next] == 0 {
                free.push(next);
            }
        }
    }
    let start = open.iter().position(|&left| left > 0)?;
    let walk = walk_back(start, |node| {
        upstream[node].iter().copied().find(|&from| open[from] > 0)
    });
    Some(
        walk.into_iter()
            .map(|node| graph.nodes[node].key.clone())
            .collect(),
    )
}

/// Follows `back` until a node comes again; what lies between is the cycle, turned to run forwards.
fn walk_back(start: usize, back: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let mut seen_at = HashMap::new();
    let mut walk = Vec::new();
    let mut node = start;
    loop {
        if let Some(&first) = seen_at.get(&node) {
            walk.drain(..first);
            walk.reverse();
            return walk;
        }
        seen_at.insert(node, walk.len());
        walk.push(node);
        match back(node) {
            Some(from) => node = from,
            None => return walk,
        }
    }
}

#[cfg(test)]
mod tests;

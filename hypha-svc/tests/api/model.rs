//! What a run must come to, by the truth table alone: one node after the other, once everything upstream has ended.
//! Shares no rule with the engine, so that the two can be held against each other. Knows no time, no retries, no
//! fan-out and no fail-fast, and conditions only where they look into no document.

use cambium_hypha::condition::Scope;
use cambium_hypha::{Condition, EndState, Graph, Join};

/// What has become of one edge once its upstream ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Fired,
    Dead,
    /// Its condition has no answer.
    Broken,
}

/// The end state of every node, if `outcome` says how each node that runs ends.
pub(crate) fn simulate(graph: &Graph, outcome: impl Fn(u32) -> EndState) -> Vec<EndState> {
    let mut ends = vec![None; graph.nodes().len()];
    for node in 0..ends.len() {
        settle(graph, &outcome, node, &mut ends);
    }
    ends.into_iter().flatten().collect()
}

/// Ends everything upstream of a node, then the node.
fn settle(
    graph: &Graph,
    outcome: &impl Fn(u32) -> EndState,
    node: usize,
    ends: &mut Vec<Option<EndState>>,
) -> EndState {
    if let Some(end) = ends[node] {
        return end;
    }
    let place = u32::try_from(node).expect("graphs are smaller");
    let mut upstream = Vec::new();
    let mut fates = Vec::new();
    for &edge in graph.incoming(place) {
        let edge = &graph.edges()[edge as usize];
        let end = settle(graph, outcome, edge.from as usize, ends);
        upstream.push((graph.nodes()[edge.from as usize].key.as_str(), end));
        fates.push(match answer(edge.when.as_ref(), &Scope::default()) {
            _ if !edge.on.contains(end) => Fate::Dead,
            Some(true) => Fate::Fired,
            Some(false) => Fate::Dead,
            None => Fate::Broken,
        });
    }
    let end = decide(graph, place, &upstream, &fates).unwrap_or_else(|| outcome(place));
    ends[node] = Some(end);
    end
}

/// How a node ends without running; nothing if it runs.
fn decide(
    graph: &Graph,
    place: u32,
    upstream: &[(&str, EndState)],
    fates: &[Fate],
) -> Option<EndState> {
    let node = &graph.nodes()[place as usize];
    let fired = fates.iter().filter(|&&fate| fate == Fate::Fired).count();
    let states = Scope {
        states: upstream,
        ..Scope::default()
    };
    let may_run = match &node.join {
        _ if fates.is_empty() => Some(true),
        _ if fates.contains(&Fate::Broken) => None,
        Join::All => Some(fired == fates.len()),
        Join::Any | Join::Settled => Some(fired > 0),
        Join::Quorum(needed) => Some(fired >= *needed as usize),
        Join::Expr(condition) => answer(Some(condition), &states),
    };
    match (may_run, answer(node.when.as_ref(), &Scope::default())) {
        (None, _) | (Some(true), None) => Some(EndState::Failed),
        (Some(false), _) => Some(EndState::Omitted),
        (Some(true), Some(false)) => Some(EndState::Skipped),
        (Some(true), Some(true)) => None,
    }
}

/// Whether a condition holds, one that is not there does, and nothing if it has no answer.
fn answer(condition: Option<&Condition>, scope: &Scope<'_>) -> Option<bool> {
    condition.map_or(Some(true), |condition| condition.evaluate(scope).ok())
}

//! What a run's edges say of their ends: which fire, and whose outputs a task takes. Reads the pinned graph only.

use cambium_hypha::EndState;
use cambium_hypha::condition::Scope;

use super::cache::RunInfo;
use super::op::EdgeOutcome;

/// What the edges out of a node say once it has ended.
pub(crate) fn edge_outcomes(
    info: &RunInfo,
    n: u32,
    state: EndState,
    output: Option<&[u8]>,
) -> Vec<EdgeOutcome> {
    let graph = info.graph();
    let outgoing = graph.outgoing(n).iter();
    outgoing
        .map(|edge| {
            let edge = &graph.edges()[*edge as usize];
            if !edge.on.contains(state) {
                return EdgeOutcome::Dead;
            }
            let Some(when) = &edge.when else {
                return EdgeOutcome::Fired;
            };
            let scope = Scope {
                input: Some(&info.input),
                inputs: &[],
                output: Some(output.unwrap_or_default()),
                states: &[],
            };
            match when.evaluate(&scope) {
                Ok(true) => EdgeOutcome::Fired,
                Ok(false) => EdgeOutcome::Dead,
                Err(fault) => EdgeOutcome::Fault(fault.to_string()),
            }
        })
        .collect()
}

/// The upstream nodes whose output a task takes: those noted, or all that the graph says.
pub(crate) fn sources_of(info: &RunInfo, n: u32, noted: Option<&[u8]>) -> Vec<u32> {
    if let Some(noted) = noted {
        return crate::store::unpack(noted);
    }
    let graph = info.graph();
    let incoming = graph
        .incoming(n)
        .iter()
        .map(|e| &graph.edges()[*e as usize]);
    let mut sources: Vec<u32> = incoming
        .filter(|edge| edge.data)
        .map(|edge| edge.from)
        .collect();
    sources.sort_unstable();
    sources
}

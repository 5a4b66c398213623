//! The order in which a graph is checked: sizes, nodes, edges, shape, then what conditions and paths name.

use super::{
    Checked, MAX_EDGES, MAX_NODES, MAX_RETAIN_DAYS, Spec, build, condition, cycle, edges, nodes,
};
use crate::Error;
use crate::error::Offender;

pub(super) fn check(spec: Spec) -> Result<Checked, Error> {
    sizes(&spec)?;
    let index = nodes::index(&spec.nodes)?;
    nodes::check(&spec.nodes)?;
    let (links, warnings) = edges::link(&spec.edges, &index)?;
    edges::quorums(&spec.nodes, &links)?;
    nodes::losers(&spec.nodes)?;
    cycle::refuse(&spec.nodes, &links)?;
    let conditions = condition::compile(&spec, &links, &index)?;
    let graph = build::build(spec, index, links, conditions)?;
    Ok(Checked { graph, warnings })
}

fn sizes(spec: &Spec) -> Result<(), Error> {
    cambium_kernel::check_name(&spec.name).map_err(Error::GraphName)?;
    if spec.nodes.is_empty() {
        return Err(Error::GraphEmpty);
    }
    if !spec.fair_key.is_empty() {
        cambium_kernel::check_name(&spec.fair_key).map_err(Error::FairKey)?;
    }
    if !(1..=MAX_RETAIN_DAYS).contains(&spec.retain_days) {
        return Err(Error::RetainDays(spec.retain_days));
    }
    for (what, count, limit) in [
        ("nodes", spec.nodes.len(), MAX_NODES),
        ("edges", spec.edges.len(), MAX_EDGES),
    ] {
        if count > limit {
            return Err(Error::GraphTooLarge { what, count, limit });
        }
    }
    Ok(())
}

/// Says no if anything offends.
pub(super) fn none(
    offenders: impl IntoIterator<Item = Offender>,
    error: fn(Vec<Offender>) -> Error,
) -> Result<(), Error> {
    let offenders: Vec<_> = offenders.into_iter().collect();
    if offenders.is_empty() {
        Ok(())
    } else {
        Err(error(offenders))
    }
}

/// The offender at a field of a node.
pub(super) fn at_node(node: usize, field: &str, what: impl Into<String>) -> Offender {
    Offender {
        field: format!("graph.nodes[{node}].{field}"),
        what: what.into(),
    }
}

/// The offender at a field of an edge.
pub(super) fn at_edge(edge: usize, field: &str, what: impl Into<String>) -> Offender {
    Offender {
        field: format!("graph.edges[{edge}]{field}"),
        what: what.into(),
    }
}

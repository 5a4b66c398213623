//! A graph while an importer builds it: tasks by the file's own names, edges between them.

use std::collections::BTreeSet;

use cambium_kernel::check_name;
use cambium_proto::hypha::v1::{Edge, Graph, Node, Retry, TaskState};

use crate::keys::Keys;
use crate::notes::LeftOut;
use crate::{Error, Format, Read, Source};

/// Collects what a file says; [`Draft::finish`] refuses what it could not resolve.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) keys: Keys,
    pub(crate) left_out: LeftOut,
    pub(crate) warnings: Vec<String>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    unknown: BTreeSet<String>,
}

impl Draft {
    /// Starts from the names of all tasks, so that edges may be drawn in any order.
    pub(crate) fn new(names: &[String]) -> Result<Self, Error> {
        let keys = Keys::new(names)?;
        let warnings = keys.warning().into_iter().collect();
        Ok(Self {
            keys,
            left_out: LeftOut::default(),
            warnings,
            nodes: Vec::new(),
            edges: Vec::new(),
            unknown: BTreeSet::new(),
        })
    }

    /// Adds a task under its file's name. A foreign file asks for one attempt unless it says otherwise.
    pub(crate) fn add(&mut self, name: &str, node: Node) {
        let once = Retry {
            max_attempts: Some(1),
            ..Retry::default()
        };
        let key = self.keys.get(name).unwrap_or(name).to_owned();
        self.nodes.push(Node {
            key,
            retry: Some(node.retry.clone().unwrap_or(once)),
            ..node
        });
    }

    /// Draws an edge that fires on `on`; a name that no task has is kept for the refusal.
    pub(crate) fn link(&mut self, from: &str, to: &str, on: &[TaskState]) {
        let (Some(source), Some(target)) = (self.keys.get(from), self.keys.get(to)) else {
            let ends = [from, to]
                .into_iter()
                .filter(|name| self.keys.get(name).is_none());
            self.unknown.extend(ends.map(str::to_owned));
            return;
        };
        self.edges.push(Edge {
            from: source.to_owned(),
            to: target.to_owned(),
            on: on.iter().map(|&state| state.into()).collect(),
            ..Edge::default()
        });
    }

    pub(crate) fn has_edges(&self) -> bool {
        !self.edges.is_empty()
    }

    pub(crate) fn finish(mut self, name: String, graphs: Vec<String>) -> Result<Read, Error> {
        if !self.unknown.is_empty() {
            return Err(Error::UnknownReferences(self.unknown.into_iter().collect()));
        }
        self.warnings.extend(self.left_out.into_warnings());
        let graph = Graph {
            name,
            nodes: self.nodes,
            edges: self.edges,
            ..Graph::default()
        };
        Ok(Read {
            graph,
            warnings: self.warnings,
            graphs,
        })
    }
}

/// The graph's name: the caller's, else the file's as far as it can be one, else the format's.
pub(crate) fn graph_name(
    source: &Source,
    in_file: Option<&str>,
    format: Format,
) -> Result<String, Error> {
    if let Some(name) = source.name {
        check_name(name).map_err(|fault| Error::NameInvalid {
            name: name.to_owned(),
            fault,
        })?;
        return Ok(name.to_owned());
    }
    let tidy: String = in_file
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control())
        .take(128)
        .collect();
    Ok(if tidy.trim().is_empty() {
        format.to_string()
    } else {
        tidy.trim().to_owned()
    })
}

/// The graph that the caller chose among the file's, else the first.
pub(crate) fn chosen<'a>(source: &Source<'a>, graphs: &[&'a str]) -> Result<&'a str, Error> {
    match source.graph {
        None => Ok(graphs.first().copied().unwrap_or_default()),
        Some(name) if graphs.contains(&name) => Ok(name),
        Some(name) => Err(Error::GraphUnknown {
            name: name.to_owned(),
            known: graphs.iter().map(|&graph| graph.to_owned()).collect(),
        }),
    }
}

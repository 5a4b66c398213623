//! Compiles the conditions of a graph and holds them to what their place can see.

use std::collections::{HashMap, HashSet};

use super::check::{at_edge, at_node, none};
use super::edges::Link;
use super::{JoinSpec, NodeKey, Spec};
use crate::condition::{Condition, Place, Refusal};
use crate::error::Offender;
use crate::path::Root;
use crate::{Error, Path};

/// After so many refused conditions the rest is not compiled: compiling costs milliseconds.
const ENOUGH: usize = 20;

/// The compiled conditions and paths, by places in the spec.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    pub(super) whens: HashMap<usize, Condition>,
    pub(super) joins: HashMap<usize, Condition>,
    pub(super) edges: HashMap<usize, Condition>,
    pub(super) fan_outs: HashMap<usize, Path>,
}

pub(super) fn compile(
    spec: &Spec,
    links: &[Link],
    index: &HashMap<NodeKey, u32>,
) -> Result<Compiled, Error> {
    let upstream = Upstream::new(spec, links, index);
    let mut compiler = Compiler::default();
    let mut compiled = Compiled::default();
    for (at, node) in spec.nodes.iter().enumerate() {
        let sees = |root: &Root| upstream.allows(at, root);
        if let Some(source) = &node.when {
            let field = at_node(at, "when", "");
            compiled.whens.extend(
                compiler
                    .at(field, source, Place::Node, sees)
                    .map(|it| (at, it)),
            );
        }
        if let JoinSpec::Expr(source) = &node.join {
            let field = at_node(at, "join.expr", "");
            compiled.joins.extend(
                compiler
                    .at(field, source, Place::Join, sees)
                    .map(|it| (at, it)),
            );
        }
    }
    for link in links {
        if let Some(source) = &spec.edges[link.spec].when {
            let field = at_edge(link.spec, ".when", "");
            let condition = compiler.at(field, source, Place::Edge, |_| Ok(()));
            compiled.edges.extend(condition.map(|it| (link.spec, it)));
        }
    }
    none(compiler.offenders, Error::Condition)?;
    compiled.fan_outs = fan_outs(spec, &upstream)?;
    Ok(compiled)
}

fn fan_outs(spec: &Spec, upstream: &Upstream<'_>) -> Result<HashMap<usize, Path>, Error> {
    let mut paths = HashMap::new();
    let mut offenders = Vec::new();
    for (at, node) in spec.nodes.iter().enumerate() {
        let Some(text) = &node.fan_out else { continue };
        match path(text, |root| upstream.allows(at, root)) {
            Ok(path) => drop(paths.insert(at, path)),
            Err(what) => offenders.push(at_node(at, "fan_out.over", what)),
        }
    }
    none(offenders, Error::FanOut)?;
    Ok(paths)
}

/// What is wrong with a path reads on from its field, as with conditions.
fn path(text: &str, sees: impl Fn(&Root) -> Result<(), Refusal>) -> Result<Path, String> {
    let path = Path::parse(text).map_err(|fault| format!("is refused: {fault}"))?;
    sees(path.root()).map_err(|refusal| refusal.to_string())?;
    Ok(path)
}

/// Compiles every distinct condition once.
#[derive(Default)]
struct Compiler {
    known: HashMap<(Place, String), Condition>,
    offenders: Vec<Offender>,
}

impl Compiler {
    fn at(
        &mut self,
        field: Offender,
        source: &str,
        place: Place,
        sees: impl Fn(&Root) -> Result<(), Refusal>,
    ) -> Option<Condition> {
        if self.offenders.len() >= ENOUGH {
            return None;
        }
        let known = self.known.get(&(place, source.to_owned())).cloned();
        let compiled = known.map_or_else(|| Condition::compile(source, place), Ok);
        let checked = compiled.and_then(|condition| {
            condition
                .reads()
                .iter()
                .try_for_each(|path| sees(path.root()))?;
            Ok(condition)
        });
        match checked {
            Ok(condition) => {
                self.known
                    .insert((place, source.to_owned()), condition.clone());
                Some(condition)
            }
            Err(refusal) => {
                self.offenders.push(Offender {
                    what: refusal.to_string(),
                    ..field
                });
                None
            }
        }
    }
}

/// Which edges lead into which node, by names.
struct Upstream<'a> {
    edges: HashSet<(usize, &'a str)>,
    data: HashSet<(usize, &'a str)>,
    index: &'a HashMap<NodeKey, u32>,
}

impl<'a> Upstream<'a> {
    fn new(spec: &'a Spec, links: &[Link], index: &'a HashMap<NodeKey, u32>) -> Self {
        let (mut edges, mut data) = (HashSet::new(), HashSet::new());
        for link in links {
            let edge = &spec.edges[link.spec];
            edges.insert((link.to as usize, edge.from.as_str()));
            if edge.data {
                data.insert((link.to as usize, edge.from.as_str()));
            }
        }
        Self { edges, data, index }
    }

    fn allows(&self, node: usize, root: &Root) -> Result<(), Refusal> {
        let (known, key, edge) = match root {
            Root::Input | Root::Output => return Ok(()),
            Root::Inputs(key) => (&self.data, key, "data edge"),
            Root::State(key) => (&self.edges, key, "edge"),
        };
        if known.contains(&(node, key.as_str())) {
            Ok(())
        } else if self.index.contains_key(key) {
            Err(Refusal::NotUpstream {
                key: key.to_string(),
                edge,
            })
        } else {
            Err(Refusal::UnknownNode(key.to_string()))
        }
    }
}

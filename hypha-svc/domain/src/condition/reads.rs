//! What a condition names, as paths to load and as a plan for copying.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cel::Value;
use cel::objects::{Key, Map};

use super::leaf::{Budget, LeafFault, Wanted};
use super::{Place, Refusal, Scope};
use crate::path::{Path, Root};
use crate::{EndState, NodeKey};

/// A variable that conditions can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Input,
    Inputs,
    Output,
    State,
}

/// What for a place is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Value,
    /// `has(..)` alone: whether it is there, whatever it is.
    Presence,
}

impl Name {
    pub(super) fn find(name: &str, place: Place) -> Result<Self, Refusal> {
        match (place, name) {
            (Place::Node | Place::Edge, "input") => Ok(Self::Input),
            (Place::Node, "inputs") => Ok(Self::Inputs),
            (Place::Edge, "output") => Ok(Self::Output),
            (Place::Join, "state") => Ok(Self::State),
            (Place::Node, _) => Err(unknown(name, "`input` and `inputs.<key>`")),
            (Place::Edge, _) => Err(unknown(name, "`input` and `output`")),
            (Place::Join, _) => Err(unknown(name, "`state.<key>`")),
        }
    }
}

fn unknown(name: &str, known: &'static str) -> Refusal {
    Refusal::UnknownName {
        name: name.to_owned(),
        known,
    }
}

/// Everything a condition names.
#[derive(Debug, Default)]
pub(super) struct Reads {
    paths: Vec<Path>,
    input: Option<Wanted>,
    inputs: BTreeMap<NodeKey, Wanted>,
    output: Option<Wanted>,
    states: Vec<NodeKey>,
}

impl Reads {
    pub(super) fn paths(&self) -> &[Path] {
        &self.paths
    }

    pub(super) fn add(
        &mut self,
        name: Name,
        members: &[&str],
        purpose: Use,
    ) -> Result<(), Refusal> {
        let (root, members) = match name {
            Name::Input => {
                self.input.get_or_insert_default().add(members, purpose);
                (Root::Input, members)
            }
            Name::Output => {
                self.output.get_or_insert_default().add(members, purpose);
                (Root::Output, members)
            }
            Name::Inputs => {
                let (key, members) = keyed("inputs", members)?;
                self.inputs
                    .entry(key.clone())
                    .or_default()
                    .add(members, purpose);
                (Root::Inputs(key), members)
            }
            Name::State => {
                let (key, members) = keyed("state", members)?;
                self.states.push(key.clone());
                (Root::State(key), members)
            }
        };
        let path = Path::new(
            root,
            members.iter().map(|&member| member.to_owned()).collect(),
        );
        if !self.paths.contains(&path) {
            self.paths.push(path);
        }
        Ok(())
    }

    /// Copies what is named out of the documents.
    pub(super) fn variables(
        &self,
        scope: &Scope<'_>,
    ) -> Result<Vec<(&'static str, Value)>, LeafFault> {
        let mut budget = Budget::default();
        let mut variables = Vec::new();
        for (name, wanted, document) in [
            ("input", &self.input, scope.input),
            ("output", &self.output, scope.output),
        ] {
            if let Some(wanted) = wanted {
                variables.push((
                    name,
                    wanted.copy(document.unwrap_or_default(), &mut budget)?,
                ));
            }
        }
        if !self.inputs.is_empty() {
            variables.push(("inputs", self.inputs(scope, &mut budget)?));
        }
        if !self.states.is_empty() {
            variables.push(("state", self.states(scope.states)));
        }
        Ok(variables)
    }

    fn inputs(&self, scope: &Scope<'_>, budget: &mut Budget) -> Result<Value, LeafFault> {
        let mut inputs = HashMap::new();
        for (key, document) in scope.inputs {
            if let Some(wanted) = self.inputs.get(*key) {
                inputs.insert(text_key(key), wanted.copy(document, budget)?);
            }
        }
        Ok(map(inputs))
    }

    fn states(&self, states: &[(&str, EndState)]) -> Value {
        let named = states
            .iter()
            .filter(|(key, _)| self.states.iter().any(|it| it.as_str() == *key));
        map(named
            .map(|(key, state)| (text_key(key), state.as_str().into()))
            .collect())
    }
}

fn keyed<'a, 'm>(
    name: &'static str,
    members: &'a [&'m str],
) -> Result<(NodeKey, &'a [&'m str]), Refusal> {
    let (key, members) = members.split_first().ok_or(Refusal::WithoutKey(name))?;
    let key = NodeKey::parse(key).map_err(|_| Refusal::UnknownNode((*key).to_owned()))?;
    Ok((key, members))
}

pub(super) fn text_key(text: &str) -> Key {
    Key::String(Arc::new(text.to_owned()))
}

pub(super) fn map(members: HashMap<Key, Value>) -> Value {
    Value::Map(Map {
        map: Arc::new(members),
    })
}

//! Names of places in JSON documents: `input.a.b`, `inputs.<key>.a`. Selects; never copies or converts.

use std::fmt;

use serde_json::Value;

use crate::{Error, NodeKey};

/// The document in which a path starts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// The run's input.
    Input,
    /// The output of an upstream node, by its key.
    Inputs(NodeKey),
    /// The output of the node an edge comes from; of edge conditions alone.
    Output,
    /// The end state of an upstream node; of join conditions alone.
    State(NodeKey),
}

/// A place in a JSON document: the document, and the members to walk down.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    root: Root,
    members: Vec<String>,
}

impl Path {
    pub(crate) const fn new(root: Root, members: Vec<String>) -> Self {
        Self { root, members }
    }

    /// Reads `input.a.b`, `inputs.<key>.a` or `inputs["key"].a`; any member may be quoted like the key.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let fault = || Error::PathInvalid(text.to_owned());
        let mut steps = steps(text).ok_or_else(fault)?.into_iter();
        let root = match steps.next().as_deref() {
            Some("input") => Root::Input,
            Some("inputs") => {
                Root::Inputs(NodeKey::parse(&steps.next().ok_or_else(fault)?).map_err(|_| fault())?)
            }
            _ => return Err(fault()),
        };
        Ok(Self::new(root, steps.collect()))
    }

    #[must_use]
    pub const fn root(&self) -> &Root {
        &self.root
    }

    #[must_use]
    pub fn members(&self) -> &[String] {
        &self.members
    }

    /// What stands at the path in its root's document; `None` if a member is missing on the way.
    #[must_use]
    pub fn select<'a>(&self, json: &'a Value) -> Option<&'a Value> {
        self.members
            .iter()
            .try_fold(json, |at, member| at.get(member))
    }
}

/// Splits a text into its steps, or says nothing if it is no path.
fn steps(text: &str) -> Option<Vec<String>> {
    let (first, mut rest) = split_bare(text)?;
    let mut steps = vec![first.to_owned()];
    while !rest.is_empty() {
        let step;
        (step, rest) = if let Some(after) = rest.strip_prefix("[\"") {
            let (step, after) = after.split_once('"')?;
            (step, after.strip_prefix(']')?)
        } else {
            split_bare(rest.strip_prefix('.')?)?
        };
        if step.is_empty() || step.contains('\\') {
            return None;
        }
        steps.push(step.to_owned());
    }
    Some(steps)
}

fn split_bare(text: &str) -> Option<(&str, &str)> {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    let end = text.find(|c| !is_bare(c)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Root::Input => f.write_str("input")?,
            Root::Inputs(key) => write!(f, "inputs[\"{key}\"]")?,
            Root::Output => f.write_str("output")?,
            Root::State(key) => write!(f, "state[\"{key}\"]")?,
        }
        self.members
            .iter()
            .try_for_each(|member| write!(f, "[\"{member}\"]"))
    }
}

#[cfg(test)]
mod tests;

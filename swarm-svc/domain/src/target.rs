//! What carries a mind's turns: a graph of hypha's, or a process of the operator's own. Starts neither (design: swarm, section 7).

use serde_json::{Value, json};

use crate::Error;
use crate::authority::Organ;
use crate::error::Text as _;
use crate::text;
use crate::turn::Body;

/// Where a turn goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Graph {
        name: String,
        /// None: the newest at each launch.
        version: Option<u32>,
    },
    Body {
        /// As its worker's credential calls it.
        name: String,
        /// What its tokens may act as.
        organs: Vec<Organ>,
    },
}

impl Target {
    pub fn graph(name: &str, version: u32) -> Result<Self, Error> {
        text::line(name).named("target.graph.name")?;
        Ok(Self::Graph {
            name: name.to_owned(),
            version: (version > 0).then_some(version),
        })
    }

    /// A body may act as both organs unless its operator said which.
    pub fn body(name: &str, organs: &[Organ]) -> Result<Self, Error> {
        text::line(name).named("target.body.name")?;
        let organs = match organs {
            [] => vec![Organ::Persona, Organ::Own],
            some => some.to_vec(),
        };
        Ok(Self::Body {
            name: name.to_owned(),
            organs,
        })
    }

    #[must_use]
    pub const fn kind(&self) -> Body {
        match self {
            Self::Graph { .. } => Body::Graph,
            Self::Body { .. } => Body::External,
        }
    }

    /// The body that it names.
    #[must_use]
    pub fn body_name(&self) -> Option<&str> {
        match self {
            Self::Graph { .. } => None,
            Self::Body { name, .. } => Some(name),
        }
    }

    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Graph { name, version } => {
                json!({"graph": {"name": name, "version": version.unwrap_or(0)}})
            }
            Self::Body { name, organs } => {
                let organs: Vec<&str> = organs.iter().map(|organ| organ.as_str()).collect();
                json!({"body": {"name": name, "organs": organs}})
            }
        }
    }

    /// None of a value that is no target.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        if let Some(graph) = value.get("graph") {
            let version = graph.get("version").and_then(Value::as_u64).unwrap_or(0);
            return Self::graph(graph.get("name")?.as_str()?, u32::try_from(version).ok()?).ok();
        }
        let body = value.get("body")?;
        let organs = body.get("organs").and_then(Value::as_array);
        let organs: Option<Vec<Organ>> = organs
            .into_iter()
            .flatten()
            .map(|organ| Organ::parse(organ.as_str()?))
            .collect();
        Self::body(body.get("name")?.as_str()?, &organs?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_reads_back_as_it_was_stored() {
        for target in [
            Target::graph("daily", 0).unwrap(),
            Target::graph("daily", 3).unwrap(),
            Target::body("desk", &[Organ::Own]).unwrap(),
            Target::body("desk", &[]).unwrap(),
        ] {
            assert_eq!(Target::from_value(&target.to_value()), Some(target));
        }
        assert_eq!(Target::from_value(&json!({})), None);
        assert_eq!(
            Target::from_value(&json!({"body": {"name": "a", "organs": ["tail"]}})),
            None
        );
    }

    #[test]
    fn a_body_may_act_as_both_unless_told() {
        let Target::Body { organs, .. } = Target::body("desk", &[]).unwrap() else {
            panic!("it is a body");
        };

        assert_eq!(organs, [Organ::Persona, Organ::Own]);
    }
}

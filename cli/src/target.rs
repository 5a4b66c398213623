//! What carries a mind's turns, as people write it: `graph:daily`, `graph:daily@3` or `body:desk`.

use cambium_proto::swarm::v1::{BodyTarget, GraphTarget, Organ, Target, target};

/// Says what carries the turns, and of a body what its tokens may act as.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Aim {
    /// What carries its turns: graph:NAME, graph:NAME@VERSION, or body:NAME, a process of your own
    #[arg(long, value_name = "TARGET", value_parser = read)]
    target: Option<Target>,
    /// What the body's tokens may act as [default: both]
    #[arg(long = "organ", value_name = "ORGAN", requires = "target", value_enum)]
    organs: Vec<Part>,
}

/// The halves of a mind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    Persona,
    #[value(name = "self")]
    Own,
}

impl From<Part> for Organ {
    fn from(part: Part) -> Self {
        match part {
            Part::Persona => Self::Persona,
            Part::Own => Self::Self_,
        }
    }
}

impl Aim {
    pub(crate) const fn is_given(&self) -> bool {
        self.target.is_some()
    }

    /// None where none was named.
    pub(crate) fn target(self) -> Option<Target> {
        let mut target = self.target?;
        if let Some(target::Target::Body(body)) = &mut target.target {
            let organs = self.organs.into_iter();
            body.organs = organs.map(|part| Organ::from(part).into()).collect();
        }
        Some(target)
    }
}

/// Reads a target.
pub(crate) fn read(text: &str) -> anyhow::Result<Target> {
    let say = "write graph:NAME, graph:NAME@VERSION or body:NAME";
    let (kind, name) = text.split_once(':').unwrap_or((text, ""));
    anyhow::ensure!(!name.is_empty(), say);
    let target = match kind {
        "graph" => target::Target::Graph(graph(name)),
        "body" => target::Target::Body(BodyTarget {
            name: name.to_owned(),
            organs: Vec::new(),
        }),
        _ => anyhow::bail!(say),
    };
    Ok(Target {
        target: Some(target),
    })
}

/// What follows the last `@` is the version, if it is a number.
fn graph(name: &str) -> GraphTarget {
    let pinned = name.rsplit_once('@').and_then(|(name, version)| {
        let version: u32 = version.parse().ok()?;
        (!name.is_empty()).then(|| (name.to_owned(), version))
    });
    let (name, version) = pinned.unwrap_or_else(|| (name.to_owned(), 0));
    GraphTarget { name, version }
}

/// As it is written; a dash where there is none.
pub(crate) fn shown(target: Option<&Target>) -> String {
    match target.and_then(|target| target.target.as_ref()) {
        None => "-".to_owned(),
        Some(target::Target::Graph(graph)) if graph.version == 0 => format!("graph:{}", graph.name),
        Some(target::Target::Graph(graph)) => format!("graph:{}@{}", graph.name, graph.version),
        Some(target::Target::Body(body)) => format!("body:{}", body.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_shown_as_it_was_written() {
        for text in ["graph:daily", "graph:daily@3", "body:desk", "graph:a@b"] {
            assert_eq!(shown(Some(&read(text).unwrap())), text);
        }
        assert_eq!(shown(None), "-");
        for bad in ["", "daily", "graph:", "body:", "mind:eureka"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_body_may_be_held_to_one_half_of_the_mind() {
        let aim = Aim {
            target: Some(read("body:desk").unwrap()),
            organs: vec![Part::Own],
        };

        let target = aim.target().unwrap().target;

        let Some(target::Target::Body(body)) = target else {
            panic!("it is a body");
        };
        assert_eq!(body.organs, [i32::from(Organ::Self_)]);
    }
}

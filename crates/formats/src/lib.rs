//! Reads graphs of work from the files people already have, and writes our own form.
//! Pure: text in, graph out. It runs nothing, fetches nothing, stores nothing and scores nobody.

mod argo;
mod check;
mod crewai;
mod dbt;
mod draft;
mod error;
mod fields;
mod form;
mod format;
mod github_actions;
mod keys;
mod notes;
mod recognise;
mod text;
mod tree;
mod wfformat;

use cambium_proto::hypha::v1::Graph;
use serde_json::Value;

pub use error::Error;
pub use form::{to_json, to_yaml};
pub use format::Format;

use fields::Field;

#[cfg(test)]
mod robust;

/// A file to read, and what the caller already knows about it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source<'a> {
    /// The file, gzipped or not.
    pub content: &'a [u8],
    /// A second file that belongs to the first: CrewAI's agents.yaml.
    pub companion: Option<&'a [u8]>,
    /// Recognised from the content when `None`.
    pub format: Option<Format>,
    /// Which graph of the file; its default when `None`.
    pub graph: Option<&'a str>,
    /// Names the graph; as the file says, else by its format, when `None`.
    pub name: Option<&'a str>,
}

/// What a file held.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub format: Format,
    /// Sound: not empty, its keys good and unique, its edges known, without a cycle.
    pub graph: Graph,
    /// What was read but not translated, for people.
    pub warnings: Vec<String>,
    /// The names of all graphs in the file, in its order.
    pub graphs: Vec<String>,
}

/// Reads the graph that a file holds. What cannot be a graph is refused with the offenders.
pub fn import(source: &Source) -> Result<Imported, Error> {
    let document = recognise::choose(
        tree::documents(&text::decode(source.content)?)?,
        source.format,
    )?;
    let companion = source.companion.map(companion).transpose()?;
    let root = Field::root(&document.value);
    let mut read = match document.format {
        Format::Cambium => form::read(root, source)?,
        Format::WfFormat => wfformat::read(root, source)?,
        Format::CrewAi => crewai::read(root, companion.as_ref(), source)?,
        Format::Argo => argo::read(root, source)?,
        Format::GithubActions => github_actions::read(root, source)?,
        Format::Dbt => dbt::read(root, source)?,
    };
    if companion.is_some() && document.format != Format::CrewAi {
        read.warnings.push(format!(
            "a {} file has no companion: the second file was ignored",
            document.format
        ));
    }
    Ok(Imported {
        format: document.format,
        graph: check::graph(read.graph)?,
        warnings: read.warnings,
        graphs: read.graphs,
    })
}

/// What an importer hands over for the common checks.
struct Read {
    graph: Graph,
    warnings: Vec<String>,
    graphs: Vec<String>,
}

fn companion(bytes: &[u8]) -> Result<Value, Error> {
    let first = || -> Result<Value, Error> {
        let documents = tree::documents(&text::decode(bytes)?)?;
        Ok(documents.into_iter().next().unwrap_or_default())
    };
    first().map_err(|error| Error::Companion(Box::new(error)))
}

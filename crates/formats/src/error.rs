//! Every way a file can fail to hold a graph. The caller's faults alone: a file never breaks us.

use cambium_kernel::{ErrorKind, Failure, NameError};

use crate::Format;
use crate::notes::listed;

/// Why a file was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the file is larger than {limit} bytes, unzipped")]
    FileTooLarge { limit: usize },
    #[error("the file starts as a gzip archive but cannot be unzipped: {message}")]
    Gzip { message: String },
    #[error("the file is no UTF-8 text: byte {offset} fits no character")]
    NotText { offset: usize },
    #[error("the file is no JSON: line {line}, column {column}: {message}")]
    Json {
        line: u64,
        column: u64,
        message: String,
    },
    #[error("the file is no YAML: line {line}, column {column}: {message}")]
    Yaml {
        line: u64,
        column: u64,
        message: String,
    },
    #[error("in the companion file: {0}")]
    Companion(Box<Self>),

    #[error("`{name}` is no format; the formats are {}", Format::ALL.map(Format::as_str).join(", "))]
    FormatNameUnknown { name: String },
    #[error(
        "the format of the file was not recognised; it is none of {}",
        Format::ALL.map(Format::as_str).join(", ")
    )]
    FormatUnknown,
    #[error("the file holds {kind}, which cannot be imported")]
    FormatUnsupported { kind: &'static str },
    #[error(
        "the file holds agents but no tasks: name tasks.yaml as the file and pass this one with --agents"
    )]
    AgentsFileAlone,
    #[error("the file has no graph `{name}`; it has {}", listed(.known))]
    GraphUnknown { name: String, known: Vec<String> },
    #[error("`{name}` cannot name a graph: it {fault}")]
    NameInvalid { name: String, fault: NameError },

    #[error("`{path}` is not {expected}")]
    FieldInvalid { path: String, expected: String },
    #[error("`{path}` is missing")]
    FieldMissing { path: String },
    #[error("nothing reads {}", listed(.0))]
    FieldUnknown(Vec<String>),
    #[error("`depends` of task `{task}` cannot be read: {fault}")]
    DependsInvalid { task: String, fault: String },
    #[error("tasks {} wait for a daemon (`.Daemoned`), which no task here can be", listed(.0))]
    DaemonedUnsupported(Vec<String>),
    #[error("several tasks are called {}, so a parent of that name may be any of them", listed(.0))]
    AmbiguousParent(Vec<String>),

    #[error("the graph has no nodes")]
    Empty,
    #[error("the graph has {count} {what}, over the limit of {limit}")]
    TooLarge {
        what: &'static str,
        count: usize,
        limit: usize,
    },
    #[error("{} cannot be keys: a key has 1 to 128 of A-Za-z0-9_.:-", listed(.0))]
    KeysInvalid(Vec<String>),
    #[error("several nodes have the key {}", listed(.0))]
    KeysDuplicate(Vec<String>),
    #[error("the graph names unknown tasks: {}", listed(.0))]
    UnknownReferences(Vec<String>),
    #[error("an edge leads from a task to itself: {}", listed(.0))]
    SelfEdges(Vec<String>),
    #[error("edges are given twice and differ: {}", listed(.0))]
    EdgesConflict(Vec<String>),
    #[error("tasks wait on one another: {}", circle(.0))]
    Cycle(Vec<String>),
}

/// The cycle, closed by its first task.
fn circle(cycle: &[String]) -> String {
    let closed: Vec<&str> = cycle
        .iter()
        .chain(cycle.first())
        .map(String::as_str)
        .collect();
    closed.join(" -> ")
}

impl Error {
    /// The offenders by name, sorted and each once; a cycle in its own order.
    #[must_use]
    pub fn details(&self) -> Vec<String> {
        match self {
            Self::Companion(inner) => inner.details(),
            Self::FieldUnknown(names)
            | Self::DaemonedUnsupported(names)
            | Self::AmbiguousParent(names)
            | Self::KeysInvalid(names)
            | Self::KeysDuplicate(names)
            | Self::UnknownReferences(names)
            | Self::SelfEdges(names)
            | Self::EdgesConflict(names)
            | Self::Cycle(names) => names.clone(),
            Self::FormatNameUnknown { name }
            | Self::GraphUnknown { name, .. }
            | Self::NameInvalid { name, .. } => {
                vec![name.clone()]
            }
            Self::FieldInvalid { path, .. } | Self::FieldMissing { path } => vec![path.clone()],
            Self::DependsInvalid { task, .. } => vec![task.clone()],
            Self::FormatUnsupported { kind } => vec![(*kind).to_owned()],
            Self::FileTooLarge { .. }
            | Self::Gzip { .. }
            | Self::NotText { .. }
            | Self::Json { .. }
            | Self::Yaml { .. }
            | Self::FormatUnknown
            | Self::AgentsFileAlone
            | Self::Empty
            | Self::TooLarge { .. } => Vec::new(),
        }
    }
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Invalid
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::FileTooLarge { .. } => "FILE_TOO_LARGE",
            Self::Gzip { .. } => "GZIP_INVALID",
            Self::NotText { .. } => "FILE_NOT_TEXT",
            Self::Json { .. } => "JSON_INVALID",
            Self::Yaml { .. } => "YAML_INVALID",
            Self::Companion(inner) => inner.reason(),
            Self::FormatNameUnknown { .. } => "FORMAT_NAME_UNKNOWN",
            Self::FormatUnknown => "FORMAT_UNKNOWN",
            Self::FormatUnsupported { .. } => "FORMAT_UNSUPPORTED",
            Self::AgentsFileAlone => "AGENTS_FILE_ALONE",
            Self::GraphUnknown { .. } => "GRAPH_UNKNOWN",
            Self::NameInvalid { .. } => "GRAPH_NAME_INVALID",
            Self::FieldInvalid { .. } => "FIELD_INVALID",
            Self::FieldMissing { .. } => "FIELD_MISSING",
            Self::FieldUnknown(_) => "FIELD_UNKNOWN",
            Self::DependsInvalid { .. } => "DEPENDS_INVALID",
            Self::DaemonedUnsupported(_) => "DAEMONED_UNSUPPORTED",
            Self::AmbiguousParent(_) => "AMBIGUOUS_PARENT",
            Self::Empty => "GRAPH_EMPTY",
            Self::TooLarge { .. } => "GRAPH_TOO_LARGE",
            Self::KeysInvalid(_) => "GRAPH_KEY_INVALID",
            Self::KeysDuplicate(_) => "GRAPH_KEY_DUPLICATE",
            Self::UnknownReferences(_) => "GRAPH_UNKNOWN_REFERENCE",
            Self::SelfEdges(_) => "GRAPH_SELF_EDGE",
            Self::EdgesConflict(_) => "GRAPH_EDGE_CONFLICT",
            Self::Cycle(_) => "GRAPH_CYCLE",
        }
    }

    fn field(&self) -> Option<String> {
        let field = match self {
            Self::Companion(_) => "companion",
            Self::FormatNameUnknown { .. } => "format",
            Self::GraphUnknown { .. } => "graph",
            Self::NameInvalid { .. } => "name",
            Self::FileTooLarge { .. }
            | Self::Gzip { .. }
            | Self::NotText { .. }
            | Self::Json { .. }
            | Self::Yaml { .. }
            | Self::FormatUnknown
            | Self::FormatUnsupported { .. }
            | Self::AgentsFileAlone
            | Self::FieldInvalid { .. }
            | Self::FieldMissing { .. }
            | Self::FieldUnknown(_)
            | Self::DependsInvalid { .. }
            | Self::DaemonedUnsupported(_)
            | Self::AmbiguousParent(_)
            | Self::Empty
            | Self::TooLarge { .. }
            | Self::KeysInvalid(_)
            | Self::KeysDuplicate(_)
            | Self::UnknownReferences(_)
            | Self::SelfEdges(_)
            | Self::EdgesConflict(_)
            | Self::Cycle(_) => "content",
        };
        Some(field.to_owned())
    }
}

#[cfg(test)]
mod tests;

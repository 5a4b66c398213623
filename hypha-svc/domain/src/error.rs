//! Every way the rules of durable execution say no, with the evidence. How that looks on the wire is not known here.

use std::fmt::{self, Write as _};

use cambium_kernel::{ErrorKind, Failure, RunId};

use crate::NodeKey;
use crate::payload::PayloadFault;

/// One place in a request that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offender {
    /// As in `graph.edges[3].to`.
    pub field: String,
    /// What stands there, or what is wrong with it.
    pub what: String,
}

/// Every way a rule of durable execution can say no.
///
/// A list of offenders is never empty, and holds all of its kind in the order of the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the graph has no nodes")]
    GraphEmpty,

    #[error("the graph's name {0}")]
    GraphName(cambium_kernel::NameError),

    #[error("the graph has {count} {what}, above the limit of {limit}")]
    GraphTooLarge {
        what: &'static str,
        count: usize,
        limit: usize,
    },

    #[error("a node key has 1 to 128 characters out of `A-Za-z0-9_.:-`, unlike {}", quoted(.0))]
    NodeKey(Vec<Offender>),

    #[error("several nodes have the key {}", quoted(.0))]
    DuplicateNode(Vec<Offender>),

    #[error("{}", explained(.0))]
    Text(Vec<Offender>),

    #[error("{}", explained(.0))]
    Config(Vec<Offender>),

    #[error("{}", explained(.0))]
    Capability(Vec<Offender>),

    #[error("a priority is 0 to 9, unlike {}", quoted(.0))]
    Priority(Vec<Offender>),

    #[error("{}", explained(.0))]
    Retry(Vec<Offender>),

    #[error("{}", explained(.0))]
    Timeout(Vec<Offender>),

    #[error("edges name nodes that the graph does not have: {}", quoted(.0))]
    UnknownNode(Vec<Offender>),

    #[error("edges lead from a node to itself: {}", quoted(.0))]
    SelfEdge(Vec<Offender>),

    #[error("edges fire on no end state: {}", quoted(.0))]
    EdgeNeverFires(Vec<Offender>),

    #[error("edges join the same nodes and differ: {}", quoted(.0))]
    EdgeConflict(Vec<Offender>),

    #[error("nodes wait on one another: {}", round(.0))]
    Cycle(Vec<NodeKey>),

    #[error("{}", explained(.0))]
    Quorum(Vec<Offender>),

    #[error("{}", explained(.0))]
    Losers(Vec<Offender>),

    #[error("the weights sum to {0} millionths, not to 1")]
    Weights(i64),

    #[error("the graph's `fair_key` {0}")]
    FairKey(cambium_kernel::NameError),

    #[error("the graph keeps its runs for {0} days, outside 1 to 3,660")]
    RetainDays(u32),

    #[error("{}", explained(.0))]
    Condition(Vec<Offender>),

    #[error("{}", explained(.0))]
    FanOut(Vec<Offender>),

    #[error("{} is no path such as `input.a.b`, `inputs.key.a` or `inputs[\"key\"].a`", shown(.0))]
    PathInvalid(String),

    #[error("{} is no end state", shown(.0))]
    UnknownEndState(String),

    #[error("{} is no node key: it has 1 to 128 characters out of `A-Za-z0-9_.:-`", shown(.0))]
    KeyInvalid(String),

    #[error("`{field}`: {fault}")]
    Payload {
        field: &'static str,
        fault: PayloadFault,
    },

    #[error("epoch {given} was fenced off: epoch {current} holds the task")]
    LeaseLost { given: u64, current: u64 },

    #[error("run {0} has ended")]
    RunEnded(RunId),

    #[error("there is no task {}", shown(.0))]
    UnknownTask(String),
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::GraphEmpty
            | Self::GraphName(_)
            | Self::FairKey(_)
            | Self::Weights(_)
            | Self::GraphTooLarge { .. }
            | Self::NodeKey(_)
            | Self::DuplicateNode(_)
            | Self::Text(_)
            | Self::Config(_)
            | Self::Capability(_)
            | Self::Priority(_)
            | Self::Retry(_)
            | Self::Timeout(_)
            | Self::UnknownNode(_)
            | Self::SelfEdge(_)
            | Self::EdgeNeverFires(_)
            | Self::EdgeConflict(_)
            | Self::Cycle(_)
            | Self::Quorum(_)
            | Self::Losers(_)
            | Self::RetainDays(_)
            | Self::Condition(_)
            | Self::FanOut(_)
            | Self::PathInvalid(_)
            | Self::UnknownEndState(_)
            | Self::KeyInvalid(_) => ErrorKind::Invalid,
            Self::Payload { fault, .. } if fault.is_too_large() => ErrorKind::Exhausted,
            Self::Payload { .. } => ErrorKind::Invalid,
            Self::LeaseLost { .. } => ErrorKind::Conflict,
            Self::RunEnded(_) => ErrorKind::Refused,
            Self::UnknownTask(_) => ErrorKind::NotFound,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::GraphEmpty => "GRAPH_EMPTY",
            Self::GraphName(_) => "GRAPH_NAME_INVALID",
            Self::FairKey(_) => "FAIR_KEY_INVALID",
            Self::Weights(_) => "WEIGHTS_INVALID",
            Self::GraphTooLarge { .. } => "GRAPH_TOO_LARGE",
            Self::NodeKey(_) | Self::KeyInvalid(_) => "NODE_KEY_INVALID",
            Self::DuplicateNode(_) => "NODE_DUPLICATE",
            Self::Text(_) => "TEXT_INVALID",
            Self::Config(_) => "CONFIG_INVALID",
            Self::Capability(_) => "CAPABILITY_INVALID",
            Self::Priority(_) => "PRIORITY_OUT_OF_RANGE",
            Self::Retry(_) => "RETRY_OUT_OF_RANGE",
            Self::Timeout(_) => "TIMEOUT_OUT_OF_RANGE",
            Self::UnknownNode(_) => "NODE_UNKNOWN",
            Self::SelfEdge(_) => "GRAPH_SELF_EDGE",
            Self::EdgeNeverFires(_) => "EDGE_NEVER_FIRES",
            Self::EdgeConflict(_) => "EDGE_CONFLICT",
            Self::Cycle(_) => "GRAPH_CYCLE",
            Self::Quorum(_) => "QUORUM_OUT_OF_RANGE",
            Self::Losers(_) => "CANCEL_LOSERS_INVALID",
            Self::RetainDays(_) => "RETAIN_DAYS_OUT_OF_RANGE",
            Self::Condition(_) => "CONDITION_INVALID",
            Self::FanOut(_) | Self::PathInvalid(_) => "FAN_OUT_INVALID",
            Self::UnknownEndState(_) => "END_STATE_UNKNOWN",
            Self::Payload { fault, .. } if fault.is_too_large() => "PAYLOAD_TOO_LARGE",
            Self::Payload { .. } => "PAYLOAD_INVALID",
            Self::LeaseLost { .. } => "LEASE_LOST",
            Self::RunEnded(_) => "RUN_ENDED",
            Self::UnknownTask(_) => "TASK_UNKNOWN",
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::GraphEmpty => Some("graph.nodes".to_owned()),
            Self::GraphName(_) => Some("graph.name".to_owned()),
            Self::FairKey(_) => Some("graph.fair_key".to_owned()),
            Self::Weights(_) => Some("weights".to_owned()),
            Self::GraphTooLarge { what, .. } => Some(format!("graph.{what}")),
            Self::Cycle(_) => Some("graph.edges".to_owned()),
            Self::RetainDays(_) => Some("graph.retain_days".to_owned()),
            Self::NodeKey(offenders)
            | Self::DuplicateNode(offenders)
            | Self::Text(offenders)
            | Self::Config(offenders)
            | Self::Capability(offenders)
            | Self::Priority(offenders)
            | Self::Retry(offenders)
            | Self::Timeout(offenders)
            | Self::UnknownNode(offenders)
            | Self::SelfEdge(offenders)
            | Self::EdgeNeverFires(offenders)
            | Self::EdgeConflict(offenders)
            | Self::Quorum(offenders)
            | Self::Losers(offenders)
            | Self::Condition(offenders)
            | Self::FanOut(offenders) => offenders.first().map(|first| first.field.clone()),
            Self::Payload { field, .. } => Some((*field).to_owned()),
            Self::UnknownTask(_) => Some("task_id".to_owned()),
            Self::PathInvalid(_)
            | Self::UnknownEndState(_)
            | Self::KeyInvalid(_)
            | Self::LeaseLost { .. }
            | Self::RunEnded(_) => None,
        }
    }
}

/// Most bytes of names in one message: it has to pass through a trailer of 8 KiB, twice.
const ROOM: usize = 1_600;

/// Names each distinct offender once.
fn quoted(offenders: &[Offender]) -> String {
    let mut seen = std::collections::HashSet::new();
    let distinct = offenders
        .iter()
        .map(|offender| &*offender.what)
        .filter(|what| seen.insert(*what));
    listed(distinct.map(shown), ", ")
}

/// Says of each offender where it is and what is wrong.
fn explained(offenders: &[Offender]) -> String {
    listed(
        offenders
            .iter()
            .map(|offender| format!("`{}` {}", offender.field, offender.what)),
        "; ",
    )
}

/// Names the nodes of a cycle, back to the first.
fn round(cycle: &[NodeKey]) -> String {
    listed(
        cycle
            .iter()
            .chain(cycle.first())
            .map(|key| format!("`{key}`")),
        " -> ",
    )
}

/// Joins as many items as there is room for, and counts the rest.
fn listed(items: impl Iterator<Item = String>, separator: &str) -> String {
    let mut text = String::new();
    let mut left_out = 0_usize;
    for item in items {
        if left_out > 0 || text.len() + item.len() > ROOM && !text.is_empty() {
            left_out += 1;
        } else {
            if !text.is_empty() {
                text.push_str(separator);
            }
            text.push_str(&item);
        }
    }
    if left_out > 0 {
        text.push_str(separator);
        // Writing to a string cannot fail.
        let _ = write!(text, "and {left_out} more");
    }
    text
}

/// A caller's text in quotes: control characters escaped, and no longer than a name may be.
pub(crate) fn shown(text: &(impl AsRef<str> + ?Sized)) -> String {
    let text = text.as_ref();
    let clipped: String = text.chars().take(128).collect();
    let more = if clipped.len() < text.len() {
        "…"
    } else {
        ""
    };
    format!("`{}{more}`", Escaped(&clipped))
}

struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| {
            if c.is_control() {
                write!(f, "{}", c.escape_default())
            } else {
                f.write_char(c)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(names: &[&str]) -> Error {
        let offenders = names.iter().enumerate().map(|(i, name)| Offender {
            field: format!("graph.edges[{i}].to"),
            what: (*name).to_owned(),
        });
        Error::UnknownNode(offenders.collect())
    }

    #[test]
    fn a_message_names_every_offender_once() {
        let error = unknown(&["x", "y", "x"]);

        assert_eq!(
            error.to_string(),
            "edges name nodes that the graph does not have: `x`, `y`"
        );
        assert_eq!(error.field().as_deref(), Some("graph.edges[0].to"));
    }

    #[test]
    fn a_cycle_is_listed_back_to_its_start() {
        let cycle = ["a", "b"].map(|key| NodeKey::parse(key).unwrap()).to_vec();

        let error = Error::Cycle(cycle);

        assert_eq!(
            error.to_string(),
            "nodes wait on one another: `a` -> `b` -> `a`"
        );
    }

    #[test]
    fn a_message_fits_a_trailer_however_many_offenders_there_are() {
        let names: Vec<String> = (0..50_000).map(|i| format!("node-{i}")).collect();
        let error = unknown(&names.iter().map(String::as_str).collect::<Vec<_>>());

        let message = error.to_string();

        assert!(message.len() < 1_800);
        assert!(message.ends_with(" more"));
    }

    #[test]
    fn a_callers_text_is_shown_without_its_control_characters() {
        assert_eq!(shown("a\nb\u{0}"), "`a\\nb\\u{0}`");
        assert_eq!(shown(&"x".repeat(200)).chars().count(), 131);
    }
}

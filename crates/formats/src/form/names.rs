//! The words of our own form, in one place for reading and writing.

use cambium_proto::hypha::v1::{JoinKind, TaskState};

pub(super) const GRAPH: [&str; 7] = [
    "name",
    "fail_fast",
    "retain_days",
    "fair_key",
    "spawn",
    "nodes",
    "edges",
];
pub(super) const NODE: [&str; 15] = [
    "key",
    "name",
    "instructions",
    "config",
    "requires",
    "prefers",
    "priority",
    "retry",
    "timeouts",
    "when",
    "join",
    "cancel_losers",
    "fan_out",
    "spawn_template",
    "needs",
];
pub(super) const EDGE: [&str; 5] = ["from", "to", "data", "on", "when"];
pub(super) const RETRY: [&str; 5] = [
    "max_attempts",
    "initial_ms",
    "factor_milli",
    "cap_ms",
    "non_retryable",
];
pub(super) const TIMEOUTS: [&str; 3] = ["queue_ms", "run_ms", "total_ms"];

/// The end states an edge may fire on.
pub(super) const ENDS: [(&str, TaskState); 5] = [
    ("succeeded", TaskState::Succeeded),
    ("failed", TaskState::Failed),
    ("skipped", TaskState::Skipped),
    ("omitted", TaskState::Omitted),
    ("cancelled", TaskState::Cancelled),
];

/// The joins that are one word; quorum and expr say more.
pub(super) const JOINS: [(&str, JoinKind); 3] = [
    ("all", JoinKind::All),
    ("any", JoinKind::Any),
    ("settled", JoinKind::Settled),
];

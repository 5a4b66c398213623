//! What a story tells a worker process, and what that answers: one JSON document a line, over its standard input and
//! output. The first line is its part.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Who a worker process is, and how it works.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    pub url: String,
    pub token: String,
    pub worker: String,
    pub agents: Vec<String>,
    pub play: Play,
}

/// How a worker process works.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Play {
    /// As a shipped worker does, until it is told to drain.
    Alone(Alone),
    /// One call for each word that it hears.
    ByHand,
}

/// Work that takes a while and says who did it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Alone {
    /// Told by each output, under `by`.
    pub label: String,
    pub slots: u32,
    pub takes_ms: u64,
    /// Tasks whose config says `"gated": true` end once this file exists; without a gate, never.
    pub gate: Option<PathBuf>,
}

/// One call of a worker by hand. Ends and heartbeats are about what its last poll brought.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Word {
    Poll { max: u32, wait_ms: u64 },
    Heartbeat,
    Complete { output: String, micro_usd: i64 },
    CompleteMany { output: String, micro_usd: i64 },
    Fail { code: String },
    Park { signal: String },
    Release,
}

/// What a call came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// `Ok`, or the code of the refusal.
    pub code: String,
    /// The machine's name of the refusal.
    pub reason: String,
    /// Nodes of the attempts that came.
    pub nodes: Vec<String>,
    /// What is said of each lease, in the order of the attempts.
    pub leases: Vec<String>,
}

//! What a bench and its load say to one another: one job as an argument, then a line for each step. Measures nothing.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::client::Means;
use super::load::Shape;

/// What the load is to do.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(super) enum Job {
    /// The five-task graph again and again, until the time is up.
    Cycle {
        means: Means,
        in_flight: u32,
        seconds: u32,
    },
    /// The same, done by many agents, and what they thank each other for.
    Gratitude {
        means: Means,
        in_flight: u32,
        seconds: u32,
    },
    /// Marks placed and reinforced by so many agents at once, until the time is up.
    Touch { clients: u32, seconds: u32 },
    /// One region, sensed again and again.
    Sense(Sense),
    /// So many runs of one graph, to the end.
    Bulk {
        means: Means,
        shape: Shape,
        runs: u32,
        in_flight: u32,
    },
    /// Tasks that nobody takes until all of them are ready.
    Backlog { means: Means, tasks: u32 },
    /// A recorded run, by the runtime that real workers have.
    Replay(Replay),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Sense {
    pub(super) region: String,
    /// With all regions under it.
    pub(super) below: bool,
    /// So many marks are there, or so many are to be left first.
    pub(super) marks: u32,
    pub(super) leave: bool,
    pub(super) clients: u32,
    pub(super) seconds: u32,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(super) struct Replay {
    pub(super) path: PathBuf,
    pub(super) graph: Option<String>,
    /// None is as fast as possible.
    pub(super) speed: Option<f64>,
    pub(super) runs: u32,
    pub(super) slots: u32,
}

/// The load is warm and waits for the word to begin.
pub(super) const BEGIN: &str = "begin";

/// What was done from the word to begin until the clock was stopped.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(super) struct Loaded {
    pub(super) workflows: u64,
    pub(super) tasks: u64,
    pub(super) wall_s: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    /// What only this scenario has to say.
    #[serde(default)]
    pub(super) extra: Map<String, Value>,
}

/// What was done in all, once nothing is open any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(super) struct Closed {
    pub(super) tasks: u64,
    /// Attempts whose lease ran out first, so that they were done again.
    pub(super) lost: u64,
}

//! A fact about one agent, as receptors and the Record calls make it. Whoever made it, it takes one path.

use cambium_immune::{Action, Settlement};
use cambium_kernel::{AgentId, Score};
use chrono::{DateTime, Utc};

use crate::store::Key;
use crate::store::agent::Agent;

#[derive(Clone, Debug)]
pub(crate) struct Fact {
    /// Whose standing it moves.
    pub(crate) key: Key,
    pub(crate) what: What,
    /// Names the fact: the same one never counts twice.
    pub(crate) cause: String,
    pub(crate) run: String,
    /// When it happened; nothing: now.
    pub(crate) occurred_at: Option<DateTime<Utc>>,
    pub(crate) intensity: Score,
    /// How many signals led to it.
    pub(crate) depth: u32,
    /// What an operator said who recorded it.
    pub(crate) said: String,
    /// An agent of which nothing has been heard gets a standing by it.
    pub(crate) opens: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    /// Its output was used, by that agent if anybody knows.
    Contribution {
        receiver: Option<AgentId>,
    },
    /// It consumed in a run, and nobody used what it made.
    Consumption,
    /// It left knowledge.
    KnowledgeShare,
    Settled(Settlement),
    /// It wanted to complete what it no longer held.
    Stale,
    /// It ran into a limit of how often it may leave marks.
    RateLimited,
    Spawned {
        agent: Agent,
        is_external: bool,
    },
    Retired {
        is_draining: bool,
    },
}

/// What a fact did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// There is no such agent.
    Unknown,
    /// The answer is that of the first time, if the fact was recorded before.
    Recorded { action: Action, score: Score },
}

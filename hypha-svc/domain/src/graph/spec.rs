//! A graph as somebody wrote it: nothing here has been checked yet.

use crate::{EndStates, Timeouts};

/// A graph as it was given.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub name: String,
    pub nodes: Vec<NodeSpec>,
    pub edges: Vec<EdgeSpec>,
    pub fail_fast: bool,
    /// How many days a run is kept past its end.
    pub retain_days: u32,
    /// Empty: each run has a turn of its own.
    pub fair_key: String,
    /// Whether agents may be spawned for work that nobody can do.
    pub spawn: bool,
}

impl Spec {
    /// How long a run of a graph that does not say is kept past its end, in days (design: hypha, section 1).
    pub const RETAIN_DAYS: u32 = 30;
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            name: String::new(),
            nodes: Vec::new(),
            edges: Vec::new(),
            fail_fast: true,
            retain_days: Self::RETAIN_DAYS,
            fair_key: String::new(),
            spawn: false,
        }
    }
}

/// A node as it was given. [`NodeSpec::new`] has the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSpec {
    pub key: String,
    pub name: String,
    pub instructions: String,
    pub config: Vec<u8>,
    pub requires: Vec<String>,
    pub prefers: Vec<String>,
    pub priority: u32,
    pub retry: RetrySpec,
    pub timeouts: Timeouts,
    pub when: Option<String>,
    pub join: JoinSpec,
    /// With the joins `any` and `quorum` alone.
    pub cancel_losers: bool,
    pub fan_out: Option<String>,
    /// Empty: none is named.
    pub spawn_template: String,
}

impl NodeSpec {
    /// The priority of a node that names none.
    pub const PRIORITY: u32 = 4;

    #[must_use]
    pub fn new(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            name: String::new(),
            instructions: String::new(),
            config: Vec::new(),
            requires: Vec::new(),
            prefers: Vec::new(),
            priority: Self::PRIORITY,
            retry: RetrySpec::default(),
            timeouts: Timeouts::default(),
            when: None,
            join: JoinSpec::All,
            cancel_losers: false,
            fan_out: None,
            spawn_template: String::new(),
        }
    }
}

/// A retry policy as it was given; what is unset takes the default of [`crate::Retry`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetrySpec {
    pub max_attempts: Option<u32>,
    pub initial_ms: Option<u32>,
    pub factor_milli: Option<u32>,
    pub cap_ms: Option<u32>,
    pub non_retryable: Vec<String>,
}

/// A join as it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum JoinSpec {
    #[default]
    All,
    Any,
    Settled,
    Quorum(u32),
    Expr(String),
}

/// An edge as it was given. [`EdgeSpec::new`] has the defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeSpec {
    pub from: String,
    pub to: String,
    pub data: bool,
    pub on: EndStates,
    pub when: Option<String>,
}

impl EdgeSpec {
    #[must_use]
    pub fn new(from: &str, to: &str) -> Self {
        Self {
            from: from.to_owned(),
            to: to.to_owned(),
            data: true,
            on: EndStates::default(),
            when: None,
        }
    }
}

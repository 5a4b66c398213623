//! Every way a rule of genesis can say no.

use std::time::Duration;

use cambium_kernel::{ErrorKind, Failure, NameError};

use crate::harvest::MOST;
use crate::secret::Secret;
use crate::{AgentName, Capabilities, PatternError, PatternKind};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the agent's name {0}")]
    Name(NameError),

    #[error("capability {index} {source}")]
    Capability { index: usize, source: NameError },

    #[error("{given} capabilities are over the limit of {}", Capabilities::MOST)]
    TooManyCapabilities { given: usize },

    #[error("an agent named `{0}` is enrolled with other capabilities")]
    NameTaken(AgentName),

    #[error("agent `{0}` has retired: choose another name")]
    Retired(AgentName),

    #[error("the template's name {0}")]
    TemplateName(NameError),

    #[error("`{field}` {why}")]
    Template { field: String, why: String },

    #[error("`match_threshold` is outside 0.5 to 1")]
    Threshold,

    #[error("`{path}` looks like it holds {what}: name a secret, do not write it down")]
    SecretFound { path: String, what: Secret },

    #[error("`{}[{index}]` {why}", kind.list())]
    Pattern {
        kind: PatternKind,
        index: usize,
        why: PatternError,
    },

    #[error("{given} patterns are over the limit of {MOST}")]
    TooManyPatterns { given: usize },

    #[error("the parent is in quarantine")]
    ParentQuarantined,

    #[error("the parent is leaving or has retired")]
    ParentRetired,

    #[error("the parent is of generation {limit}, the last that there may be")]
    Generation { limit: u32 },

    #[error("the parent has had {limit} children, the most that one may have in its life")]
    Lifetime { limit: u32 },

    #[error("the parent has {limit} children that have not retired, the most at once")]
    Children { limit: u32 },

    #[error("the template has {limit} agents that have not retired, the most at once")]
    TemplateFull { limit: u32 },

    #[error("the workspace has spawned {limit} agents within a minute, the most that it may")]
    SpawnRate { limit: u32, wait: Duration },
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Name(_)
            | Self::Capability { .. }
            | Self::TooManyCapabilities { .. }
            | Self::TemplateName(_)
            | Self::Template { .. }
            | Self::Threshold
            | Self::SecretFound { .. }
            | Self::Pattern { .. }
            | Self::TooManyPatterns { .. } => ErrorKind::Invalid,
            Self::NameTaken(_) => ErrorKind::Taken,
            Self::Retired(_)
            | Self::ParentQuarantined
            | Self::ParentRetired
            | Self::Generation { .. } => ErrorKind::Refused,
            Self::Lifetime { .. }
            | Self::Children { .. }
            | Self::TemplateFull { .. }
            | Self::SpawnRate { .. } => ErrorKind::Exhausted,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Name(_) => "AGENT_NAME_INVALID",
            Self::Capability { .. } => "CAPABILITY_INVALID",
            Self::TooManyCapabilities { .. } => "CAPABILITIES_TOO_MANY",
            Self::NameTaken(_) => "AGENT_NAME_TAKEN",
            Self::Retired(_) => "AGENT_RETIRED",
            Self::TemplateName(_) => "TEMPLATE_NAME_INVALID",
            Self::Template { .. } | Self::Threshold => "TEMPLATE_INVALID",
            Self::SecretFound { .. } => "TEMPLATE_HOLDS_SECRET",
            Self::Pattern { .. } => "PATTERN_INVALID",
            Self::TooManyPatterns { .. } => "PATTERNS_TOO_MANY",
            Self::ParentQuarantined => "SPAWN_PARENT_QUARANTINED",
            Self::ParentRetired => "SPAWN_PARENT_RETIRED",
            Self::Generation { .. } => "SPAWN_GENERATION_LIMIT",
            Self::Lifetime { .. } => "SPAWN_LIFETIME_LIMIT",
            Self::Children { .. } => "SPAWN_CHILDREN_LIMIT",
            Self::TemplateFull { .. } => "SPAWN_TEMPLATE_LIMIT",
            Self::SpawnRate { .. } => "SPAWN_RATE_LIMIT",
        }
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Name(_) | Self::NameTaken(_) | Self::TemplateName(_) => Some("name".to_owned()),
            Self::Capability { index, .. } => Some(format!("capabilities[{index}]")),
            Self::TooManyCapabilities { .. } => Some("capabilities".to_owned()),
            Self::Template { field, .. } => Some(field.clone()),
            Self::Threshold => Some("match_threshold".to_owned()),
            Self::SecretFound { path, .. } => Some(path.clone()),
            Self::Pattern { kind, index, .. } => Some(format!("{}[{index}]", kind.list())),
            Self::TooManyPatterns { .. } => Some(PatternKind::Failure.list().to_owned()),
            Self::Retired(_)
            | Self::ParentQuarantined
            | Self::ParentRetired
            | Self::Generation { .. }
            | Self::Lifetime { .. }
            | Self::Children { .. }
            | Self::TemplateFull { .. }
            | Self::SpawnRate { .. } => None,
        }
    }

    fn wait(&self) -> Option<Duration> {
        if let Self::SpawnRate { wait, .. } = self {
            return Some(*wait);
        }
        None
    }
}

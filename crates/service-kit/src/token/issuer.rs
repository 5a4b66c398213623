//! Who may mint which kind of token, and for how long one may live (design: security, sections 1 and 2).

use std::fmt;

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::principal::Kind;

/// Whose key signed a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Issuer {
    /// An operator's login.
    Operator,
    /// The key that lets workers in.
    Enrolment,
    Genesis,
    Hypha,
    Swarm,
    /// A service that calls another.
    Service,
}

impl Issuer {
    pub const ALL: [Self; 6] = [
        Self::Operator,
        Self::Enrolment,
        Self::Genesis,
        Self::Hypha,
        Self::Swarm,
        Self::Service,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Enrolment => "enrolment",
            Self::Genesis => "genesis",
            Self::Hypha => "hypha",
            Self::Swarm => "swarm",
            Self::Service => "service",
        }
    }

    /// Whether this issuer may mint that kind. An operator's token for an agent must say on whose behalf (`act`).
    #[must_use]
    pub const fn may_mint(self, kind: Kind, names_actor: bool) -> bool {
        match self {
            Self::Operator => match kind {
                Kind::Operator | Kind::Viewer | Kind::Worker => true,
                // Whoever runs a scheduler or a meter of its own is let in by the operator.
                Kind::Scheduler | Kind::Meter => true,
                Kind::Agent => names_actor,
                // A mind's token ends with a turn or a session, which swarm alone knows.
                Kind::Service | Kind::Mind => false,
            },
            Self::Enrolment => matches!(kind, Kind::Worker),
            // They sign their own calls too.
            Self::Genesis | Self::Hypha => {
                matches!(kind, Kind::Agent | Kind::Worker | Kind::Service)
            }
            Self::Swarm => matches!(kind, Kind::Mind),
            Self::Service => matches!(kind, Kind::Service),
        }
    }
}

impl fmt::Display for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The longest life of a token of that kind.
#[must_use]
pub const fn max_life(kind: Kind) -> TimeDelta {
    match kind {
        Kind::Operator | Kind::Agent => TimeDelta::minutes(15),
        Kind::Worker | Kind::Mind => TimeDelta::hours(1),
        Kind::Scheduler | Kind::Meter => TimeDelta::hours(24),
        Kind::Service => TimeDelta::minutes(5),
        Kind::Viewer => TimeDelta::hours(8),
    }
}

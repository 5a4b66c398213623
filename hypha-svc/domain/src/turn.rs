//! A mind's turn, as far as its runs go: whose it is, who may do its work, and what it costs.
//! Launches no turn and charges nobody: that is swarm's.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use uuid::Uuid;

/// One launch of a mind. Swarm gives it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnId(Uuid);

impl TurnId {
    #[must_use]
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    #[must_use]
    pub const fn as_uuid(self) -> Uuid {
        self.0
    }
}

impl FromStr for TurnId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::try_parse(text).map(Self)
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_hyphenated().fmt(f)
    }
}

/// The name of a mind: a small letter, then at most 47 small letters, digits and dashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mind(Arc<str>);

impl Mind {
    const LONGEST: usize = 48;

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let follows = |one: u8| one.is_ascii_lowercase() || one.is_ascii_digit() || one == b'-';
        let is_named = text.starts_with(|one: char| one.is_ascii_lowercase())
            && text.len() <= Self::LONGEST
            && text.bytes().all(follows);
        is_named.then(|| Self(text.into()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The turn that a run is under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    pub id: TurnId,
    pub mind: Mind,
    /// The run was started for the turn itself, not by one of its tasks.
    pub is_root: bool,
}

impl Turn {
    /// As a run has it that one of the tasks under it starts.
    #[must_use]
    pub fn of_child(&self) -> Self {
        Self {
            is_root: false,
            ..self.clone()
        }
    }
}

/// Whether an agent that serves these minds may be given work of a queue: of this mind's turns, or of nobody's (empty).
#[must_use]
pub fn serves(minds: &[String], mind: &str) -> bool {
    mind.is_empty() || minds.iter().any(|one| one == mind || one == "*")
}

/// What attempts cost together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    pub metered_micro_usd: i64,
    /// What programs say of themselves.
    pub declared_micro_usd: i64,
    /// Attempts whose cost was declared or not stated.
    pub unmeasured: i64,
}

impl Bill {
    /// Adds what one attempt cost.
    pub fn charge(&mut self, micro_usd: i64, measured: bool) {
        if measured {
            self.metered_micro_usd += micro_usd;
        } else {
            self.declared_micro_usd += micro_usd;
            self.unmeasured += 1;
        }
    }

    pub fn add(&mut self, other: Self) {
        self.metered_micro_usd += other.metered_micro_usd;
        self.declared_micro_usd += other.declared_micro_usd;
        self.unmeasured += other.unmeasured;
    }

    /// What it came to; none unless all of it was measured: what is only declared lowers no charge.
    #[must_use]
    pub fn measured(&self) -> Option<i64> {
        (self.unmeasured == 0).then_some(self.metered_micro_usd)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mind_is_named_in_small_letters() {
        let longest = format!("a{}", "-".repeat(47));

        for name in ["weksa", "w", "w-2", &longest] {
            assert_eq!(Mind::parse(name).unwrap().as_str(), name);
        }
        for name in [
            "",
            "*",
            "2w",
            "-w",
            "Weksa",
            "we ksa",
            "wéksa",
            &format!("{longest}-"),
        ] {
            assert_eq!(Mind::parse(name), None, "{name}");
        }
    }

    #[test]
    fn whoever_serves_a_mind_or_all_does_its_work_and_everybody_nobodys() {
        let minds = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };

        assert!(serves(&minds(&["other", "weksa"]), "weksa"));
        assert!(serves(&minds(&["*"]), "weksa"));
        assert!(serves(&minds(&[]), ""));
        assert!(!serves(&minds(&["other"]), "weksa"));
        assert!(!serves(&minds(&[]), "weksa"));
    }

    #[test]
    fn one_attempt_that_nobody_metered_leaves_the_whole_unmeasured() {
        let mut bill = Bill::default();
        assert_eq!(bill.measured(), Some(0));

        bill.charge(7, true);
        bill.charge(5, true);
        assert_eq!(bill.measured(), Some(12));

        bill.charge(3, false);
        assert_eq!((bill.measured(), bill.declared_micro_usd), (None, 3));
    }
}

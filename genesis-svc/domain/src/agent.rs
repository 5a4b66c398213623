//! An agent, the name by which people know it, where it came from, and where in its life it is.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use cambium_kernel::{AgentId, WorkspaceId, check_name};
use chrono::{DateTime, Utc};

use crate::{Capabilities, Error, TemplateName};

/// What people call an agent. Unique in its workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentName(Arc<str>);

impl AgentName {
    // INVARIANT: 1 to 128 characters, none of them a control character.
    pub fn parse(text: &str) -> Result<Self, Error> {
        check_name(text).map_err(Error::Name)?;
        Ok(Self(text.into()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where an agent is in its life. It goes forward only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It may be given work.
    Active,
    /// It is given no new work; what it holds it may finish.
    Draining,
    /// Its life is over, and composted.
    Retired,
}

/// From which template an agent was made, and which version of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub template: TemplateName,
    pub version: i32,
}

/// Somebody who can be given work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    pub workspace: WorkspaceId,
    pub name: AgentName,
    pub capabilities: Capabilities,
    /// The minds whose turns' tasks it may be given; `*` is every one.
    pub serves_minds: BTreeSet<String>,
    pub state: State,
    pub enrolled_at: DateTime<Utc>,
    /// None of an agent from outside.
    pub origin: Option<Origin>,
    pub parent: Option<AgentId>,
    /// The first of its line: itself, if nobody spawned it.
    pub root: AgentId,
    /// How far it is from the root.
    pub generation: u32,
}

impl Agent {
    /// An agent from outside any template.
    #[must_use]
    pub fn from_outside(
        id: AgentId,
        workspace: WorkspaceId,
        name: AgentName,
        capabilities: Capabilities,
        serves_minds: BTreeSet<String>,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            id,
            workspace,
            name,
            capabilities,
            serves_minds,
            state: State::Active,
            enrolled_at: now,
            origin: None,
            parent: None,
            root: id,
            generation: 0,
        }
    }

    /// Answers a second enrolment under the same name: it is the same agent only if it can do the same for the same minds,
    /// and lives.
    pub fn enrolled_again(
        self,
        capabilities: &Capabilities,
        serves_minds: &BTreeSet<String>,
    ) -> Result<Self, Error> {
        if self.state == State::Retired {
            return Err(Error::Retired(self.name));
        }
        if self.capabilities == *capabilities && self.serves_minds == *serves_minds {
            Ok(self)
        } else {
            Err(Error::NameTaken(self.name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada(capabilities: &[&str]) -> Agent {
        Agent::from_outside(
            AgentId::generate(),
            WorkspaceId::parse("default").unwrap(),
            AgentName::parse("ada").unwrap(),
            Capabilities::parse(capabilities).unwrap(),
            BTreeSet::new(),
            DateTime::UNIX_EPOCH,
        )
    }

    #[test]
    fn whoever_can_do_the_same_is_the_same_agent() {
        let ada = ada(&["write", "review"]);
        let again = Capabilities::parse(&["review", "write", "write"]).unwrap();

        assert_eq!(
            ada.clone().enrolled_again(&again, &BTreeSet::new()),
            Ok(ada)
        );
    }

    #[test]
    fn a_name_is_not_shared_by_two_who_differ() {
        let other = Capabilities::parse(&["write"]).unwrap();

        let refused = ada(&["write", "review"]).enrolled_again(&other, &BTreeSet::new());

        assert_eq!(
            refused,
            Err(Error::NameTaken(AgentName::parse("ada").unwrap()))
        );
    }

    #[test]
    fn a_name_is_not_shared_by_two_who_serve_other_minds() {
        let ada = ada(&["write"]);
        let same = ada.capabilities.clone();
        let weksa = BTreeSet::from(["weksa".to_owned()]);

        let refused = ada.enrolled_again(&same, &weksa);

        assert!(matches!(refused, Err(Error::NameTaken(_))));
    }

    #[test]
    fn whoever_has_retired_is_not_enrolled_again() {
        let mut ada = ada(&["write"]);
        ada.state = State::Retired;
        let same = ada.capabilities.clone();

        let refused = ada.enrolled_again(&same, &BTreeSet::new());

        assert!(matches!(refused, Err(Error::Retired(_))));
    }
}

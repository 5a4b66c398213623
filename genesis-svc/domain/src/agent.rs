//! An agent that was enrolled, and the name by which people know it.

use std::fmt;
use std::sync::Arc;

use cambium_kernel::{AgentId, WorkspaceId, check_name};
use chrono::{DateTime, Utc};

use crate::{Capabilities, Error};

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

/// Where an agent is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It may be given work.
    Active,
}

/// Somebody who can be given work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    pub workspace: WorkspaceId,
    pub name: AgentName,
    pub capabilities: Capabilities,
    pub state: State,
    pub enrolled_at: DateTime<Utc>,
}

impl Agent {
    /// Answers a second enrolment under the same name: it is the same agent only if it can do the same.
    pub fn enrolled_again(self, capabilities: &Capabilities) -> Result<Self, Error> {
        if self.capabilities == *capabilities {
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
        Agent {
            id: AgentId::generate(),
            workspace: WorkspaceId::parse("default").unwrap(),
            name: AgentName::parse("ada").unwrap(),
            capabilities: Capabilities::parse(capabilities).unwrap(),
            state: State::Active,
            enrolled_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn whoever_can_do_the_same_is_the_same_agent() {
        let ada = ada(&["write", "review"]);
        let again = Capabilities::parse(&["review", "write", "write"]).unwrap();

        assert_eq!(ada.clone().enrolled_again(&again), Ok(ada));
    }

    #[test]
    fn a_name_is_not_shared_by_two_who_differ() {
        let other = Capabilities::parse(&["write"]).unwrap();

        let refused = ada(&["write", "review"]).enrolled_again(&other);

        assert_eq!(
            refused,
            Err(Error::NameTaken(AgentName::parse("ada").unwrap()))
        );
    }
}

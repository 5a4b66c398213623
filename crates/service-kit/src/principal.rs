//! Who is calling: what a verified token says, and nothing that a request's body says.
//! Grants nothing by itself: `auth` and the services decide what a principal may do.

use std::fmt;

use cambium_kernel::WorkspaceId;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// What sort of caller it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A person who answers for the house.
    Operator,
    /// One agent in one workspace; all it writes is data.
    Agent,
    /// A process that does tasks for the agents it was given.
    Worker,
    /// Another service of the house.
    Service,
    /// A person who may look.
    Viewer,
    /// One of several that share a wallet, in a turn or with its operator.
    Mind,
    /// Whoever asks for the next turn.
    Scheduler,
    /// Whoever measures what a turn cost.
    Meter,
}

impl Kind {
    pub const ALL: [Self; 8] = [
        Self::Operator,
        Self::Agent,
        Self::Worker,
        Self::Service,
        Self::Viewer,
        Self::Mind,
        Self::Scheduler,
        Self::Meter,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Agent => "agent",
            Self::Worker => "worker",
            Self::Service => "service",
            Self::Viewer => "viewer",
            Self::Mind => "mind",
            Self::Scheduler => "scheduler",
            Self::Meter => "meter",
        }
    }

    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An attempt, as a token names it. Whether its lease still holds is hypha's to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLease {
    pub task_id: String,
    pub epoch: i32,
}

/// The half of a mind that acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Organ {
    Persona,
    #[serde(rename = "self")]
    Own,
}

/// What a mind's token ends with: a live turn, or a session of its operator. Whether it still lives is swarm's to say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    pub organ: Organ,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// A caller whose token was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    pub kind: Kind,
    /// Its name within its kind: `ada`, an agent's id, `w3`, `hypha`.
    pub name: String,
    /// The workspaces it may enter; `*` is every one.
    pub workspaces: Vec<String>,
    /// The agents a worker may work for.
    pub agents: Vec<String>,
    /// The capabilities a worker may offer.
    pub capabilities: Vec<String>,
    /// On whose behalf the token was minted, where somebody acts as another.
    pub act: Option<String>,
    /// The attempt that an agent's token was minted for: what it starts is that attempt's.
    pub lease: Option<HeldLease>,
    /// Of a mind's token.
    pub fence: Option<Fence>,
    pub expires_at: DateTime<Utc>,
    pub issued_at: DateTime<Utc>,
}

impl Principal {
    /// Kind and name, as in `operator:ada`.
    #[must_use]
    pub fn subject(&self) -> String {
        format!("{}:{}", self.kind, self.name)
    }

    #[must_use]
    pub fn may_enter(&self, workspace: &WorkspaceId) -> bool {
        self.workspaces
            .iter()
            .any(|entry| entry == "*" || entry == workspace.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(workspaces: &[&str]) -> Principal {
        Principal {
            kind: Kind::Operator,
            name: "ada".to_owned(),
            workspaces: workspaces.iter().map(|&name| name.to_owned()).collect(),
            agents: Vec::new(),
            capabilities: Vec::new(),
            act: None,
            lease: None,
            fence: None,
            expires_at: DateTime::UNIX_EPOCH,
            issued_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_principal_enters_the_workspaces_it_was_given_and_no_other() {
        let north = WorkspaceId::parse("north").unwrap();

        assert!(principal(&["south", "north"]).may_enter(&north));
        assert!(principal(&["*"]).may_enter(&north));
        assert!(!principal(&["nort", "northern"]).may_enter(&north));
        assert!(!principal(&[]).may_enter(&north));
    }

    #[test]
    fn a_subject_names_kind_and_name() {
        assert_eq!(principal(&[]).subject(), "operator:ada");
    }

    #[test]
    fn every_kind_reads_back_from_its_name() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(Kind::parse("Operator"), None);
    }
}

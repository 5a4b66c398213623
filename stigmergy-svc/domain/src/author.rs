//! Who leaves marks.

use std::fmt;

use cambium_kernel::AgentId;

/// Whoever placed a mark: most often an agent, sometimes a person of the house.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Author {
    Agent(AgentId),
    /// By name.
    Operator(String),
}

const OPERATOR: &str = "operator:";

impl Author {
    /// Reads what its text form says.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix(OPERATOR) {
            Some(name) => Some(Self::Operator(name.to_owned())),
            None => text.parse().ok().map(Self::Agent),
        }
    }

    /// The agent, unless it is somebody else.
    #[must_use]
    pub const fn agent(&self) -> Option<AgentId> {
        match self {
            Self::Agent(id) => Some(*id),
            Self::Operator(_) => None,
        }
    }
}

/// An agent's id, or `operator:<name>`.
impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(id) => id.fmt(f),
            Self::Operator(name) => write!(f, "{OPERATOR}{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_reads_back_from_its_text() {
        let authors = [
            Author::Agent(AgentId::generate()),
            Author::Operator("ada: the 1st".to_owned()),
        ];
        for author in authors {
            assert_eq!(Author::parse(&author.to_string()), Some(author));
        }
        assert_eq!(Author::parse("ada"), None);
    }
}

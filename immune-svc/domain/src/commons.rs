//! Who may be taken out. By rule never more than half of those who share a capability, and never the last one: what they
//! can do must stay to be had. A person may go beyond that, and then the same count is only a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use cambium_kernel::{AgentId, Capability};

/// An agent that takes work, or would if it were not in quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub capabilities: BTreeSet<Capability>,
    pub is_out: bool,
}

/// The agents of a workspace, as far as they share a capability with somebody who may have to go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commons(BTreeMap<AgentId, Member>);

/// A cap that keeps an agent in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bite {
    pub capability: Capability,
    /// How many share the capability.
    pub sharing: usize,
    /// How many of them would be out.
    pub out: usize,
}

impl fmt::Display for Bite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            capability,
            sharing,
            out,
        } = self;
        if out == sharing {
            write!(f, "nobody would be left who can `{capability}`")
        } else {
            write!(
                f,
                "{out} of the {sharing} who can `{capability}` would be out, and half is the most"
            )
        }
    }
}

impl FromIterator<(AgentId, Member)> for Commons {
    fn from_iter<I: IntoIterator<Item = (AgentId, Member)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

impl Commons {
    /// The first cap that would be broken if the agent went too. One that is out already, or shares nothing, breaks none.
    #[must_use]
    pub fn bite(&self, agent: AgentId) -> Option<Bite> {
        let leaving = self.0.get(&agent).filter(|member| !member.is_out)?;
        leaving
            .capabilities
            .iter()
            .map(|capability| self.without(capability))
            .find(|bite| 2 * bite.out > bite.sharing)
    }

    /// How it would be with one more out.
    fn without(&self, capability: &Capability) -> Bite {
        let sharing = || {
            self.0
                .values()
                .filter(|member| member.capabilities.contains(capability))
        };
        Bite {
            capability: capability.clone(),
            sharing: sharing().count(),
            out: 1 + sharing().filter(|member| member.is_out).count(),
        }
    }

    /// Counts the agent out from now on, whatever the caps say.
    pub fn take_out(&mut self, agent: AgentId) {
        if let Some(member) = self.0.get_mut(&agent) {
            member.is_out = true;
        }
    }

    pub fn let_in(&mut self, agent: AgentId) {
        if let Some(member) = self.0.get_mut(&agent) {
            member.is_out = false;
        }
    }
}

#[cfg(test)]
mod tests;

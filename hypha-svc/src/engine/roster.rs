//! What this replica knows of agents: how they stand, how busy they are, and who of equals has waited longest.
//!
//! Holds no truth: standings are a copy of a copy, and what is busy is counted from this replica's own commits and set right by
//! a look at the store every second.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use cambium_hypha::matching::{Bid, Merits, Weights, advised};
use cambium_kernel::{AgentId, Score};

use super::registration::Registration;
use crate::store::standing::Row;

/// A registration that has not asked for work for so long has no slots any more.
const GONE: Duration = Duration::from_secs(60);
/// Looks at the store that a busy agent may miss, since its count changed while each was under way.
const STALE: u32 = 10;

/// How an agent stands.
#[derive(Clone, Copy, Debug)]
struct Standing {
    trust: Score,
    generosity: Score,
    health: Score,
    /// How much of its slots it should use.
    share: Score,
    /// Neither in quarantine nor leaving.
    may_work: bool,
}

impl Default for Standing {
    /// Of one on whom nobody has said a word.
    fn default() -> Self {
        Self {
            trust: Score::of::<500_000>(),
            generosity: Score::of::<500_000>(),
            health: Score::ONE,
            share: Score::ONE,
            may_work: true,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Member {
    standing: Standing,
    /// Leases held, promised ones among them.
    busy: u32,
    /// The number of its latest assignment here.
    last_served: u64,
    /// Slots by registration, with when it last asked for work.
    slots: BTreeMap<i32, (u32, Instant)>,
    /// Grows with each change of `busy`, so that a count read meanwhile is told from a true one.
    changes: u64,
    /// Changes whose transactions have not ended yet.
    in_flight: u32,
    /// Counts that were passed over.
    missed: u32,
}

impl Member {
    fn change(&mut self, more: i32) {
        self.busy = self.busy.saturating_add_signed(more);
        self.changes += 1;
    }

    fn slots(&self) -> u32 {
        let now = Instant::now();
        let alive = self.slots.values();
        alive
            .filter(|(_, asked)| now.duration_since(*asked) < GONE)
            .map(|(slots, _)| *slots)
            .sum()
    }

    fn may_work(&self) -> bool {
        let Standing {
            share, may_work, ..
        } = self.standing;
        may_work && (share == Score::ONE || self.busy < advised(self.slots(), share))
    }

    fn merits(&self, capability: Score) -> Merits {
        let slots = self.slots().max(1);
        Merits {
            capability,
            trust: self.standing.trust,
            health: self.standing.health,
            load: Score::ratio(slots.saturating_sub(self.busy).into(), slots.into()),
            generosity: self.standing.generosity,
        }
    }
}

/// Weights of a workspace, and how many assignments there were between two or more.
#[derive(Clone, Copy, Debug, Default)]
struct House {
    weights: Weights,
    contested: u64,
}

/// Which counts of leases may be believed: those of agents whose own has not changed since.
#[derive(Clone, Debug)]
pub(crate) struct Stamp(HashMap<AgentId, u64>);

#[derive(Debug, Default)]
pub(crate) struct Roster {
    members: HashMap<AgentId, Member>,
    houses: HashMap<String, House>,
    served: u64,
}

impl Roster {
    /// A registration asks for work for its agents.
    pub(crate) fn note_asking(&mut self, registration: &Registration) {
        let now = Instant::now();
        for agent in &registration.agents {
            let slots = &mut self.members.entry(agent.id).or_default().slots;
            if slots.len() > 1 {
                slots.retain(|_, (_, asked)| now.duration_since(*asked) < GONE);
            }
            slots.insert(registration.reg, (registration.slots, now));
        }
    }

    /// Whether an agent may be given anything at all now.
    pub(crate) fn may_work(&self, agent: AgentId) -> bool {
        self.members.get(&agent).is_none_or(Member::may_work)
    }

    /// What an agent bids for work of which it has so much of what is preferred.
    pub(crate) fn bid(&self, agent: AgentId, capability: Score) -> Option<Bid> {
        let member = self.members.get(&agent).filter(|one| one.may_work())?;
        Some(Bid {
            agent,
            merits: member.merits(capability),
            last_served: member.last_served,
        })
    }

    /// Gives the work to one of those who bid, and counts it as busy from here on.
    pub(crate) fn assign(&mut self, workspace: &str, bids: &[Bid]) -> Option<AgentId> {
        let house = match self.houses.get_mut(workspace) {
            Some(house) => house,
            None => self.houses.entry(workspace.to_owned()).or_default(),
        };
        let chosen = house.weights.choose(bids, house.contested)?.agent;
        if bids.len() > 1 {
            house.contested += 1;
        }
        self.served += 1;
        let member = self.members.get_mut(&chosen)?;
        member.last_served = self.served;
        member.change(1);
        member.in_flight += 1;
        Some(chosen)
    }

    /// Slots and how many of them are taken.
    pub(crate) fn load(&self, agent: AgentId) -> (u32, u32) {
        let member = self.members.get(&agent);
        member.map_or((0, 0), |member| (member.slots(), member.busy))
    }

    /// A promise was taken back.
    pub(crate) fn unassign(&mut self, agent: AgentId) {
        if let Some(member) = self.members.get_mut(&agent) {
            member.change(-1);
            member.in_flight = member.in_flight.saturating_sub(1);
        }
    }

    /// Leases of these agents end in a transaction that is under way, one entry each.
    pub(crate) fn release(&mut self, freed: &[AgentId]) {
        self.each(freed, |member| {
            member.change(-1);
            member.in_flight += 1;
        });
    }

    /// That transaction did not commit.
    pub(crate) fn unrelease(&mut self, freed: &[AgentId]) {
        self.each(freed, |member| {
            member.change(1);
            member.in_flight = member.in_flight.saturating_sub(1);
        });
    }

    /// What transactions changed of these agents has committed, one entry for each change.
    pub(crate) fn settle(&mut self, changed: &[AgentId]) {
        self.each(changed, |member| {
            member.in_flight = member.in_flight.saturating_sub(1);
        });
    }

    fn each(&mut self, agents: &[AgentId], with: impl Fn(&mut Member)) {
        for agent in agents {
            if let Some(member) = self.members.get_mut(agent) {
                with(member);
            }
        }
    }

    /// Those that are known here.
    pub(crate) fn agents(&self) -> Vec<AgentId> {
        self.members.keys().copied().collect()
    }

    /// Taken before leases are counted in the store.
    pub(crate) fn stamp(&self) -> Stamp {
        let settled = self.members.iter().filter(|(_, one)| one.in_flight == 0);
        Stamp(
            settled
                .map(|(agent, member)| (*agent, member.changes))
                .collect(),
        )
    }

    /// What the store says of leases held, for those whose count has not changed since the stamp.
    pub(crate) fn set_held(&mut self, stamp: &Stamp, held: &HashMap<AgentId, u32>) {
        for (agent, member) in &mut self.members {
            let is_true = stamp.0.get(agent) == Some(&member.changes);
            if is_true || member.missed >= STALE {
                member.busy = held.get(agent).copied().unwrap_or(0);
                member.missed = 0;
            } else {
                member.missed += 1;
            }
        }
    }

    /// What the store says of standings.
    pub(crate) fn set_standings(&mut self, rows: &[Row]) {
        for row in rows {
            self.members.entry(row.agent).or_default().standing = Standing {
                trust: row.trust,
                generosity: row.generosity,
                health: row.health,
                share: row.share,
                may_work: !row.quarantined && row.leaving == 0,
            };
        }
    }

    /// What the workspaces that have any say of weights.
    pub(crate) fn set_weights(&mut self, weights: Vec<(String, Weights)>) {
        for (workspace, weights) in weights {
            self.houses.entry(workspace).or_default().weights = weights;
        }
    }
}

#[cfg(test)]
mod tests;

//! Who gets a task, of those who may have it (design: hypha, section 6). Weighs; knows neither offers nor queues, and never
//! turns everybody down.

use std::cmp::Reverse;

use cambium_kernel::{AgentId, Score};

use crate::Error;

/// How much each merit counts in a workspace, and how often the longest waiting is tried instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    // INVARIANT: the five sum to one.
    capability: Score,
    trust: Score,
    health: Score,
    load: Score,
    generosity: Score,
    explore_every: u32,
}

/// The five weights as somebody gave them, in the order of the design's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    pub capability: Score,
    pub trust: Score,
    pub health: Score,
    pub load: Score,
    pub generosity: Score,
}

impl Shares {
    const fn as_array(self) -> [Score; 5] {
        [
            self.capability,
            self.trust,
            self.health,
            self.load,
            self.generosity,
        ]
    }
}

impl Weights {
    /// Refuses weights that do not sum to one, exactly to a millionth.
    pub fn new(shares: Shares, explore_every: u32) -> Result<Self, Error> {
        let sum: i64 = shares
            .as_array()
            .iter()
            .map(|share| i64::from(share.as_millionths()))
            .sum();
        if sum != i64::from(Score::ONE.as_millionths()) {
            return Err(Error::Weights(sum));
        }
        let Shares {
            capability,
            trust,
            health,
            load,
            generosity,
        } = shares;
        Ok(Self {
            capability,
            trust,
            health,
            load,
            generosity,
            explore_every,
        })
    }

    #[must_use]
    pub const fn shares(&self) -> Shares {
        Shares {
            capability: self.capability,
            trust: self.trust,
            health: self.health,
            load: self.load,
            generosity: self.generosity,
        }
    }

    /// Of so many contested assignments one goes to whoever has waited longest; 0: none does.
    #[must_use]
    pub const fn explore_every(&self) -> u32 {
        self.explore_every
    }

    /// The weighted sum of the merits, in millionths of millionths.
    #[must_use]
    pub fn score(&self, merits: &Merits) -> u64 {
        let weights = self.shares().as_array();
        let product = |(weight, merit): (Score, Score)| {
            u64::from(weight.as_millionths().unsigned_abs())
                * u64::from(merit.as_millionths().unsigned_abs())
        };
        weights
            .into_iter()
            .zip(merits.as_array())
            .map(product)
            .sum()
    }

    /// The one that gets the work. `contested` counts the workspace's earlier assignments between two or more.
    ///
    /// The highest score; of equal ones who has waited longest, then the lower id. Every so often the merits do not count, so
    /// that newcomers and the recovered are tried.
    #[must_use]
    pub fn choose<'a>(&self, bids: &'a [Bid], contested: u64) -> Option<&'a Bid> {
        let explores = self.explore_every > 0
            && bids.len() > 1
            && (contested + 1).is_multiple_of(u64::from(self.explore_every));
        let patience = |bid: &&Bid| (bid.last_served, bid.agent);
        if explores {
            return bids.iter().min_by_key(patience);
        }
        bids.iter()
            .max_by_key(|bid| (self.score(&bid.merits), Reverse(patience(bid))))
    }
}

impl Default for Weights {
    /// The seed's table is lost; these are ours (design: hypha, section 6).
    fn default() -> Self {
        Self {
            capability: Score::of::<350_000>(),
            trust: Score::of::<200_000>(),
            health: Score::of::<150_000>(),
            load: Score::of::<150_000>(),
            generosity: Score::of::<150_000>(),
            explore_every: 20,
        }
    }
}

/// What speaks for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merits {
    /// The share of what the node prefers that it has; one if nothing is preferred.
    pub capability: Score,
    pub trust: Score,
    pub health: Score,
    /// The share of its slots that is free.
    pub load: Score,
    pub generosity: Score,
}

impl Merits {
    const fn as_array(self) -> [Score; 5] {
        [
            self.capability,
            self.trust,
            self.health,
            self.load,
            self.generosity,
        ]
    }
}

/// An agent that may have the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bid {
    pub agent: AgentId,
    pub merits: Merits,
    /// The number of its latest assignment; 0: it never had one.
    pub last_served: u64,
}

/// The slots that an agent should use of those it has: a share of them, and never none.
#[must_use]
pub fn advised(slots: u32, share: Score) -> u32 {
    let millionths = u64::from(share.as_millionths().unsigned_abs());
    let part = u64::from(slots) * millionths / 1_000_000;
    u32::try_from(part).unwrap_or(slots).clamp(1, slots.max(1))
}

#[cfg(test)]
mod tests;

//! Whose turn it is: the mind that has used least for its share. Launches nothing, and never asks how long a mind has waited
//! (design: swarm, section 6, `tick`).

use std::cmp::Reverse;

use crate::share::EffectiveShare;
use crate::timeline::Vtime;
use crate::{Instance, Why};

/// A mind that could have the next turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub instance: Instance,
    pub vtime: Vtime,
    pub share: EffectiveShare,
}

impl Candidate {
    /// Whether its turn is before another's.
    #[must_use]
    pub fn is_before(&self, other: &Self) -> bool {
        self.place() < other.place()
    }

    /// Least vtime first, then the larger effective share, then the name in byte order.
    fn place(&self) -> (Vtime, Reverse<EffectiveShare>, &Instance) {
        (self.vtime, Reverse(self.share), &self.instance)
    }
}

/// How many candidates a tick looks at, and a grant remembers.
pub const MOST: usize = 16;

/// The runnable minds in their order, no more than the first [`MOST`].
#[must_use]
pub fn order(mut runnable: Vec<Candidate>) -> Vec<Candidate> {
    runnable.sort_by(|a, b| a.place().cmp(&b.place()));
    runnable.truncate(MOST);
    runnable
}

/// Whose turn it is, and who was passed over on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    pub winner: Option<Candidate>,
    pub passed_over: Vec<(Instance, Why)>,
}

/// The first candidate that nothing stands against when it is looked at for the last time: its launch row locked, its persona
/// read, its brake read last of all.
pub fn choose(
    candidates: &[Candidate],
    mut last_look: impl FnMut(&Candidate) -> Option<Why>,
) -> Choice {
    let mut passed_over = Vec::new();
    for candidate in candidates {
        match last_look(candidate) {
            Some(why) => passed_over.push((candidate.instance.clone(), why)),
            None => {
                return Choice {
                    winner: Some(candidate.clone()),
                    passed_over,
                };
            }
        }
    }
    Choice {
        winner: None,
        passed_over,
    }
}

/// The minds whose share cannot be reached while slots are the limit: eff · min(k, n) > Σ eff, since a mind has one slot.
/// Reported, never repaired.
#[must_use]
pub fn infeasible(members: &[(Instance, EffectiveShare)], k: u32) -> Vec<Instance> {
    let slots = i128::try_from(members.len())
        .unwrap_or(i128::MAX)
        .min(k.into());
    let sum: i128 = members
        .iter()
        .map(|(_, share)| i128::from(share.as_ppm()))
        .sum();
    let over = members
        .iter()
        .filter(|(_, share)| i128::from(share.as_ppm()) * slots > sum);
    over.map(|(mind, _)| mind.clone()).collect()
}

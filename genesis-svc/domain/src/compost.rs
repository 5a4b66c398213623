//! What an agent's life leaves to its template: which learnings it confirms, which patterns wait for company, which have
//! found it, and which learnings fade. No single voice makes wisdom: it takes three lineages, and an heir has no voice.

mod promotion;

#[cfg(test)]
mod garden;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod mast;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use cambium_kernel::{AgentId, Score};

use crate::harvest::Found;
use crate::learning::Learning;
use crate::{LearningId, Pattern};

pub use promotion::Promotion;

/// Only an agent above this has anything to say. Exactly at it is not enough.
pub const GATE: Score = Score::of::<800_000>();

/// So many composts of its template a learning lives on without being confirmed.
const PATIENCE: i64 = 20;

/// An agent that has ended, as its template hears of it.
#[derive(Clone, Debug)]
pub struct Life {
    pub agent: AgentId,
    /// The first of its line. One lineage is one voice.
    pub lineage: AgentId,
    pub success: Score,
    /// It is in quarantine: nothing it says counts.
    pub is_quarantined: bool,
    pub found: Vec<Found>,
    /// What it was spawned with.
    pub inherited: Vec<(LearningId, Pattern)>,
    /// The learnings that its lineage has confirmed before.
    pub confirmed: BTreeSet<LearningId>,
}

/// A pattern of a record that waits for company.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub agent: AgentId,
    pub lineage: AgentId,
    pub success: Score,
    /// Its place in the record.
    pub position: usize,
    pub pattern: Pattern,
    /// The compost of the template that brought it.
    pub compost: i64,
}

/// What the template holds when an agent is composted.
#[derive(Clone, Debug)]
pub struct Soil {
    /// Counts the composts of the template, this one included.
    pub compost: i64,
    pub threshold: Score,
    pub learnings: Vec<Learning>,
    /// Of earlier records: at least all that match a pattern of this one, and all that match those.
    pub candidates: Vec<Candidate>,
}

/// What is to be done. Each learning stands in one list at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Yield {
    /// One voice more each: this agent's.
    pub confirmed: Vec<LearningId>,
    /// Seen again, by somebody without a voice.
    pub refreshed: Vec<LearningId>,
    /// What this record adds to those that wait.
    pub candidates: Vec<Candidate>,
    pub promoted: Vec<Promotion>,
    /// One loss more each.
    pub faded: Vec<LearningId>,
    /// Those of the above that are worth nothing any more.
    pub removed: Vec<LearningId>,
}

/// Decides what an agent's life leaves behind.
#[must_use]
pub fn compost(soil: &Soil, life: &Life) -> Yield {
    let mut result = Yield::default();
    if life.success > GATE && !life.is_quarantined {
        for (position, found) in life.found.iter().enumerate() {
            hear(soil, life, position, found, &mut result);
        }
        let confirmed = &result.confirmed;
        result.refreshed.retain(|id| !confirmed.contains(id));
    }
    promotion::promote(soil, &mut result);
    fade(soil, life.success, &mut result);
    result
}

/// One pattern of the record: it confirms, refreshes, or waits.
fn hear(soil: &Soil, life: &Life, position: usize, found: &Found, result: &mut Yield) {
    let is_heir = life.is_heir_of(&found.pattern, soil.threshold);
    let Some(learning) = soil.nearest(&found.pattern) else {
        if !is_heir {
            result.candidates.push(Candidate {
                agent: life.agent,
                lineage: life.lineage,
                success: life.success,
                position,
                pattern: found.pattern.clone(),
                compost: soil.compost,
            });
        }
        return;
    };
    let inherited = life.inherited.iter().any(|(id, _)| *id == learning.id);
    let has_voice = !is_heir && !inherited && !life.confirmed.contains(&learning.id);
    let list = match (has_voice, found.is_evidence) {
        (true, _) => &mut result.confirmed,
        (false, true) => &mut result.refreshed,
        (false, false) => return,
    };
    if !list.contains(&learning.id) {
        list.push(learning.id);
    }
}

impl Life {
    /// Whether it was told so when it was spawned, by a learning that lives or by one that is gone.
    fn is_heir_of(&self, pattern: &Pattern, threshold: Score) -> bool {
        let mut told = self.inherited.iter();
        told.any(|(_, inherited)| inherited.matches(pattern, threshold))
    }
}

impl Soil {
    /// The learning that a pattern matches; of several the most similar, then the first by text.
    fn nearest(&self, pattern: &Pattern) -> Option<&Learning> {
        let matching = self
            .learnings
            .iter()
            .filter(|learning| learning.pattern.matches(pattern, self.threshold));
        matching.min_by_key(|learning| {
            let similarity = learning.pattern.normal().similarity(pattern.normal());
            (Reverse(similarity), &learning.pattern, learning.id)
        })
    }
}

/// What nobody has confirmed for long loses; what is worth nothing goes.
fn fade(soil: &Soil, success: Score, result: &mut Yield) {
    for learning in &soil.learnings {
        let mut after = learning.clone();
        if result.confirmed.contains(&learning.id) {
            after.voices += 1;
            after.success_sum += u64::from(success.as_millionths().unsigned_abs());
        } else if result.refreshed.contains(&learning.id) {
            continue;
        } else if soil.compost - learning.confirmed_at >= PATIENCE {
            after.losses += 1;
            result.faded.push(learning.id);
        } else {
            continue;
        }
        if after.correlation() == Score::default() {
            result.removed.push(learning.id);
        }
    }
}

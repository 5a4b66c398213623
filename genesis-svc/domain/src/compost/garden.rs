//! A template in memory, for tests: does what each compost says, as a database would.

use std::collections::{BTreeMap, BTreeSet};

use cambium_kernel::{AgentId, Score};
use uuid::Uuid;

use super::*;
use crate::PatternKind;
use crate::matching::THRESHOLD;

#[derive(Clone, Debug)]
pub(super) struct Garden {
    pub(super) soil: Soil,
    pub(super) voices: BTreeMap<LearningId, Vec<Candidate>>,
    pub(super) removed: BTreeSet<LearningId>,
}

impl Default for Garden {
    fn default() -> Self {
        Self {
            soil: Soil {
                compost: 0,
                threshold: THRESHOLD,
                learnings: Vec::new(),
                candidates: Vec::new(),
            },
            voices: BTreeMap::new(),
            removed: BTreeSet::new(),
        }
    }
}

pub(super) fn agent(n: u64) -> AgentId {
    AgentId::from_uuid(Uuid::from_u128(u128::from(n)))
}

pub(super) fn failure(text: &str) -> Found {
    Found {
        pattern: Pattern::parse(PatternKind::Failure, text).unwrap(),
        is_evidence: true,
        times: 1,
    }
}

/// An agent that is the first of its line.
pub(super) fn life(n: u64, success: i32, found: Vec<Found>) -> Life {
    Life {
        agent: agent(n),
        lineage: agent(n),
        success: Score::from_millionths(success).unwrap(),
        is_quarantined: false,
        found,
        inherited: Vec::new(),
        confirmed: BTreeSet::new(),
    }
}

impl Garden {
    pub(super) fn compost(&mut self, mut life: Life) -> Yield {
        self.soil.compost += 1;
        let voices = self.voices.iter();
        life.confirmed = voices
            .filter(|(_, voices)| voices.iter().any(|voice| voice.lineage == life.lineage))
            .map(|(id, _)| *id)
            .collect();
        let result = compost(&self.soil, &life);
        self.apply(&life, &result);
        result
    }

    fn apply(&mut self, life: &Life, result: &Yield) {
        for learning in &mut self.soil.learnings {
            if result.confirmed.contains(&learning.id) {
                let voice = Candidate {
                    agent: life.agent,
                    lineage: life.lineage,
                    success: life.success,
                    position: 0,
                    pattern: learning.pattern.clone(),
                    compost: self.soil.compost,
                };
                self.voices.entry(learning.id).or_default().push(voice);
                learning.voices += 1;
                learning.success_sum += u64::from(life.success.as_millionths().unsigned_abs());
            }
            if result.confirmed.contains(&learning.id) || result.refreshed.contains(&learning.id) {
                learning.confirmed_at = self.soil.compost;
            }
            if result.faded.contains(&learning.id) {
                learning.losses += 1;
            }
        }
        let removed = &result.removed;
        self.soil
            .learnings
            .retain(|learning| !removed.contains(&learning.id));
        self.removed.extend(removed);
        self.soil.candidates.extend(result.candidates.clone());
        for promotion in &result.promoted {
            self.plant(promotion);
        }
    }

    fn plant(&mut self, promotion: &Promotion) {
        let Promotion {
            pattern,
            voices,
            spoken_for,
        } = promotion;
        let id = LearningId::from_uuid(Uuid::from_u128(self.voices.len() as u128 + 1));
        let sum = voices
            .iter()
            .map(|voice| u64::from(voice.success.as_millionths().unsigned_abs()));
        self.soil.learnings.push(Learning {
            id,
            pattern: pattern.clone(),
            voices: u32::try_from(voices.len()).unwrap(),
            success_sum: sum.sum(),
            losses: 0,
            confirmed_at: self.soil.compost,
        });
        self.voices.insert(id, voices.clone());
        self.soil
            .candidates
            .retain(|candidate| !spoken_for.contains(candidate));
    }

    /// An agent that was spawned now, with all that is known.
    pub(super) fn heir(&self, n: u64, success: i32, found: Vec<Found>) -> Life {
        let known = self.soil.learnings.iter();
        Life {
            inherited: known.map(|one| (one.id, one.pattern.clone())).collect(),
            ..life(n, success, found)
        }
    }

    pub(super) fn learned(&self) -> Vec<&str> {
        self.soil
            .learnings
            .iter()
            .map(|one| one.pattern.as_str())
            .collect()
    }
}

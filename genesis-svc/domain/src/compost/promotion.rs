//! When a pattern has been told by enough who did not know of one another.

use std::collections::{BTreeMap, BTreeSet};

use cambium_kernel::AgentId;

use super::{Candidate, Soil, Yield};
use crate::learning::Learning;
use crate::matching::Normal;
use crate::{Pattern, PatternKind};

/// So many lineages make a learning.
const LINEAGES: usize = 3;

/// A pattern that becomes a learning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promotion {
    pub pattern: Pattern,
    /// One candidate of each lineage: its first.
    pub voices: Vec<Candidate>,
    /// All candidates that it speaks for, those of `voices` included. They wait no longer.
    pub spoken_for: Vec<Candidate>,
}

/// Patterns that read the same, and so find the same company.
type Group<'a> = BTreeMap<(PatternKind, &'a Normal), Vec<&'a Candidate>>;

/// Promotes as long as some pattern qualifies: of several, the first by text.
pub(super) fn promote(soil: &Soil, result: &mut Yield) {
    let added = result.candidates.clone();
    let mut pool: Vec<&Candidate> = soil.candidates.iter().chain(&added).collect();
    pool.retain(|candidate| {
        let mut known = soil.learnings.iter();
        !known.any(|learning| learning.pattern.matches(&candidate.pattern, soil.threshold))
    });
    let room = Learning::MOST.saturating_sub(soil.learnings.len());
    while result.promoted.len() < room {
        let Some(promotion) = next(soil, &pool) else {
            return;
        };
        pool.retain(|candidate| !promotion.spoken_for.contains(candidate));
        result.promoted.push(promotion);
    }
}

fn next(soil: &Soil, pool: &[&Candidate]) -> Option<Promotion> {
    let mut groups = Group::new();
    for candidate in pool {
        let key = (candidate.pattern.kind(), candidate.pattern.normal());
        groups.entry(key).or_default().push(candidate);
    }
    let qualified = groups
        .values()
        .filter(|group| has_enough(&company(soil, &groups, &group[0].pattern)));
    let chosen = qualified
        .flatten()
        .map(|candidate| &candidate.pattern)
        .min()?;
    let present = company(soil, &groups, chosen);
    Some(Promotion {
        pattern: chosen.clone(),
        voices: firsts(&present),
        spoken_for: present.into_iter().cloned().collect(),
    })
}

/// The candidates that match this one. Matching is not transitive: they need not match each other.
fn company<'a>(soil: &Soil, groups: &Group<'a>, pattern: &Pattern) -> Vec<&'a Candidate> {
    let matching = groups
        .values()
        .filter(|group| group[0].pattern.matches(pattern, soil.threshold));
    matching.flatten().copied().collect()
}

fn has_enough(present: &[&Candidate]) -> bool {
    let lineages: BTreeSet<AgentId> = present.iter().map(|candidate| candidate.lineage).collect();
    lineages.len() >= LINEAGES
}

/// The first candidate of each lineage, by when it came.
fn firsts(present: &[&Candidate]) -> Vec<Candidate> {
    let mut firsts: BTreeMap<AgentId, &Candidate> = BTreeMap::new();
    for candidate in present {
        let rank = |candidate: &Candidate| (candidate.compost, candidate.agent, candidate.position);
        let first = firsts.entry(candidate.lineage).or_insert(candidate);
        if rank(candidate) < rank(first) {
            *first = candidate;
        }
    }
    firsts.into_values().cloned().collect()
}

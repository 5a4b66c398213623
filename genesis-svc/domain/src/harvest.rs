//! What is kept of an agent's evidence: how its tasks failed, and which way they went well, the most frequent first.
//! Takes no agent's word for evidence: what one adds itself is marked as such.

use std::cmp::Reverse;

use cambium_kernel::Score;

use crate::compost::GATE;
use crate::matching::Normal;
use crate::{Pattern, PatternKind, secret};

/// Patterns of one record, both kinds together.
pub const MOST: usize = 50;

/// A way went well if it did so often enough to be no accident.
const OFTEN: u64 = 3;

/// How often something happened in an agent's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    pub pattern: Pattern,
    /// Tasks that ended like this or on this way.
    pub ended: u64,
    /// Those of them that succeeded.
    pub succeeded: u64,
}

/// A pattern of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub pattern: Pattern,
    /// It comes from tasks that ended, whoever else lists it.
    pub is_evidence: bool,
    /// How often; 0 for what was only added.
    pub times: u64,
}

/// How a task failed: its code, and the normal form of what its worker said. Nothing if that looks like a secret.
#[must_use]
pub fn failure(code: &str, detail: &str) -> Option<Pattern> {
    if secret::find(detail).is_some() {
        return None;
    }
    let text = format!("{code} {}", Normal::of(detail).as_str());
    Pattern::parse(PatternKind::Failure, clipped(text.trim())).ok()
}

/// A capability that a task asked for.
#[must_use]
pub fn capability(name: &str) -> Option<Pattern> {
    Pattern::parse(PatternKind::Routing, clipped(&format!("can {name}"))).ok()
}

/// A node whose output a task was given.
#[must_use]
pub fn upstream(node: &str) -> Option<Pattern> {
    Pattern::parse(PatternKind::Routing, clipped(&format!("after {node}"))).ok()
}

/// So much of a text as a pattern holds.
fn clipped(text: &str) -> &str {
    let end = text.char_indices().nth(Pattern::MOST_CHARACTERS);
    end.map_or(text, |(end, _)| &text[..end])
}

/// The record's patterns: all that were added, then the most frequent of the evidence, as far as there is room.
#[must_use]
pub fn harvest(added: Vec<Pattern>, mut tallies: Vec<Tally>) -> Vec<Found> {
    tallies.retain(is_worth_keeping);
    tallies.sort_by(|a, b| {
        let rank = |tally: &Tally| Reverse(weight(tally));
        (rank(a), &a.pattern).cmp(&(rank(b), &b.pattern))
    });
    let mut kept: Vec<Found> = Vec::new();
    for pattern in added {
        let is_new = kept.iter().all(|found| !is_same(&found.pattern, &pattern));
        if is_new {
            kept.push(Found {
                pattern,
                is_evidence: false,
                times: 0,
            });
        }
    }
    for tally in tallies {
        let times = weight(&tally);
        let listed = kept
            .iter()
            .position(|found| is_same(&found.pattern, &tally.pattern));
        if let Some(index) = listed {
            kept[index].is_evidence = true;
            kept[index].times += times;
        } else if kept.len() < MOST {
            kept.push(Found {
                pattern: tally.pattern,
                is_evidence: true,
                times,
            });
        }
    }
    kept
}

fn is_same(one: &Pattern, other: &Pattern) -> bool {
    one.kind() == other.kind() && one.normal() == other.normal()
}

fn is_worth_keeping(tally: &Tally) -> bool {
    match tally.pattern.kind() {
        PatternKind::Failure => weight(tally) > 0,
        PatternKind::Routing => {
            tally.succeeded >= OFTEN && Score::ratio(tally.succeeded, tally.ended) > GATE
        }
    }
}

const fn weight(tally: &Tally) -> u64 {
    match tally.pattern.kind() {
        PatternKind::Failure => tally.ended.saturating_sub(tally.succeeded),
        PatternKind::Routing => tally.succeeded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(pattern: Option<Pattern>, ended: u64, succeeded: u64) -> Tally {
        Tally {
            pattern: pattern.unwrap(),
            ended,
            succeeded,
        }
    }

    fn texts(found: &[Found]) -> Vec<&str> {
        found.iter().map(|found| found.pattern.as_str()).collect()
    }

    #[test]
    fn the_most_frequent_comes_first_and_ties_go_by_text() {
        let tallies = vec![
            tally(failure("B", "late"), 2, 0),
            tally(failure("A", "late"), 2, 0),
            tally(failure("C", "Over 30 s"), 7, 0),
            tally(capability("write"), 10, 9),
        ];

        let found = harvest(Vec::new(), tallies);

        assert_eq!(
            texts(&found),
            ["can write", "C over # s", "A late", "B late"]
        );
        assert_eq!(found[0].times, 9);
    }

    #[test]
    fn a_way_goes_well_three_times_and_mostly() {
        let tallies = vec![
            tally(upstream("rare"), 2, 2),
            tally(upstream("good"), 3, 3),
            tally(upstream("edge"), 10, 8),
        ];

        assert_eq!(texts(&harvest(Vec::new(), tallies)), ["after good"]);
    }

    #[test]
    fn what_an_agent_only_lists_is_no_evidence() {
        let added = |text| Pattern::parse(PatternKind::Failure, text).unwrap();
        let tallies = vec![tally(failure("TIMEOUT", "after 3 s"), 4, 0)];

        let found = harvest(vec![added("timeout: after 9 s"), added("mood")], tallies);

        assert_eq!(texts(&found), ["timeout: after 9 s", "mood"]);
        assert!(found[0].is_evidence && !found[1].is_evidence);
    }

    #[test]
    fn a_record_holds_50_patterns() {
        let word = |n: u64| char::from(b'a' + u8::try_from(n % 26).unwrap()).to_string();
        let text = |n: u64| word(n / 26).repeat(3) + &word(n).repeat(3);
        let tallies = (0..60).map(|n| tally(failure(&text(n), ""), 60 - n, 0));

        let found = harvest(Vec::new(), tallies.collect());

        assert_eq!(found.len(), MOST);
        assert_eq!(found[0].times, 60);
    }

    #[test]
    fn a_detail_that_holds_a_secret_is_not_kept() {
        assert_eq!(failure("AUTH", "postgres://app:hush@db/app"), None);
        assert!(capability(&"x".repeat(2_000)).is_some());
    }
}

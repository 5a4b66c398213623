//! What reaches no further than it may: turns stay within their slots, loans within their lender's half, and no launch passes a brake.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::super::Verdict;
use super::super::rows::{Swarm, Turn, Version};

/// I-W7: no two turns share a slot or a mind at one time, and no more than k live.
pub(super) fn slots(swarm: &Swarm) -> Verdict {
    let mut verdict = Verdict::of("I-W7");
    let mut turns: Vec<&Turn> = swarm.turns.values().collect();
    turns.sort_by_key(|turn| (turn.launched_at, turn.turn_id));
    let mut by_slot: BTreeMap<i32, &Turn> = BTreeMap::new();
    let mut by_mind: BTreeMap<&str, &Turn> = BTreeMap::new();
    for turn in turns {
        let before = [
            by_slot.insert(turn.slot, turn),
            by_mind.insert(&turn.instance, turn),
        ];
        for other in before.into_iter().flatten() {
            let is_over = other
                .ended_at
                .is_some_and(|ended| ended <= turn.launched_at);
            verdict.check(is_over, || {
                format!(
                    "turns {} and {} were alive at once",
                    other.turn_id, turn.turn_id
                )
            });
        }
        let k = swarm.grants.get(&turn.turn_id).map_or(0, |grant| grant.k);
        verdict.check(turn.slot < k, || {
            format!("turn {} had slot {} of {k}", turn.turn_id, turn.slot)
        });
    }
    verdict
}

/// What was in force of one mind's control at an instant.
fn at<'a>(swarm: &'a Swarm, what: &str, mind: &str, when: DateTime<Utc>) -> Option<&'a Version> {
    let mut own = swarm
        .versions
        .iter()
        .filter(|version| version.what == what && version.instance == mind);
    own.rfind(|version| version.at <= when)
}

/// I-W8: what a mind has lent at any time is at most half of its own share, and ends within a day.
pub(super) fn conservation(swarm: &Swarm) -> Verdict {
    let mut verdict = Verdict::of("I-W8");
    for loan in &swarm.loans {
        verdict.check(loan.until_at - loan.from_at <= TimeDelta::hours(24), || {
            format!("a loan of {} lasts over a day", loan.lender)
        });
        let active = swarm.loans.iter().filter(|other| {
            let ends = other.ended_at.unwrap_or(other.until_at).min(other.until_at);
            other.lender == loan.lender && other.from_at <= loan.from_at && loan.from_at < ends
        });
        let lent: i64 = active.map(|other| other.share_ppm).sum();
        let version = at(swarm, "share", &loan.lender, loan.from_at);
        let own = version.and_then(|version| version.value.as_ref());
        let own = own
            .and_then(|value| value["share_ppm"].as_i64())
            .unwrap_or(0);
        verdict.check(2 * lent <= own, || {
            format!("{} has lent {lent} of {own}", loan.lender)
        });
    }
    verdict
}

/// I-W9: no launch while the brake was held, and no turn that outlived a hold.
pub(super) fn brake(swarm: &Swarm) -> Verdict {
    let mut verdict = Verdict::of("I-W9");
    let is_released = |version: Option<&Version>| {
        let value = version.and_then(|version| version.value.as_ref());
        value.is_some_and(|value| value["released"] == Value::Bool(true))
    };
    for turn in swarm.turns.values() {
        let then = at(swarm, "brake", &turn.instance, turn.launched_at);
        verdict.check(is_released(then), || {
            format!(
                "turn {} of {} was launched under a held brake",
                turn.turn_id, turn.instance
            )
        });
        let now = at(swarm, "brake", &turn.instance, swarm.now);
        if let Some(held) = now.filter(|_| turn.is_live() && !is_released(now)) {
            verdict.check(swarm.now - held.at <= TimeDelta::seconds(150), || {
                format!("turn {} outlived the hold of {}", turn.turn_id, held.at)
            });
        }
    }
    verdict
}

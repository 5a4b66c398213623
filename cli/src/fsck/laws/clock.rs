//! What the clocks say: each is the sum of its turns' steps, and nobody's sleep is banked.

use std::collections::BTreeMap;

use super::super::Verdict;
use super::super::rows::{Charge, Swarm, Turn, VtimeEvent};

/// I-W1: one charge a turn that ran, by the figures of its launch; each mind's clock is the chain of its events; the bucket falls by
/// each cost, once.
pub(super) fn exact_ledger(swarm: &Swarm) -> Verdict {
    let mut verdict = Verdict::of("I-W1");
    for turn in swarm.turns.values() {
        let charge = swarm.charges.get(&turn.turn_id);
        let is_due = turn.state == "settled" || turn.outcome.as_deref() == Some("late_start");
        verdict.check(charge.is_some() == is_due, || {
            format!(
                "turn {} is {}, and {}",
                turn.turn_id,
                turn.state,
                has(charge.is_some(), "a charge")
            )
        });
        if let Some(charge) = charge {
            verdict.check(charge.vdelta == vdelta(turn, charge), || {
                format!(
                    "the charge of turn {} moved the clock by {}",
                    turn.turn_id, charge.vdelta
                )
            });
        }
    }
    let strays = swarm
        .charges
        .keys()
        .filter(|id| !swarm.turns.contains_key(id));
    for id in strays {
        verdict.check(false, || {
            format!("a charge names turn {id}, which there is not")
        });
    }
    chains(swarm, &mut verdict);
    debits(swarm, &mut verdict);
    verdict
}

fn has(is: bool, what: &str) -> String {
    format!("has {}{what}", if is { "" } else { "not " })
}

/// The clock's step: the cost, at least the floor, over share and haste, rounded up.
fn vdelta(turn: &Turn, charge: &Charge) -> i64 {
    let weight = i128::from(turn.share_ppm) * i128::from(turn.haste_ppm);
    let cost = i128::from(charge.cost.max(turn.floor)) * 1_000_000_000_000;
    if weight <= 0 {
        return -1;
    }
    i64::try_from((cost + weight - 1) / weight).unwrap_or(-1)
}

/// Each event begins where the one before ended, numbers have no gap, and the last is what the row says.
fn chains(swarm: &Swarm, verdict: &mut Verdict) {
    let mut last: BTreeMap<&str, &VtimeEvent> = BTreeMap::new();
    for event in &swarm.vtimes {
        if let Some(before) = last.insert(&event.instance, event) {
            verdict.check(
                before.after == event.before && before.seq + 1 == event.seq,
                || {
                    format!(
                        "event {} of {} does not follow the one before",
                        event.seq, event.instance
                    )
                },
            );
        }
        if event.kind == "charge" {
            let charge = event.turn_id.and_then(|id| swarm.charges.get(&id));
            verdict.check(
                charge.is_some_and(|charge| event.after - event.before == charge.vdelta),
                || format!("event {} of {} is no charge's", event.seq, event.instance),
            );
        }
    }
    let charged = swarm
        .vtimes
        .iter()
        .filter(|event| event.kind == "charge")
        .count();
    let has_base = swarm.vtimes.iter().any(|event| event.kind == "base");
    verdict.check(has_base || charged == swarm.charges.len(), || {
        format!(
            "{charged} steps of clocks for {} charges",
            swarm.charges.len()
        )
    });
    for seat in &swarm.seats {
        if let Some(event) = last.get(seat.instance.as_str()) {
            verdict.check(event.after == seat.vtime, || {
                format!(
                    "the clock of {} is {}, its log says {}",
                    seat.instance, seat.vtime, event.after
                )
            });
        }
    }
}

/// Every charge took its cost from the bucket, and nothing else did.
fn debits(swarm: &Swarm, verdict: &mut Verdict) {
    let mut taken: BTreeMap<uuid::Uuid, i64> = BTreeMap::new();
    for event in swarm.buckets.iter().filter(|event| event.kind == "settle") {
        if let Some(turn) = event.turn_id {
            *taken.entry(turn).or_default() += event.before - event.after;
        }
    }
    let has_base = swarm.buckets.iter().any(|event| event.kind == "base");
    for charge in swarm.charges.values() {
        let taken = taken.get(&charge.turn_id);
        verdict.check(
            taken == Some(&charge.cost) || (has_base && taken.is_none()),
            || {
                format!(
                    "turn {} cost {}, the bucket gave {taken:?}",
                    charge.turn_id, charge.cost
                )
            },
        );
    }
}

/// I-W6: who became a member came to the least clock or stood beyond it, and no member is behind it now.
pub(super) fn no_banking(swarm: &Swarm) -> Verdict {
    let mut verdict = Verdict::of("I-W6");
    for event in swarm.vtimes.iter().filter(|event| event.kind == "clamp") {
        verdict.check(event.after >= event.before, || {
            format!(
                "a clamp moved the clock of {} back to {}",
                event.instance, event.after
            )
        });
    }
    for seat in swarm.seats.iter().filter(|seat| seat.member) {
        verdict.check(seat.vtime >= swarm.min_vtime, || {
            format!(
                "{} is a member at {}, the least is {}",
                seat.instance, seat.vtime, swarm.min_vtime
            )
        });
    }
    verdict
}

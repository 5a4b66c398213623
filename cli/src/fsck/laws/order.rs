//! What the order says: every launch went to the mind that had used least for its share, and so none lags or starves.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

use super::super::Verdict;
use super::super::rows::{Grant, Swarm, Turn};

struct Candidate<'a> {
    instance: &'a str,
    vtime: i64,
    share: i64,
}

fn candidates(grant: &Grant) -> Vec<Candidate<'_>> {
    let list = grant.candidates.as_array().into_iter().flatten();
    let read = |value: &Value| (value["vtime"].as_i64(), value["eff_ppm"].as_i64());
    list.filter_map(|value| {
        let (vtime, share) = read(value);
        Some(Candidate {
            instance: value["instance"].as_str()?,
            vtime: vtime?,
            share: share?,
        })
    })
    .collect()
}

fn is_passed_over(grant: &Grant, mind: &str) -> bool {
    let list = grant.passed_over.as_array().into_iter().flatten();
    list.into_iter().any(|value| value["instance"] == mind)
}

/// I-W3: candidates stand in their order, with the clocks that the log gives them; the first that was not passed over won.
pub(super) fn argmin(swarm: &Swarm) -> Verdict {
    let mut verdict = Verdict::of("I-W3");
    for (id, grant) in &swarm.grants {
        let Some(turn) = swarm.turns.get(id) else {
            verdict.check(false, || {
                format!("a grant names turn {id}, which there is not")
            });
            continue;
        };
        let order = candidates(grant);
        let key = |one: &Candidate<'_>| (one.vtime, Reverse(one.share), one.instance.to_owned());
        verdict.check(order.is_sorted_by_key(key), || {
            format!("the candidates of turn {id} are out of order")
        });
        let winner = order
            .iter()
            .find(|one| !is_passed_over(grant, one.instance));
        let is_own =
            winner.is_some_and(|one| one.instance == turn.instance && one.share == turn.share_ppm);
        verdict.check(is_own, || {
            let first = winner.map_or("nobody", |one| one.instance);
            format!("turn {id} is {}'s: it was {first}'s", turn.instance)
        });
        for one in &order {
            let logged = clock_at(swarm, one.instance, grant.vtime_seq);
            verdict.check(logged.is_none_or(|vtime| vtime == one.vtime), || {
                format!(
                    "turn {id} saw {} at {}, its log says {logged:?}",
                    one.instance, one.vtime
                )
            });
        }
    }
    verdict
}

/// Where a mind's log had its clock after so many events of all.
fn clock_at(swarm: &Swarm, mind: &str, n: i64) -> Option<i64> {
    let until = swarm.vtimes.partition_point(|event| event.n <= n);
    let own = swarm.vtimes[..until]
        .iter()
        .rev()
        .find(|event| event.instance == mind);
    own.map(|event| event.after)
}

/// The turns in their order, if I-W4 and I-W5 speak of them: one alive at a time, and from the first launch on a fixed set of minds
/// with fixed shares, no haste and no loans.
fn serial(swarm: &Swarm) -> Option<Vec<&Turn>> {
    let mut turns: Vec<&Turn> = swarm.turns.values().collect();
    turns.sort_by_key(|turn| (turn.launched_at, turn.turn_id));
    let first = turns.first()?;
    let steady = |n: i64| {
        swarm
            .vtimes
            .iter()
            .all(|event| event.kind == "charge" || event.n <= n)
    };
    let from = swarm.grants.get(&first.turn_id)?.vtime_seq;
    let shares = swarm
        .versions
        .iter()
        .filter(|version| version.what == "share");
    let fixed = shares
        .into_iter()
        .all(|version| version.at <= first.launched_at);
    let alone = swarm.grants.values().all(|grant| grant.k == 1);
    let plain = turns
        .iter()
        .all(|turn| turn.haste_ppm == 1_000_000 && turn.state != "withdrawn");
    (steady(from) && fixed && alone && plain && swarm.loans.is_empty()).then_some(turns)
}

/// The dearest turn of each mind, as the clock counts it, and its share.
fn dearest(swarm: &Swarm, turns: &[&Turn]) -> BTreeMap<String, (i128, i128)> {
    let mut most: BTreeMap<String, (i128, i128)> = BTreeMap::new();
    for turn in turns {
        let cost = swarm
            .charges
            .get(&turn.turn_id)
            .map_or(0, |charge| charge.cost);
        let cost = i128::from(cost.max(turn.floor));
        let entry = most
            .entry(turn.instance.clone())
            .or_insert((0, turn.share_ppm.into()));
        entry.0 = entry.0.max(cost);
    }
    most
}

/// I-W4: no mind is ahead of another by more than the dearer of their turns.
pub(super) fn lag(swarm: &Swarm) -> Verdict {
    let mut verdict = Verdict::of("I-W4");
    let Some(turns) = serial(swarm) else {
        return verdict;
    };
    let dearest = dearest(swarm, &turns);
    let step = |mind: &str| {
        dearest
            .get(mind)
            .map_or(0, |(cost, share)| cost * 1_000_000 / (*share).max(1) + 1)
    };
    let mut clocks: BTreeMap<&str, i64> = BTreeMap::new();
    let start = swarm.vtimes.iter().filter(|event| event.kind != "charge");
    clocks.extend(start.map(|event| (event.instance.as_str(), event.after)));
    for event in swarm.vtimes.iter().filter(|event| event.kind == "charge") {
        clocks.insert(&event.instance, event.after);
        for (other, vtime) in &clocks {
            let gap = i128::from((event.after - vtime).abs());
            let most = step(&event.instance).max(step(other)) + 1;
            verdict.check(gap <= most, || {
                format!(
                    "{} and {other} are {gap} apart: at most {most}",
                    event.instance
                )
            });
        }
    }
    verdict
}

/// I-W5: between two turns of a mind the others spend no more than their part of what its last one cost, and a turn each.
pub(super) fn no_starvation(swarm: &Swarm) -> Verdict {
    let mut verdict = Verdict::of("I-W5");
    let Some(turns) = serial(swarm) else {
        return verdict;
    };
    let dearest = dearest(swarm, &turns);
    for (mind, (cost, share)) in &dearest {
        let others = dearest.iter().filter(|(other, _)| *other != mind);
        let most: i128 = others
            .map(|(_, (c, s))| s * cost / (*share).max(1) + c + 1)
            .sum();
        let mut spent = None::<i128>;
        for turn in &turns {
            if turn.instance == *mind {
                spent = Some(0);
            } else if let Some(spent) = &mut spent {
                *spent += i128::from(counted(swarm, turn.turn_id));
                verdict.check(*spent <= most, || {
                    format!("others spent {spent} between two turns of {mind}: at most {most}")
                });
            }
        }
    }
    verdict
}

fn counted(swarm: &Swarm, turn: Uuid) -> i64 {
    swarm.charges.get(&turn).map_or(0, |charge| charge.cost)
}

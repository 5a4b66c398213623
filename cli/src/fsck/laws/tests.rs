//! A small history that keeps every law, and each law broken in it: an oracle that finds nothing proves nothing until it has found
//! something.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use uuid::Uuid;

use super::super::rows::{
    BucketEvent, Charge, Grant, Loan, Reservation, Seat, Swarm, Turn, Version, VtimeEvent,
};
use super::SWARM;

const CAP: i64 = 100;
const COST: i64 = 40;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::<Utc>::UNIX_EPOCH + TimeDelta::seconds(second)
}

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn version(what: &str, instance: &str, value: serde_json::Value) -> Version {
    Version {
        what: what.to_owned(),
        instance: instance.to_owned(),
        value: Some(value),
        at: at(0),
    }
}

fn event(instance: &str, seq: i64, n: i64, kind: &str, (before, after): (i64, i64)) -> VtimeEvent {
    VtimeEvent {
        instance: instance.to_owned(),
        seq,
        n,
        kind: kind.to_owned(),
        before,
        after,
        turn_id: None,
    }
}

/// Adds a turn that was launched at `second` and settled a second later.
fn turn(swarm: &mut Swarm, n: u128, instance: &str, order: &[(&str, i64)]) {
    let second = i64::try_from(n).unwrap() * 100_000;
    let candidates: Vec<_> = order
        .iter()
        .map(|(name, vtime)| json!({"instance": name, "vtime": vtime, "eff_ppm": 1_000_000}))
        .collect();
    let bucket = swarm.bucket.unwrap();
    let before = order.iter().find(|(name, _)| *name == instance).unwrap().1;
    let count = i64::try_from(swarm.vtimes.len()).unwrap();
    swarm.grants.insert(
        id(n),
        Grant {
            turn_id: id(n),
            bucket: 0,
            reserved: 0,
            k: 1,
            live: 0,
            candidates: json!(candidates),
            passed_over: json!([]),
            vtime_seq: count,
        },
    );
    swarm.turns.insert(
        id(n),
        Turn {
            turn_id: id(n),
            instance: instance.to_owned(),
            slot: 0,
            state: "settled".to_owned(),
            outcome: Some("ended".to_owned()),
            cap: CAP,
            share_ppm: 1_000_000,
            haste_ppm: 1_000_000,
            floor: 1,
            reserve: "cap".to_owned(),
            launched_at: at(second),
            ended_at: Some(at(second + 1)),
        },
    );
    swarm.reservations.insert(
        id(n),
        Reservation {
            turn_id: id(n),
            amount: CAP,
            wallet_period: at(second).date_naive(),
            closed_at: Some(at(second + 1)),
        },
    );
    swarm.charges.insert(
        id(n),
        Charge {
            turn_id: id(n),
            cost: COST,
            measured: true,
            vdelta: COST,
            settled_at: at(second + 1),
        },
    );
    let seq = swarm
        .vtimes
        .iter()
        .filter(|event| event.instance == instance)
        .count()
        + 1;
    let mut step = event(
        instance,
        i64::try_from(seq).unwrap(),
        count + 1,
        "charge",
        (before, before + COST),
    );
    step.turn_id = Some(id(n));
    swarm.vtimes.push(step);
    for (kind, after) in [("launch", 0), ("settle", -COST)] {
        swarm.buckets.push(BucketEvent {
            seq: i64::try_from(swarm.buckets.len()).unwrap() + 1,
            kind: kind.to_owned(),
            before: 0,
            after,
            at: at(second),
            turn_id: Some(id(n)),
        });
    }
    swarm.bucket = Some(bucket - COST).max(Some(-COST));
}

/// Two minds of equal shares that took two turns each.
fn history() -> Swarm {
    let mut swarm = Swarm {
        now: at(1_000_000),
        bucket: Some(0),
        ..Swarm::default()
    };
    let dial = json!({"heat_ppm": 1_000_000, "base_rate_micro_usd_per_h": 1_000, "k": 1, "burst_micro_usd": 0});
    swarm.versions.push(version("dial", "", dial));
    swarm.versions.push(version(
        "wallet",
        "",
        json!({"limit_micro_usd": 1_000, "period": "month"}),
    ));
    for mind in ["ada", "bob"] {
        swarm
            .versions
            .push(version("share", mind, json!({"share_ppm": 1_000_000})));
        swarm
            .versions
            .push(version("brake", mind, json!({"released": true})));
        let n = i64::try_from(swarm.vtimes.len()).unwrap() + 1;
        swarm.vtimes.push(event(mind, 1, n, "clamp", (0, 0)));
    }
    turn(&mut swarm, 1, "ada", &[("ada", 0), ("bob", 0)]);
    turn(&mut swarm, 2, "bob", &[("bob", 0), ("ada", 40)]);
    turn(&mut swarm, 3, "ada", &[("ada", 40), ("bob", 40)]);
    turn(&mut swarm, 4, "bob", &[("bob", 40), ("ada", 80)]);
    swarm.min_vtime = 80;
    for instance in ["ada", "bob"] {
        swarm.seats.push(Seat {
            instance: instance.to_owned(),
            vtime: 80,
            member: true,
        });
    }
    swarm
}

/// The laws that find something, each with what it found first.
fn broken(swarm: &Swarm) -> Vec<(&'static str, String)> {
    let found = SWARM.iter().map(|(id, law)| (*id, law(swarm)));
    found
        .filter_map(|(id, verdict)| Some((id, verdict.witness?)))
        .collect()
}

fn ids(swarm: &Swarm) -> Vec<&'static str> {
    broken(swarm).into_iter().map(|(id, _)| id).collect()
}

#[test]
fn a_history_that_keeps_the_laws_is_found_whole_and_looked_at_by_all() {
    let swarm = history();

    assert_eq!(broken(&swarm), []);
    for (id, law) in SWARM.iter().filter(|(id, _)| *id != "I-W8") {
        assert!(law(&swarm).rows > 0, "{id} looked at nothing");
    }
}

#[test]
fn a_charge_that_is_missing_or_moved_the_clock_otherwise_is_found() {
    let mut without = history();
    without.charges.remove(&id(2));
    let mut otherwise = history();
    otherwise.charges.get_mut(&id(2)).unwrap().vdelta = 41;
    let mut moved = history();
    moved.seats[0].vtime = 79;

    for swarm in [without, otherwise, moved] {
        assert!(ids(&swarm).contains(&"I-W1"), "{:?}", broken(&swarm));
    }
}

#[test]
fn money_that_was_not_there_is_found() {
    let mut gate = history();
    gate.grants.get_mut(&id(3)).unwrap().bucket = -1;
    let mut open = history();
    open.reservations.get_mut(&id(3)).unwrap().closed_at = None;
    let mut limit = history();
    limit.versions[1].value = Some(json!({"limit_micro_usd": 150, "period": "month"}));
    let mut pace = history();
    pace.versions[0].value = Some(json!({"heat_ppm": 0, "k": 1, "burst_micro_usd": 0}));
    let mut minted = history();
    minted.buckets[1].after = 1;

    for swarm in [gate, open, limit, pace, minted] {
        assert!(ids(&swarm).contains(&"I-W2"), "{:?}", broken(&swarm));
    }
}

#[test]
fn a_turn_that_was_anothers_is_found() {
    let mut swapped = history();
    swapped.turns.get_mut(&id(3)).unwrap().instance = "bob".to_owned();
    let mut unsorted = history();
    unsorted.grants.get_mut(&id(2)).unwrap().candidates = json!([
        {"instance": "ada", "vtime": 40, "eff_ppm": 1_000_000},
        {"instance": "bob", "vtime": 0, "eff_ppm": 1_000_000},
    ]);
    let mut forged = history();
    forged.grants.get_mut(&id(2)).unwrap().candidates[0]["vtime"] = json!(-5);

    for swarm in [swapped, unsorted, forged] {
        assert!(ids(&swarm).contains(&"I-W3"), "{:?}", broken(&swarm));
    }
}

#[test]
fn a_mind_that_lags_and_starves_is_found() {
    let mut swarm = history();
    for n in 5..9 {
        turn(&mut swarm, n, "ada", &[("ada", 80), ("bob", 80)]);
        let last = swarm.vtimes.last_mut().unwrap();
        let before = 80 + COST * (i64::try_from(n).unwrap() - 5);
        (last.before, last.after) = (before, before + COST);
    }

    let found = ids(&swarm);

    assert!(
        found.contains(&"I-W4") && found.contains(&"I-W5"),
        "{found:?}"
    );
}

#[test]
fn a_clock_behind_the_least_and_a_clamp_back_are_found() {
    let mut behind = history();
    behind.min_vtime = 81;
    let mut back = history();
    back.vtimes[0].before = 7;

    for swarm in [behind, back] {
        assert!(ids(&swarm).contains(&"I-W6"), "{:?}", broken(&swarm));
    }
}

#[test]
fn two_turns_at_once_in_a_slot_or_of_a_mind_are_found() {
    let mut swarm = history();
    swarm.turns.get_mut(&id(1)).unwrap().ended_at = Some(at(250_000));

    assert!(ids(&swarm).contains(&"I-W7"));
}

#[test]
fn a_loan_over_half_is_found() {
    let mut swarm = history();
    swarm.loans.push(Loan {
        lender: "ada".to_owned(),
        share_ppm: 500_001,
        from_at: at(10),
        until_at: at(20),
        ended_at: None,
    });

    assert_eq!(ids(&swarm), ["I-W8"]);
}

#[test]
fn a_launch_under_a_held_brake_is_found() {
    let mut swarm = history();
    let mut hold = version("brake", "bob", json!({"released": false}));
    hold.at = at(350_000);
    swarm.versions.push(hold);

    assert_eq!(ids(&swarm), ["I-W9"]);
}

#[test]
fn an_unmeasured_turn_under_its_cap_and_an_incredible_cost_are_found() {
    let mut cheap = history();
    cheap.charges.get_mut(&id(1)).unwrap().measured = false;
    let mut dear = history();
    dear.charges.get_mut(&id(1)).unwrap().cost = CAP * 10 + 1;

    for swarm in [cheap, dear] {
        assert!(ids(&swarm).contains(&"I-W10"), "{:?}", broken(&swarm));
    }
}

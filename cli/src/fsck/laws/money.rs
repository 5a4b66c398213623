//! What the money says: nothing was launched that the bucket or the wallet had no room for, and no window cost more than the pace
//! allows.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike as _, Days, NaiveDate, Utc};
use serde_json::Value;
use uuid::Uuid;

use super::super::Verdict;
use super::super::rows::{BucketEvent, Swarm, Turn};

/// I-W2.
pub(super) fn wallet_and_bucket(swarm: &Swarm) -> Verdict {
    let mut verdict = Verdict::of("I-W2");
    reservations(swarm, &mut verdict);
    gates(swarm, &mut verdict);
    balance(swarm, &mut verdict);
    windows(swarm, &mut verdict);
    wallet(swarm, &mut verdict);
    verdict
}

/// (a) One reservation of its cap a turn, of the day of its launch, open exactly while it lives.
fn reservations(swarm: &Swarm, verdict: &mut Verdict) {
    for turn in swarm.turns.values() {
        let held = swarm.reservations.get(&turn.turn_id);
        let fits = held.is_some_and(|held| {
            held.amount == turn.cap
                && held.wallet_period == turn.launched_at.date_naive()
                && held.closed_at.is_none() == turn.is_live()
        });
        verdict.check(fits, || {
            format!("the reservation of turn {} ({})", turn.turn_id, turn.state)
        });
    }
}

/// (b) At every launch the bucket had made up for what was reserved, and a slot was free.
fn gates(swarm: &Swarm, verdict: &mut Verdict) {
    for turn in swarm.turns.values() {
        let Some(grant) = swarm.grants.get(&turn.turn_id) else {
            verdict.check(false, || format!("turn {} has no grant", turn.turn_id));
            continue;
        };
        let reserved = if turn.reserve == "cap" {
            grant.reserved
        } else {
            0
        };
        verdict.check(grant.bucket >= reserved && grant.live < grant.k, || {
            format!(
                "turn {} was launched with {} in the bucket, {} reserved, {} of {} alive",
                turn.turn_id, grant.bucket, grant.reserved, grant.live, grant.k
            )
        });
    }
}

fn number(value: &Value, key: &str) -> i64 {
    value.get(key).and_then(Value::as_i64).unwrap_or(0)
}

/// What the dials ever allowed at most: burst, cap, and turns alive.
fn ceilings(swarm: &Swarm) -> (i128, i128, i128) {
    let dials = swarm
        .versions
        .iter()
        .filter(|version| version.what == "dial");
    let dials: Vec<&Value> = dials.filter_map(|version| version.value.as_ref()).collect();
    let most = |of: &dyn Fn(&Value) -> i64| dials.iter().map(|dial| of(dial)).max().unwrap_or(0);
    let burst = most(&|dial| number(dial, "burst_micro_usd"));
    let caps = swarm.turns.values().map(|turn| turn.cap).max().unwrap_or(0);
    let k = match swarm.turns.values().any(|turn| turn.reserve == "none") {
        true => most(&|dial| number(dial, "k")),
        false => 1,
    };
    (burst.into(), caps.into(), k.into())
}

/// Costs over what was reserved for them, and whole ones of what started late.
fn overspent(swarm: &Swarm) -> i128 {
    let over = swarm.charges.values().map(|charge| {
        let turn = swarm.turns.get(&charge.turn_id);
        let late = turn.is_some_and(|turn| turn.outcome.as_deref() == Some("late_start"));
        let held = if late {
            0
        } else {
            turn.map_or(0, |turn| turn.cap)
        };
        i128::from((charge.cost - held).max(0))
    });
    over.sum()
}

/// (c) The bucket never holds more than a burst, and owes no more than a turn beyond what is reserved.
fn balance(swarm: &Swarm, verdict: &mut Verdict) {
    let (burst, cap, k) = ceilings(swarm);
    let least = -(cap * k) - overspent(swarm);
    let mint = swarm.buckets.iter().any(|event| event.kind == "lost");
    for event in &swarm.buckets {
        let after = i128::from(event.after);
        let fits = after <= burst && (mint || after >= least);
        verdict.check(fits, || {
            format!("bucket event {} left {}", event.seq, event.after)
        });
    }
    let Some(bucket) = swarm.bucket else { return };
    let open = swarm
        .reservations
        .values()
        .filter(|held| held.closed_at.is_none());
    let reserved: i128 = open.map(|held| i128::from(held.amount)).sum();
    let owed = if swarm.turns.values().any(|turn| turn.reserve == "none") {
        0
    } else {
        reserved
    };
    verdict.check(mint || i128::from(bucket) - owed >= least, || {
        format!("the bucket holds {bucket} with {reserved} reserved: less than {least}")
    });
}

/// (d) No window cost more than was earned in it, a burst, the turns that were alive, and what was overspent.
fn windows(swarm: &Swarm, verdict: &mut Verdict) {
    let (burst, cap, k) = ceilings(swarm);
    let room = (burst + cap * k + overspent(swarm) + 1) * UNIT;
    let mut charges: Vec<(DateTime<Utc>, i64)> = swarm
        .charges
        .values()
        .map(|charge| (charge.settled_at, charge.cost))
        .collect();
    charges.sort_unstable();
    let (mut spent, mut least) = (0_i128, None::<i128>);
    for (at, cost) in charges {
        let earned = earned(swarm, at);
        let before = spent * UNIT - earned;
        let from = least.map_or(before, |least| least.min(before));
        least = Some(from);
        spent += i128::from(cost);
        verdict.check(spent * UNIT - earned - from <= room, || {
            format!("a window that ends at {at} cost more than its pace allows")
        });
    }
}

/// A micro-dollar, in millionths of heat times money an hour times microseconds.
const UNIT: i128 = 1_000_000 * 3_600_000_000;

/// What the pace had earned by an instant, since the first dial.
fn earned(swarm: &Swarm, by: DateTime<Utc>) -> i128 {
    let dials = swarm
        .versions
        .iter()
        .filter(|version| version.what == "dial");
    let dials: Vec<_> = dials.collect();
    let mut sum = 0;
    for (n, dial) in dials.iter().enumerate() {
        let until = dials.get(n + 1).map_or(by, |next| next.at.min(by));
        let span = (until - dial.at)
            .num_microseconds()
            .unwrap_or(i64::MAX)
            .max(0);
        let gain = dial.value.as_ref().map_or(0, |value| {
            i128::from(number(value, "heat_ppm"))
                * i128::from(number(value, "base_rate_micro_usd_per_h"))
        });
        sum += gain * i128::from(span);
    }
    sum
}

/// The first day of a wallet's period.
fn first_day(period: &str, day: NaiveDate) -> NaiveDate {
    let back = match period {
        "week" => day.weekday().num_days_from_monday(),
        "month" => day.day0(),
        _ => 0,
    };
    day.checked_sub_days(Days::new(back.into())).unwrap_or(day)
}

/// (e) At every launch what the period's turns had cost, what those alive may cost, and one more cap were within the limit.
fn wallet(swarm: &Swarm, verdict: &mut Verdict) {
    let mut cost_of: BTreeMap<Uuid, i128> = BTreeMap::new();
    for event in &swarm.buckets {
        let Some(turn) = event.turn_id.and_then(|id| swarm.turns.get(&id)) else {
            continue;
        };
        match event.kind.as_str() {
            "settle" => {
                let cost = swarm
                    .charges
                    .get(&turn.turn_id)
                    .map_or(0, |charge| charge.cost);
                cost_of.insert(turn.turn_id, cost.into());
            }
            "launch" => {
                if let Some(limit) = limit_at(swarm, turn) {
                    let used = used(swarm, &cost_of, turn, &limit.1, event);
                    verdict.check(used + i128::from(turn.cap) <= limit.0, || {
                        format!(
                            "turn {} was launched with {used} of {} used",
                            turn.turn_id, limit.0
                        )
                    });
                }
                cost_of.entry(turn.turn_id).or_insert(turn.cap.into());
            }
            _ => {}
        }
    }
}

/// The wallet in force when a turn was launched.
fn limit_at(swarm: &Swarm, turn: &Turn) -> Option<(i128, String)> {
    let mut wallets = swarm
        .versions
        .iter()
        .filter(|version| version.what == "wallet");
    let last = wallets.rfind(|version| version.at <= turn.launched_at)?;
    let value = last.value.as_ref()?;
    let period = value.get("period").and_then(Value::as_str)?;
    Some((number(value, "limit_micro_usd").into(), period.to_owned()))
}

/// Costs and reservations of the turns of the same period that were launched before.
fn used(
    swarm: &Swarm,
    cost_of: &BTreeMap<Uuid, i128>,
    turn: &Turn,
    period: &str,
    launch: &BucketEvent,
) -> i128 {
    let own = first_day(period, turn.launched_at.date_naive());
    let others = cost_of
        .iter()
        .filter_map(|(id, cost)| Some((swarm.turns.get(id)?, *cost)));
    let same = others.filter(|(other, _)| first_day(period, other.launched_at.date_naive()) == own);
    // A turn that was withdrawn before holds nothing, and costs only what started late.
    let counted = same.filter(|(other, _)| {
        other.state != "withdrawn" || other.ended_at.is_none_or(|ended| ended > launch.at)
    });
    counted.map(|(_, cost)| cost).sum()
}

/// I-W10: what nobody measured cost its cap, and what was measured is credible.
pub(super) fn unmeasured(swarm: &Swarm) -> Verdict {
    let mut verdict = Verdict::of("I-W10");
    for charge in swarm.charges.values() {
        let cap = swarm.turns.get(&charge.turn_id).map_or(0, |turn| turn.cap);
        let fits = match charge.measured {
            true => (0..=cap.saturating_mul(10)).contains(&charge.cost),
            false => charge.cost == cap,
        };
        verdict.check(fits, || {
            format!("turn {} cost {} of {cap}", charge.turn_id, charge.cost)
        });
    }
    verdict
}

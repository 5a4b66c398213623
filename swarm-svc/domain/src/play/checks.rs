//! What holds of a swarm at any time, or of its whole history.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use proptest::prelude::*;

use super::acts::{CAP, NAMES, Plan};
use super::swarm::{Swarm, named};
use crate::Instance;
use crate::charge::Outcome;
use crate::dial::Reserve;
use crate::pick::{Candidate, order};
use crate::share::Share;
use crate::timeline::Cause;

pub(super) fn own_shares(swarm: &Swarm) -> BTreeMap<Instance, Option<Share>> {
    swarm
        .minds
        .iter()
        .map(|(name, mind)| (name.clone(), mind.share))
        .collect()
}

pub(super) fn total(swarm: &Swarm) -> (i64, i64) {
    let own = swarm
        .minds
        .values()
        .filter_map(|mind| mind.share)
        .map(Share::as_ppm)
        .sum();
    let effective = swarm
        .minds
        .keys()
        .filter_map(|name| swarm.effective(name))
        .map(|eff| eff.as_ppm())
        .sum();
    (own, effective)
}

/// What may never be otherwise.
pub(super) fn check(swarm: &Swarm, before: &Swarm) -> Result<(), TestCaseError> {
    let dial = swarm.dial.unwrap();
    let live = swarm.live();
    let slots: BTreeSet<u32> = live.iter().map(|turn| turn.slot).collect();
    let minds: BTreeSet<&Instance> = live.iter().map(|turn| &turn.instance).collect();
    prop_assert!(live.len() <= dial.k() as usize);
    prop_assert_eq!((slots.len(), minds.len()), (live.len(), live.len()));
    prop_assert!(slots.iter().all(|slot| *slot < dial.k()));

    prop_assert!(swarm.bucket.level <= dial.burst());
    let late: i64 = late_costs(swarm).sum();
    let level = swarm.bucket.level.as_micros();
    match dial.reserve() {
        Reserve::Cap => prop_assert!(level - swarm.reserved().as_micros() >= -CAP - late),
        Reserve::None => prop_assert!(level >= -i64::from(dial.k()) * CAP - late),
    }

    prop_assert!(swarm.timeline.min_vtime() >= before.timeline.min_vtime());
    for (name, seat) in swarm.timeline.seats() {
        prop_assert!(!seat.is_member || seat.vtime >= swarm.timeline.min_vtime());
        prop_assert!(seat.vtime >= before.timeline.vtime(name));
    }
    let (own, effective) = total(swarm);
    prop_assert_eq!(own, effective);
    for (name, mind) in &swarm.minds {
        if let (Some(own), Some(effective)) = (mind.share, swarm.effective(name)) {
            prop_assert!(2 * effective.as_ppm() >= own.as_ppm());
        }
    }
    Ok(())
}

pub(super) fn late_costs(swarm: &Swarm) -> impl Iterator<Item = i64> + '_ {
    let late = swarm
        .charges
        .values()
        .filter(|(charge, _)| charge.outcome == Outcome::LateStart);
    late.map(|(charge, _)| charge.cost.as_micros())
}

/// Replays the log: every vtime is the sum of its steps, and every launch went to the first that nothing stood against.
pub(super) fn replay(swarm: &Swarm) -> Result<(), TestCaseError> {
    let mut vtimes: BTreeMap<Instance, i64> = BTreeMap::new();
    let mut grants = swarm.grants.iter().peekable();
    for at in 0..=swarm.log.len() {
        while let Some(grant) = grants.next_if(|grant| grant.log == at) {
            let expected = order(grant.runnable.clone());
            let passed = grant.choice.passed_over.len();
            prop_assert_eq!(grant.choice.winner.as_ref(), expected.get(passed));
            for mind in &grant.runnable {
                prop_assert_eq!(
                    mind.vtime.as_units(),
                    *vtimes.get(&mind.instance).unwrap_or(&0)
                );
            }
            let key = |one: &&Candidate| (one.vtime, Reverse(one.share), one.instance.clone());
            let least = grant.runnable.iter().min_by_key(key);
            prop_assert!(passed > 0 || grant.choice.winner.as_ref() == least);
        }
        if let Some(step) = swarm.log.get(at) {
            let vtime = vtimes.entry(step.instance.clone()).or_default();
            prop_assert_eq!(step.before.as_units(), *vtime);
            prop_assert!(step.cause != Cause::Clamp || step.after >= step.before);
            *vtime = step.after.as_units();
        }
    }
    Ok(())
}

/// No window of any length costs more than was earned in it, what the bucket may hold, and the turns that were alive.
pub(super) fn windows(swarm: &Swarm) -> Result<(), TestCaseError> {
    let dial = swarm.dial.unwrap();
    let mut charges: Vec<(DateTime<Utc>, i64)> = swarm
        .charges
        .values()
        .map(|(charge, at)| (*at, charge.cost.as_micros()))
        .collect();
    charges.sort_unstable();
    let alive = if dial.reserve() == Reserve::Cap {
        1
    } else {
        i64::from(dial.k())
    };
    let late: i64 = late_costs(swarm).sum();
    for first in 0..charges.len() {
        let mut spent = 0;
        for (at, cost) in &charges[first..] {
            spent += cost;
            let span = (*at - charges[first].0).num_microseconds().unwrap();
            let earned = i128::from(2 * CAP) * i128::from(span) / 3_600_000_000 + 1;
            let most = earned + i128::from(dial.burst().as_micros() + alive * CAP + late);
            prop_assert!(i128::from(spent) <= most, "{spent} in {span} us");
        }
    }
    Ok(())
}

pub(super) fn lag(swarm: &Swarm, dearest: &BTreeMap<Instance, i64>) -> Result<(), TestCaseError> {
    for (i, ahead) in swarm.timeline.seats() {
        for behind in swarm.timeline.seats().values() {
            let gap = ahead.vtime.as_units() - behind.vtime.as_units();
            prop_assert!(
                gap <= dearest.get(i).copied().unwrap_or(0),
                "{i} is {gap} ahead"
            );
        }
    }
    Ok(())
}

/// |spend − entitlement| ≤ share · the dearest step of all, as the clock counts both.
pub(super) fn entitlement(
    swarm: &Swarm,
    plan: &Plan,
    dearest: &BTreeMap<Instance, i64>,
) -> Result<(), TestCaseError> {
    let shares: Vec<i128> = plan.shares.iter().map(|share| i128::from(*share)).collect();
    let vtimes: Vec<i128> = NAMES
        .iter()
        .map(|name| swarm.timeline.vtime(&named(name)).as_units().into())
        .collect();
    let spent: i128 = shares
        .iter()
        .zip(&vtimes)
        .map(|(share, vtime)| share * vtime)
        .sum();
    let all: i128 = shares.iter().sum();
    let most = i128::from(*dearest.values().max().unwrap()) * all;
    for vtime in vtimes {
        prop_assert!((vtime * all - spent).abs() <= most);
    }
    Ok(())
}

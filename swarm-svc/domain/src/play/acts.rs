//! Histories that nobody planned: what may happen to a swarm, and how it happens.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;

use super::swarm::{Swarm, named};
use crate::Instance;
use crate::charge::{Finding, Outcome, Settlement, Source};
use crate::dial::{Dial, Reserve, Setting};
use crate::loan::Offer;
use crate::member::Wakes;
use crate::share::{Haste, Share};
use crate::turn::Body;
use crate::wallet::{Period, Wallet};

pub(super) const NAMES: [&str; 5] = ["ada", "bob", "cyd", "dot", "eve"];
pub(super) const CAP: i64 = 1_000_000;

pub(super) fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_780_272_000, 0).unwrap()
}

#[derive(Clone, Debug)]
pub(super) enum Act {
    Tick,
    /// A tick between whose two looks this mind's brake is held.
    Flip(usize),
    /// A live turn ends: the one of so many, at such a cost; none is unmeasured.
    Settle(usize, Option<i64>),
    Again(usize, Option<i64>),
    Withdraw(usize),
    LateStart(usize, i64),
    Advance(i64),
    Hold(usize),
    Release(usize),
    Rest(usize, i64),
    Lend(usize, usize, i64, i64),
    Return(usize),
    SetShare(usize, Option<i64>, Option<i64>),
    Operate(usize, bool, i64),
    Work(usize),
}

pub(super) fn costs() -> impl Strategy<Value = i64> {
    prop_oneof![Just(0), 0..=CAP, Just(CAP)]
}

pub(super) fn shares() -> impl Strategy<Value = i64> {
    prop_oneof![Just(1_000_000), 1_000..=4_000_000_i64, Just(100_000_000)]
}

pub(super) fn acts() -> impl Strategy<Value = Act> {
    let mind = 0..NAMES.len();
    let some_cost = || prop::option::weighted(0.9, costs());
    prop_oneof![
        8 => Just(Act::Tick),
        1 => mind.clone().prop_map(Act::Flip),
        6 => (0..8_usize, some_cost()).prop_map(|(n, cost)| Act::Settle(n, cost)),
        1 => (0..8_usize, some_cost()).prop_map(|(n, cost)| Act::Again(n, cost)),
        1 => (0..8_usize).prop_map(Act::Withdraw),
        1 => (0..8_usize, costs()).prop_map(|(n, cost)| Act::LateStart(n, cost)),
        4 => (0..7_200_000_000_i64).prop_map(Act::Advance),
        1 => mind.clone().prop_map(Act::Hold),
        2 => mind.clone().prop_map(Act::Release),
        1 => (mind.clone(), 1..3_600_i64).prop_map(|(m, s)| Act::Rest(m, s)),
        2 => (mind.clone(), mind.clone(), 1_000..600_000_i64, 1..86_400_i64)
            .prop_map(|(a, b, ppm, s)| Act::Lend(a, b, ppm, s)),
        1 => (0..8_usize).prop_map(Act::Return),
        1 => (mind.clone(), prop::option::weighted(0.8, shares()), prop::option::of(1_000_000..=10_000_000_i64))
            .prop_map(|(m, share, haste)| Act::SetShare(m, share, haste)),
        1 => (mind.clone(), any::<bool>(), 60..3_600_i64).prop_map(|(m, p, s)| Act::Operate(m, p, s)),
        1 => mind.prop_map(Act::Work),
    ]
}

#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) k: i64,
    pub(super) reserve: Reserve,
    pub(super) burst: Option<i64>,
    pub(super) floor: i64,
    pub(super) limit: Option<i64>,
    pub(super) shares: Vec<i64>,
}

pub(super) fn plans() -> impl Strategy<Value = Plan> {
    let reserve = prop::sample::select(vec![Reserve::Cap, Reserve::None]);
    let burst = prop::option::of(0..=5 * CAP);
    let limit = prop::option::weighted(0.3, 0..=20 * CAP);
    let shares = prop::collection::vec(shares(), NAMES.len());
    (1..=4_i64, reserve, burst, 1..=CAP, limit, shares).prop_map(
        |(k, reserve, burst, floor, limit, shares)| Plan {
            k,
            reserve,
            burst,
            floor,
            limit,
            shares,
        },
    )
}

pub(super) fn swarm(plan: &Plan) -> Swarm {
    let mut swarm = Swarm::new(start());
    let setting = Setting {
        heat_ppm: 1_000_000,
        base_rate_micro_usd_per_h: 2 * CAP,
        base_run_micro_usd: CAP,
        k: plan.k,
        reserve: plan.reserve,
        burst_micro_usd: plan.burst,
        floor_micro_usd: Some(plan.floor),
        turn_max_s: None,
    };
    swarm.dial = Some(Dial::new(setting).unwrap());
    swarm.wallet = plan
        .limit
        .map(|limit| Wallet::new(limit, Period::Day).unwrap());
    for (n, (name, share)) in NAMES.iter().zip(&plan.shares).enumerate() {
        let name = named(name);
        let wakes = if n % 2 == 0 {
            Wakes::Always
        } else {
            Wakes::Work
        };
        let body = if n == 4 { Body::External } else { Body::Graph };
        swarm.open(&name, wakes, body);
        swarm.set_share(&name, Some(Share::from_ppm(*share).unwrap()), None);
        swarm.release(&name);
    }
    swarm
}

pub(super) fn measured(cost: Option<i64>, source: Source) -> Finding {
    Finding {
        cost_micro_usd: cost,
        declared_micro_usd: Some(1),
        source,
        outcome: Outcome::Ended,
    }
}

/// The index of the nth live turn, counted round.
pub(super) fn live(swarm: &Swarm, n: usize) -> Option<usize> {
    let live: Vec<usize> = (0..swarm.turns.len())
        .filter(|index| swarm.turns[*index].state.is_live())
        .collect();
    (!live.is_empty()).then(|| live[n % live.len()])
}

pub(super) fn act(swarm: &mut Swarm, act: &Act) {
    let now = swarm.now;
    match *act {
        Act::Tick => {
            let _ = swarm.tick(&BTreeMap::new(), &[]);
        }
        Act::Flip(mind) => {
            let held = named(NAMES[mind]);
            let launched = swarm.tick(&BTreeMap::new(), std::slice::from_ref(&held));
            assert!(launched.is_err() || launched.unwrap().instance != held);
        }
        Act::Settle(n, cost) => {
            if let Some(index) = live(swarm, n) {
                swarm
                    .settle(Some(index), measured(cost, Source::Run))
                    .unwrap();
            }
        }
        Act::Again(n, cost) if !swarm.turns.is_empty() => again(swarm, n % swarm.turns.len(), cost),
        Act::LateStart(n, cost) if !swarm.turns.is_empty() => {
            let index = n % swarm.turns.len();
            if !swarm.turns[index].state.is_live() {
                swarm
                    .settle(Some(index), measured(Some(cost), Source::Run))
                    .unwrap();
            }
        }
        Act::Withdraw(n) => {
            if let Some(index) = live(swarm, n) {
                swarm.withdraw(index);
            }
        }
        Act::Again(..) | Act::LateStart(..) => {}
        Act::Advance(us) => swarm.now += TimeDelta::microseconds(us),
        Act::Hold(mind) => swarm.hold(&named(NAMES[mind])),
        Act::Release(mind) => swarm.release(&named(NAMES[mind])),
        Act::Operate(mind, preempts, ttl_s) => {
            swarm
                .sessions
                .iter_mut()
                .for_each(|one| one.closed_at = Some(now));
            swarm.operate(&named(NAMES[mind]), preempts, ttl_s);
        }
        Act::SetShare(mind, share, haste) => {
            let share = share.map(|ppm| Share::from_ppm(ppm).unwrap());
            let until = Some(now + TimeDelta::hours(1));
            let haste = haste.map(|ppm| Haste::new(ppm, until, now).unwrap());
            swarm.set_share(&named(NAMES[mind]), share, haste);
        }
        Act::Rest(..) | Act::Lend(..) | Act::Return(..) | Act::Work(..) => own_act(swarm, act),
    }
}

/// What a mind does by itself.
pub(super) fn own_act(swarm: &mut Swarm, act: &Act) {
    let now = swarm.now;
    match *act {
        Act::Rest(mind, s) => {
            let mind = swarm.mind(&named(NAMES[mind]));
            mind.agenda = mind
                .agenda
                .resting(Some(now + TimeDelta::seconds(s)), now)
                .unwrap();
        }
        Act::Lend(lender, borrower, share_ppm, s) => {
            let _ = swarm.lend(Offer {
                lender: named(NAMES[lender]),
                borrower: named(NAMES[borrower]),
                share_ppm,
                until: Some(now + TimeDelta::seconds(s)),
            });
        }
        Act::Return(n) if !swarm.loans.is_empty() => {
            let n = n % swarm.loans.len();
            swarm.loans[n].ended_at.get_or_insert(now);
        }
        Act::Work(mind) => {
            let mind = swarm.mind(&named(NAMES[mind]));
            mind.launch = mind.launch.touched(now);
        }
        _ => {}
    }
}

/// A turn that has its charge is charged again: the first figure stands, and nothing moves.
pub(super) fn again(swarm: &mut Swarm, index: usize, cost: Option<i64>) {
    let Some((first, _)) = swarm.charges.get(&swarm.turns[index].id).copied() else {
        return;
    };
    let before = swarm.clone();
    let settled = swarm
        .settle(Some(index), measured(cost, Source::Meter))
        .unwrap();
    assert_eq!(settled, Settlement::Already(first));
    assert_eq!(
        (&swarm.bucket, &swarm.timeline),
        (&before.bucket, &before.timeline)
    );
    assert_eq!(swarm.turns, before.turns);
}

/// Every mind always has work, so that the timeline's members stay.
pub(super) fn always(swarm: &mut Swarm) {
    for name in NAMES {
        swarm.mind(&named(name)).agenda.wakes = Wakes::Always;
    }
}

/// One turn from launch to end: whose it was, and by how much its clock moved.
pub(super) fn turn(swarm: &mut Swarm, cost: i64) -> Option<(Instance, i64)> {
    swarm.now += TimeDelta::hours(1);
    let turn = swarm.tick(&BTreeMap::new(), &[]).ok()?;
    let index = swarm.newest(&turn.instance);
    match swarm
        .settle(index, measured(Some(cost), Source::Run))
        .unwrap()
    {
        Settlement::New(charge) | Settlement::Already(charge) => {
            Some((turn.instance, charge.vdelta))
        }
    }
}

pub(super) fn turns(swarm: &mut Swarm, count: usize, cost: impl Fn(&Instance) -> i64) {
    for _ in 0..count {
        let cost = cost(&named(NAMES[0]));
        let _ = turn(swarm, cost);
    }
}

pub(super) fn spent(swarm: &Swarm, by: &Instance) -> i64 {
    let turns = swarm.turns.iter().filter(|turn| turn.instance == *by);
    turns
        .filter_map(|turn| swarm.charges.get(&turn.id))
        .map(|(charge, _)| charge.cost.as_micros())
        .sum()
}

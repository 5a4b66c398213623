//! The laws of the timeline and the wallet (design: swarm, section 12), over histories that nobody planned.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use proptest::prelude::*;

use super::acts::*;
use super::checks::*;
use super::swarm::{Swarm, named};
use crate::Instance;
use crate::charge::{Source, vdelta};
use crate::dial::Reserve;
use crate::share::{Factor, Share};
use crate::timeline::Timeline;

proptest! {
    #[test]
    fn whatever_happens_slots_money_shares_and_order_hold(plan in plans(), acts in prop::collection::vec(acts(), 0..60)) {
        let mut swarm = swarm(&plan);

        for one in &acts {
            let before = swarm.clone();
            act(&mut swarm, one);
            check(&swarm, &before)?;
            if matches!(one, Act::Rest(..) | Act::Lend(..) | Act::Return(..) | Act::Work(..)) {
                prop_assert_eq!(own_shares(&swarm), own_shares(&before));
            }
        }

        replay(&swarm)?;
        windows(&swarm)?;
        prop_assert!(swarm.charges.values().all(|(charge, _)| charge.is_measured || charge.cost.as_micros() == CAP));
    }

    #[test]
    fn a_hard_wallet_is_never_passed_whatever_the_turns_cost(
        plan in plans(), limit in 0..6 * CAP, acts in prop::collection::vec(acts(), 0..60)
    ) {
        let mut swarm = swarm(&Plan { limit: Some(limit), ..plan });
        let acts = acts.iter().filter(|act| !matches!(act, Act::LateStart(..)));

        for one in acts {
            act(&mut swarm, one);

            let spending = swarm.spending();
            prop_assert!(spending.spent.as_micros() + spending.held.as_micros() <= limit);
        }
    }

    #[test]
    fn lent_share_comes_back_by_itself(plan in plans(), acts in prop::collection::vec(acts(), 0..40)) {
        let mut swarm = swarm(&plan);
        for one in &acts {
            act(&mut swarm, one);
        }

        swarm.now += TimeDelta::hours(24);

        for (name, mind) in &swarm.minds {
            prop_assert_eq!(swarm.effective(name).map(|eff| eff.as_ppm()), mind.share.map(Share::as_ppm));
        }
    }

    #[test]
    fn who_slept_gains_nothing(plan in plans(), asleep in 1..30_usize, after in 1..30_usize, cost in 1..=CAP) {
        let plan = Plan { k: 1, limit: None, floor: 1, ..plan };
        let mut swarm = swarm(&plan);
        let eve = named(NAMES[0]);
        swarm.hold(&eve);
        turns(&mut swarm, asleep, |_| cost);
        swarm.release(&eve);
        swarm.sync();

        let woken = swarm.timeline.vtime(&eve);
        prop_assert!(woken >= swarm.timeline.min_vtime());
        let before = spent(&swarm, &eve);
        turns(&mut swarm, after, |_| cost);

        // At most one turn more than its share of what was spent since, by the clock of shares.
        let least = swarm.timeline.min_vtime().as_units() - woken.as_units();
        let own = spent(&swarm, &eve) - before;
        let share = i128::from(plan.shares[0]);
        let entitled = i128::from(least) * share / 1_000_000 + i128::from(cost) + 1;
        prop_assert!(i128::from(own) <= entitled, "{own} over {entitled}");
    }

    #[test]
    fn with_one_slot_nobody_falls_behind_or_ahead_by_more_than_a_turn(
        plan in plans(), costs in prop::collection::vec(costs(), 1..100)
    ) {
        let plan = Plan { k: 1, limit: None, ..plan };
        let mut swarm = swarm(&plan);
        always(&mut swarm);
        let mut dearest: BTreeMap<Instance, i64> = BTreeMap::new();

        for cost in costs {
            let Some((mind, step)) = turn(&mut swarm, cost) else { continue };
            let most = dearest.entry(mind).or_default();
            *most = step.max(*most);
            lag(&swarm, &dearest)?;
            entitlement(&swarm, &plan, &dearest)?;
        }
    }

    #[test]
    fn with_one_slot_nobody_starves(plan in plans(), costs in prop::collection::vec(costs(), 1..100)) {
        let mut swarm = swarm(&Plan { k: 1, limit: None, ..plan });
        always(&mut swarm);
        let names: Vec<Instance> = NAMES.iter().map(|name| named(name)).collect();
        let mut dearest: BTreeMap<Instance, i64> = BTreeMap::new();
        let mut since: BTreeMap<Instance, BTreeMap<Instance, i64>> = BTreeMap::new();

        for cost in costs {
            let Some((mind, step)) = turn(&mut swarm, cost) else { continue };
            let most = dearest.entry(mind.clone()).or_default();
            *most = step.max(*most);
            since.insert(mind.clone(), BTreeMap::new());
            for waiting in names.iter().filter(|name| **name != mind) {
                *since.entry(waiting.clone()).or_default().entry(mind.clone()).or_default() += step;
            }
            for (waiting, others) in &since {
                let own = dearest.get(waiting).copied().unwrap_or(0);
                for (other, used) in others {
                    prop_assert!(*used <= own + dearest[other], "{waiting} waits for {other}");
                }
            }
        }
    }

    #[test]
    fn a_mind_that_costs_nothing_does_not_monopolise(
        plan in plans(), acts in prop::collection::vec((any::<bool>(), 0..8_usize), 0..120)
    ) {
        let plan = Plan { burst: None, reserve: Reserve::None, limit: None, ..plan };
        let mut swarm = swarm(&plan);
        always(&mut swarm);
        swarm.sync();
        let (dial, start) = (swarm.dial.unwrap(), swarm.timeline.clone());
        let patient = named(NAMES[0]);
        let mut launched: BTreeMap<Instance, i64> = BTreeMap::new();

        for (ticks, n) in acts {
            if ticks {
                match swarm.tick(&BTreeMap::new(), &[]) {
                    Ok(turn) if turn.instance == patient => break,
                    Ok(turn) => *launched.entry(turn.instance).or_default() += 1,
                    Err(_) => {}
                }
            } else if let Some(index) = live(&swarm, n) {
                swarm.settle(Some(index), measured(Some(0), Source::Run)).unwrap();
            }
        }

        for (mind, launches) in launched {
            let step = vdelta(dial.floor(), swarm.effective(&mind).unwrap(), Factor::ONE);
            let ahead = start.vtime(&patient).as_units() - start.vtime(&mind).as_units();
            prop_assert!(launches <= (ahead.div_euclid(step) + 1).max(0), "{mind}: {launches}");
        }
    }

    #[test]
    fn losing_the_timeline_costs_one_round_and_no_money(plan in plans(), acts in prop::collection::vec(acts(), 0..60)) {
        let mut swarm = swarm(&plan);
        for one in &acts {
            act(&mut swarm, one);
        }
        let (bucket, reserved) = (swarm.bucket, swarm.reserved());

        swarm.timeline = Timeline::default();
        swarm.sync();

        let vtimes: Vec<i64> = swarm.timeline.seats().values().map(|seat| seat.vtime.as_units()).collect();
        prop_assert!(vtimes.iter().all(|vtime| *vtime == 0));
        prop_assert!(swarm.reserved() == reserved && swarm.bucket.level >= bucket.level);
    }
}

#[test]
fn money_is_shared_as_shares_are_however_dear_each_turn_is() {
    // Case R23: shares 2:1:1, costs 5:1:1, the third asleep for the first half.
    let plan = Plan {
        k: 1,
        reserve: Reserve::None,
        burst: None,
        floor: 1,
        limit: None,
        shares: vec![2_000_000, 1_000_000, 1_000_000, 1_000, 1_000],
    };
    let mut swarm = swarm(&plan);
    let [a, b, c] = [0, 1, 2].map(|n| named(NAMES[n]));
    for other in &NAMES[3..] {
        swarm.set_share(&named(other), None, None);
    }
    always(&mut swarm);
    swarm.hold(&c);
    let unit = CAP / 5;
    let cost = |mind: &Instance| if *mind == a { 5 * unit } else { unit };
    let play = |swarm: &mut Swarm, count: usize| {
        for _ in 0..count {
            swarm.now += TimeDelta::hours(1);
            let turn = swarm.tick(&BTreeMap::new(), &[]).unwrap();
            let finding = measured(Some(cost(&turn.instance)), Source::Run);
            swarm.settle(swarm.newest(&turn.instance), finding).unwrap();
        }
    };

    play(&mut swarm, 700);
    let first = [&a, &b, &c].map(|mind| spent(&swarm, mind));
    swarm.release(&c);
    play(&mut swarm, 600);
    let second = [&a, &b, &c].map(|mind| spent(&swarm, mind));

    assert_eq!(first, [1_000 * unit, 500 * unit, 0]);
    assert_eq!(second, [1_500 * unit, 750 * unit, 250 * unit]);
}

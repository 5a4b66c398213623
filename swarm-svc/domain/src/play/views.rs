//! What a swarm shows of itself, as the vectors ask for it.

use cambium_kernel::Usd;
use chrono::TimeDelta;
use serde_json::{Map, Value, json};

use super::swarm::Swarm;
use super::vectors::us;
use crate::Instance;
use crate::forecast::{Burn, Runner, dry, mean, preview as foresee};
use crate::pick::{Candidate, infeasible};
use crate::share::haste;

pub(super) fn preview(swarm: &mut Swarm, n: u64) -> Value {
    swarm.sync();
    let swarm = &*swarm;
    let dial = swarm.dial.unwrap();
    let runners = swarm.members().into_iter().map(|name| {
        let turns = swarm
            .turns
            .iter()
            .rev()
            .filter(|turn| turn.instance == name);
        let costs = turns.filter_map(|turn| swarm.charges.get(&turn.id));
        let costs: Vec<Usd> = costs
            .filter(|(charge, _)| charge.is_measured)
            .map(|(charge, _)| charge.cost)
            .collect();
        let live = swarm.live().into_iter().find(|turn| turn.instance == name);
        Runner {
            haste: haste(swarm.minds[&name].haste.as_ref(), swarm.now),
            mean: mean(&costs, dial.cap()),
            live: live.map(|turn| (turn.share, turn.haste, turn.floor)),
            candidate: Candidate {
                vtime: swarm.timeline.vtime(&name),
                share: swarm.effective(&name).unwrap(),
                instance: name,
            },
        }
    });
    let order = foresee(runners.collect(), dial.floor(), usize::try_from(n).unwrap());
    let order: Vec<&str> = order.iter().map(|turn| turn.instance.as_str()).collect();
    json!({"order": order})
}

pub(super) fn when_dry(swarm: &mut Swarm) -> Value {
    swarm.sync();
    let swarm = &*swarm;
    let day = swarm.now - TimeDelta::hours(24);
    let charged = swarm.charges.values().filter(|(_, at)| *at >= day);
    let burn = swarm.turns.first().map(|turn| Burn {
        charged: Usd::from_micros(charged.map(|(charge, _)| charge.cost.as_micros()).sum()),
        first_launch: turn.launched_at,
    });
    let wallet = (swarm.wallet.as_ref().unwrap(), swarm.spending());
    let dry = dry(
        wallet,
        (&swarm.bucket, swarm.reserved()),
        swarm.dial.as_ref().unwrap(),
        burn,
        swarm.now,
    );
    json!({
        "remaining": dry.remaining.as_micros(), "burn_per_h": dry.burn_per_h.as_micros(),
        "expected_us": dry.expected.map(us), "earliest_us": dry.earliest.map(us),
    })
}

pub(super) fn state(swarm: &Swarm) -> Value {
    let mut swarm = swarm.clone();
    swarm.sync();
    let members: Vec<Instance> = swarm.members().into_iter().collect();
    let shares: Vec<_> = members
        .iter()
        .filter_map(|name| Some((name.clone(), swarm.effective(name)?)))
        .collect();
    let k = swarm.dial.map_or(1, |dial| dial.k());
    let live: Vec<&str> = swarm
        .live()
        .iter()
        .map(|turn| turn.instance.as_str())
        .collect();
    let vtimes = swarm.minds.keys().map(|name| {
        (
            name.as_str().to_owned(),
            json!(swarm.timeline.vtime(name).as_units()),
        )
    });
    let effective = swarm.minds.keys().filter_map(|name| {
        Some((
            name.as_str().to_owned(),
            json!(swarm.effective(name)?.as_ppm()),
        ))
    });
    let names = |names: &[Instance]| {
        names
            .iter()
            .map(|name| name.as_str().to_owned())
            .collect::<Vec<_>>()
    };
    json!({
        "bucket": swarm.bucket.level.as_micros(), "reserved": swarm.reserved().as_micros(),
        "min_vtime": swarm.timeline.min_vtime().as_units(), "vtime": vtimes.collect::<Map<_, _>>(),
        "eff": effective.collect::<Map<_, _>>(), "members": names(&members), "live": live,
        "infeasible": names(&infeasible(&shares, k)), "spent": swarm.spending().spent.as_micros(),
        "held": swarm.spending().held.as_micros(),
    })
}

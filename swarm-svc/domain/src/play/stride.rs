//! Real turns of real agents, where they are: the same picks in the same order, by the rules that a tick uses.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cambium_kernel::Usd;
use serde_json::Value;

use crate::Instance;
use crate::canonical::sha256;
use crate::charge::vdelta;
use crate::pick::{Candidate, order};
use crate::share::{EffectiveShare, Factor, PPM};
use crate::timeline::Timeline;

/// An agent's name as a mind's: lower case and hyphens, which keeps the byte order of these names.
fn slug(name: &str) -> Instance {
    Instance::parse(&name.to_lowercase().replace(' ', "-")).unwrap()
}

/// What each agent's turns cost, in the order of the file.
fn costs(turns: &str) -> BTreeMap<String, Vec<i64>> {
    let mut costs: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for line in turns.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let micro_usd = fields[5].replace('.', "").parse().unwrap();
        costs
            .entry(fields[7].to_owned())
            .or_default()
            .push(micro_usd);
    }
    costs
}

/// The names picked, until the one that is picked has no turn left; and the timeline then.
fn picks(costs: &BTreeMap<String, Vec<i64>>, game: &Value) -> (Vec<String>, Timeline) {
    let ppm = |part: &Value| part.as_i64().map(|whole| whole * PPM);
    let share = |name: &str| EffectiveShare::from_ppm(ppm(&game["shares"][name]).unwrap()).unwrap();
    let haste = |name: &str| Factor::from_ppm(ppm(&game["haste"][name]).unwrap_or(PPM)).unwrap();
    let mut timeline = Timeline::default();
    timeline.sync(&costs.keys().map(|name| slug(name)).collect());
    let (mut left, mut picks) = (costs.clone(), Vec::new());
    loop {
        let all = costs.keys().map(|name| Candidate {
            instance: slug(name),
            vtime: timeline.vtime(&slug(name)),
            share: share(name),
        });
        let first = order(all.collect()).remove(0);
        let name = costs
            .keys()
            .find(|name| slug(name) == first.instance)
            .unwrap();
        let turns = left.get_mut(name).unwrap();
        if turns.is_empty() {
            return (picks, timeline);
        }
        let cost = Usd::from_micros(turns.remove(0).max(1));
        timeline.charge(&first.instance, vdelta(cost, share(name), haste(name)));
        picks.push(name.clone());
    }
}

#[test]
fn real_costs_are_shared_out_pick_by_pick_as_the_oracle_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/costs");
    let Ok(turns) = fs::read_to_string(folder.join("turns.csv")) else {
        println!("skipped: ../shared/data is absent");
        return;
    };
    let expected = fs::read(folder.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let costs = costs(&turns);

    for (name, game) in expected["stride"].as_object().unwrap() {
        if name == "rule" {
            continue;
        }
        let (picks, timeline) = picks(&costs, game);

        let first: Vec<&str> = game["first_40_picks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_eq!(picks[..40], first, "{name}");
        assert_eq!(
            picks.len() as u64,
            game["picks"].as_u64().unwrap(),
            "{name}"
        );
        assert_eq!(
            sha256(picks.join("\n").as_bytes()),
            game["picks_sha256"],
            "{name}"
        );
        for (agent, vtime) in game["vtime_usd_micro"].as_object().unwrap() {
            assert_eq!(
                timeline.vtime(&slug(agent)).as_units().to_string(),
                *vtime,
                "{name}: {agent}"
            );
        }
    }
}

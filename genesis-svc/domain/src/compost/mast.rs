//! The record of a real fleet, where it is: composting its agents in order promotes what was counted, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::garden::{Garden, failure, life};
use super::*;

/// Tasks of one kind, and how many of them went wrong.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    tasks: u64,
    wrong: u64,
}

/// An agent: its template, its tasks, and those of each kind.
#[derive(Debug)]
struct Recorded {
    template: String,
    all: Count,
    kinds: BTreeMap<String, Count>,
}

/// The agents in the order in which the file names them first.
fn agents(text: &str) -> Vec<Recorded> {
    let mut agents: Vec<Recorded> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let template = fields[..3].join("/");
        let index = *known.entry(fields[..4].join("/")).or_insert_with(|| {
            agents.push(Recorded {
                template,
                all: Count::default(),
                kinds: BTreeMap::new(),
            });
            agents.len() - 1
        });
        let agent = &mut agents[index];
        let wrong = u64::from(fields[5] != "true");
        let kind = agent.kinds.entry(fields[7].to_owned()).or_default();
        for count in [&mut agent.all, kind] {
            count.tasks += 1;
            count.wrong += wrong;
        }
    }
    agents
}

/// What a template is expected to learn: how many agents tell of it, and their mean success.
fn expected(patterns: &Value) -> BTreeMap<String, (u64, f64)> {
    let patterns = patterns.as_object().unwrap().iter();
    let promoted = patterns.filter(|(_, pattern)| pattern["promoted"] == true);
    promoted
        .map(|(name, pattern)| {
            let mean = pattern["mean_success_rate"].as_f64().unwrap();
            (name.clone(), (pattern["agents"].as_u64().unwrap(), mean))
        })
        .collect()
}

#[test]
fn a_real_fleet_promotes_what_was_counted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/mast");
    let Ok(text) = fs::read_to_string(folder.join("ag2_outcomes.csv")) else {
        println!("skipped: ../shared/data is absent");
        return;
    };
    let counted = fs::read(folder.join("expected.json")).unwrap();
    let counted: Value = serde_json::from_slice(&counted).unwrap();
    let agents = agents(&text);

    for (percent, templates) in counted["genesis_promotion"]["thresholds"]
        .as_object()
        .unwrap()
    {
        let percent: u64 = percent.parse().unwrap();
        let mut gardens: BTreeMap<&str, Garden> = BTreeMap::new();
        for (n, agent) in (1..).zip(&agents) {
            let reported = agent
                .kinds
                .iter()
                .filter(|(_, count)| 100 * count.wrong >= percent * count.tasks);
            let found = reported.map(|(name, _)| failure(name)).collect();
            let Count { tasks, wrong } = agent.all;
            let success = Score::ratio(tasks - wrong, tasks).as_millionths();
            let garden = gardens.entry(&agent.template).or_default();
            garden.compost(life(n, success, found));
        }

        for (template, patterns) in templates.as_object().unwrap() {
            let expected = expected(patterns);
            let learnings = &gardens[template.as_str()].soil.learnings;
            assert_eq!(learnings.len(), expected.len(), "{template} at {percent}");
            for learning in learnings {
                let (agents, mean) = expected[learning.pattern.as_str()];
                assert_eq!(u64::from(learning.voices), agents);
                // Each rate is rounded to a millionth, and so is their mean.
                assert!((learning.correlation().as_f64() - mean).abs() < 1.5e-6);
            }
        }
    }
}

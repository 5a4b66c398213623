//! What turns once cost: a CSV file with the columns `agent` and `usd`, others ignored. Each mind replays the turns of one agent, in the
//! file's order, and begins again at their end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::MINDS;
use crate::failure::Refusal;
use crate::{file, money};

/// Ours: nobody's data.
const SAMPLE: &str = include_str!("../../../../examples/turn-costs.csv");
/// Real ones, where a checkout has them beside it.
const BESIDE: &str = "../shared/data/costs/turns.csv";

#[derive(Debug)]
pub(super) struct Costs {
    origin: String,
    /// In micro-dollars, by the mind that has them.
    of: BTreeMap<&'static str, Vec<i64>>,
    taken: BTreeMap<&'static str, usize>,
}

#[derive(Debug, Deserialize)]
struct Row {
    agent: String,
    usd: String,
}

impl Costs {
    pub(super) fn read(path: Option<&PathBuf>) -> anyhow::Result<Self> {
        let beside = Path::new(BESIDE);
        let path = path
            .map(PathBuf::as_path)
            .or_else(|| beside.exists().then_some(beside));
        let Some(path) = path else {
            return Self::parse(SAMPLE.as_bytes(), "an example's costs".to_owned())
                .map_err(anyhow::Error::msg);
        };
        let origin = format!("the costs of {}", path.display());
        Self::parse(&file::read(path)?, origin).map_err(|problem| {
            Refusal::File {
                path: path.to_owned(),
                problem,
            }
            .into()
        })
    }

    /// The agents with the most turns become the minds, the busiest first.
    fn parse(content: &[u8], origin: String) -> Result<Self, String> {
        let mut by_agent: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        for row in csv::Reader::from_reader(content).deserialize() {
            let row: Row = row.map_err(|error| error.to_string())?;
            let cost = money::micro_usd(&row.usd)
                .map_err(|error| format!("the cost `{}`: {error}", row.usd))?;
            by_agent.entry(row.agent).or_default().push(cost);
        }
        let busiest: BTreeSet<(usize, String)> = by_agent
            .iter()
            .map(|(agent, costs)| (costs.len(), agent.clone()))
            .collect();
        let chosen: Vec<String> = busiest.into_iter().rev().map(|(_, agent)| agent).collect();
        if chosen.len() < MINDS.len() {
            return Err(format!(
                "it has turns of {} agents, and {} are needed",
                chosen.len(),
                MINDS.len()
            ));
        }
        let of = MINDS.iter().zip(chosen).map(|((mind, _), agent)| {
            let costs = by_agent.remove(&agent).unwrap_or_default();
            (*mind, costs)
        });
        Ok(Self {
            origin,
            of: of.collect(),
            taken: BTreeMap::new(),
        })
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// What a turn may cost so that none is over it.
    pub(super) fn dearest(&self) -> i64 {
        let most = self.of.values().flatten().max();
        most.copied().unwrap_or(1).max(1)
    }

    /// What the mind's next turn costs.
    pub(super) fn next(&mut self, mind: &str) -> i64 {
        let Some((mind, costs)) = self.of.get_key_value(mind) else {
            return 0;
        };
        let taken = self.taken.entry(mind).or_default();
        let cost = costs.get(*taken % costs.len().max(1));
        *taken += 1;
        cost.copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Costs, String> {
        Costs::parse(text.as_bytes(), String::new())
    }

    #[test]
    fn the_busiest_agents_are_replayed_in_their_order_and_again() {
        let text = "n,agent,usd\n1,b,0.5\n2,a,0.000003\n3,c,1\n4,a,0.000002\n5,a,0.000001\n6,b,0.25\n7,d,9\n";

        let mut costs = parse(text).unwrap();

        assert_eq!(costs.next("weksa"), 500_000);
        let eureka: Vec<i64> = (0..4).map(|_| costs.next("eureka")).collect();
        assert_eq!(eureka, [3, 2, 1, 3]);
        assert_eq!(costs.next("umbra"), 9_000_000);
        assert_eq!(costs.dearest(), 9_000_000);
    }

    #[test]
    fn our_own_sample_has_enough_for_every_mind() {
        let costs = parse(SAMPLE).unwrap();

        assert!(costs.of.values().all(|costs| costs.len() >= 30));
        assert_eq!(costs.of.len(), MINDS.len());
    }

    #[test]
    fn a_file_that_holds_no_costs_is_refused_with_what_is_wrong() {
        for (text, part) in [
            ("agent,usd\na,1\nb,1\n", "2 agents"),
            ("agent,usd\na,much\n", "much"),
            ("agent,price\na,1\n", "usd"),
        ] {
            let problem = parse(text).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }
}

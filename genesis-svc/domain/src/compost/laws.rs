use std::collections::BTreeMap;

use proptest::prelude::*;

use super::garden::{Garden, agent, failure, life};
use super::*;

/// Patterns that match within their class, by numbers alone, and not across.
const CLASSES: [&str; 4] = [
    "timeout in search step",
    "output lacks field",
    "upstream said nothing",
    "role was blurred",
];

#[derive(Clone, Debug)]
struct Told {
    lineage: u64,
    success: i32,
    classes: Vec<usize>,
}

fn told() -> impl Strategy<Value = Told> {
    let success = prop::sample::select(vec![0, 799_999, 800_000, 800_001, 900_000, 1_000_000]);
    let classes = prop::collection::vec(0..CLASSES.len(), 0..3);
    (0..6_u64, success, classes).prop_map(|(lineage, success, classes)| Told {
        lineage,
        success,
        classes,
    })
}

fn lives(told: &[Told]) -> Vec<Life> {
    let numbered = (1000..).zip(told);
    let lives = numbered.map(|(n, told)| Life {
        lineage: agent(told.lineage),
        ..life(
            n,
            told.success,
            told.classes
                .iter()
                .map(|class| failure(&format!("{} {n}", CLASSES[*class])))
                .collect(),
        )
    });
    lives.collect()
}

/// How many lineages above the gate tell of each class.
fn voices(told: &[Told]) -> BTreeMap<usize, usize> {
    let mut lineages: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
    for told in told.iter().filter(|told| told.success > 800_000) {
        for class in &told.classes {
            lineages.entry(*class).or_default().insert(told.lineage);
        }
    }
    lineages
        .into_iter()
        .map(|(class, who)| (class, who.len()))
        .collect()
}

proptest! {
    #[test]
    fn three_lineages_above_the_gate_promote_in_whatever_order_they_come(
        (told, order) in prop::collection::vec(told(), 0..19)
            .prop_flat_map(|told| {
                let order = Just((0..told.len()).collect::<Vec<_>>()).prop_shuffle();
                (Just(told), order)
            })
    ) {
        let lives = lives(&told);
        let mut garden = Garden::default();

        for index in order {
            garden.compost(lives[index].clone());
        }

        let mut learned = BTreeMap::new();
        for learning in &garden.soil.learnings {
            let class = CLASSES.iter().position(|class| learning.pattern.as_str().starts_with(class)).unwrap();
            prop_assert!(learned.insert(class, learning.voices as usize).is_none());
        }
        let mut expected = voices(&told);
        expected.retain(|_, lineages| *lineages >= 3);
        prop_assert_eq!(learned, expected);
    }

    #[test]
    fn nobody_counts_twice(told in prop::collection::vec(told(), 0..40)) {
        let mut garden = Garden::default();

        for life in lives(&told) {
            garden.compost(life);
        }

        for (id, voices) in &garden.voices {
            let lineages: BTreeSet<AgentId> = voices.iter().map(|voice| voice.lineage).collect();
            let agents: BTreeSet<AgentId> = voices.iter().map(|voice| voice.agent).collect();
            prop_assert_eq!(lineages.len(), voices.len());
            prop_assert_eq!(agents.len(), voices.len());
            prop_assert!(voices.iter().all(|voice| voice.success > GATE));
            if let Some(learning) = garden.soil.learnings.iter().find(|one| one.id == *id) {
                prop_assert_eq!(learning.voices as usize, voices.len());
            }
        }
    }

    #[test]
    fn heirs_keep_a_learning_alive_and_never_confirm_it(
        successes in prop::collection::vec(0..=1_000_000, 0..60), speaks in prop::collection::vec(any::<bool>(), 60)
    ) {
        let mut garden = Garden::default();
        for n in 1..=3 {
            garden.compost(life(n, 900_000, vec![failure(CLASSES[0])]));
        }
        let before = garden.soil.learnings[0].clone();

        for (n, (success, speaks)) in (100..).zip(successes.into_iter().zip(speaks)) {
            let found = if speaks { vec![failure(CLASSES[0])] } else { Vec::new() };
            let heir = Life { inherited: vec![(before.id, before.pattern.clone())], ..life(n, success, found) };
            let result = garden.compost(heir);

            prop_assert_eq!(result.confirmed, []);
            prop_assert_eq!(result.promoted, []);
            prop_assert_eq!(result.candidates, []);
            prop_assert_eq!(result.refreshed.len(), usize::from(speaks && success > 800_000 && !garden.learned().is_empty()));
        }

        for learning in &garden.soil.learnings {
            prop_assert_eq!((learning.voices, learning.success_sum), (before.voices, before.success_sum));
        }
    }

    #[test]
    fn losses_only_grow_and_only_after_20_silent_composts(speaks in prop::collection::vec(any::<bool>().prop_map(|a| a), 0..120)) {
        let mut garden = Garden::default();
        for n in 1..=3 {
            garden.compost(life(n, 950_000, vec![failure(CLASSES[1])]));
        }
        let mut silent = 0;
        let mut losses = 0;

        for (n, speak) in (100..).zip(speaks) {
            // Long silences are rare in random bits: only every sixteenth word is said.
            let speak = speak && n % 16 == 0;
            let found = if speak { vec![failure(CLASSES[1])] } else { Vec::new() };
            garden.compost(life(n, 950_000, found));
            silent = if speak { 0 } else { silent + 1 };
            losses += u32::from(silent >= 20);

            let Some(learning) = garden.soil.learnings.first() else {
                prop_assert!(losses >= 10);
                break;
            };
            prop_assert_eq!(learning.losses, losses);
            prop_assert!(learning.correlation() > Score::default());
        }
    }
}

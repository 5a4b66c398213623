use std::collections::{BTreeMap, BTreeSet};

use cambium_kernel::AgentId;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::ledger::replay;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
}

fn settled(outcome: Outcome) -> Settlement {
    Settlement {
        outcome,
        ended_at: at(60),
        duration: TimeDelta::seconds(1),
        slots: 1,
        busy: 0,
    }
}

/// A fact about one of a few agents.
#[derive(Clone, Debug)]
enum Fact {
    Thanks { giver: u8, receiver: u8, day: u8 },
    DeadEnd { agent: u8 },
    Share { agent: u8, day: u8 },
    Settled { agent: u8, outcome: Outcome },
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop::sample::select(vec![
        Outcome::Succeeded,
        Outcome::Failed,
        Outcome::InvalidOutput,
        Outcome::LeaseLost,
    ])
}

fn facts() -> impl Strategy<Value = Fact> {
    prop_oneof![
        (0..3_u8, 0..3_u8, 0..2_u8).prop_map(|(giver, receiver, day)| Fact::Thanks {
            giver,
            receiver,
            day
        }),
        (0..3_u8).prop_map(|agent| Fact::DeadEnd { agent }),
        (0..3_u8, 0..2_u8).prop_map(|(agent, day)| Fact::Share { agent, day }),
        (0..3_u8, outcomes()).prop_map(|(agent, outcome)| Fact::Settled { agent, outcome }),
    ]
}

/// A workspace in memory: each fact has effect once.
struct Book {
    policy: Policy,
    standings: BTreeMap<u8, Standing>,
    credited: BTreeMap<(u8, u8, u8), u32>,
    seen: BTreeSet<usize>,
    changes: Vec<(u8, Change)>,
}

impl Book {
    fn new() -> Self {
        let policy = Policy {
            share_daily_cap: 2,
            ..Policy::default()
        };
        Self {
            policy,
            standings: (0..3).map(|n| (n, Standing::new(at(0)))).collect(),
            credited: BTreeMap::new(),
            seen: BTreeSet::new(),
            changes: Vec::new(),
        }
    }

    fn hear(&mut self, cause: usize, fact: &Fact) {
        if !self.seen.insert(cause) {
            return;
        }
        let id = |n: u8| AgentId::from_uuid(Uuid::from_u128(n.into()));
        let policy = &self.policy;
        let agent = match *fact {
            Fact::Thanks { giver, .. } => giver,
            Fact::DeadEnd { agent } | Fact::Share { agent, .. } | Fact::Settled { agent, .. } => {
                agent
            }
        };
        let standing = self.standings.get_mut(&agent).unwrap();
        let change = match *fact {
            Fact::Thanks {
                giver,
                receiver,
                day,
            } => {
                let counted = self.credited.entry((giver, receiver, day)).or_default();
                let credit = Credit::of_gratitude(id(giver), Some(id(receiver)), counted, policy);
                standing.contribute(credit, policy)
            }
            Fact::DeadEnd { .. } => standing.consume(policy),
            Fact::Share { day, .. } => {
                let counted = self.credited.entry((agent, u8::MAX, day)).or_default();
                standing.share(Credit::of_share(counted, policy), policy)
            }
            Fact::Settled { outcome, .. } => standing.settle(&settled(outcome), policy, at(60)),
        };
        self.changes.push((agent, change));
    }

    fn entries(&self) -> impl Iterator<Item = (u8, &Entry)> {
        self.changes
            .iter()
            .flat_map(|(agent, change)| change.entries.iter().map(|entry| (*agent, entry)))
    }

    /// For each agent and event: how many were credited, and how many were not.
    fn counts(&self) -> BTreeMap<(u8, &'static str, bool), usize> {
        let mut counts = BTreeMap::new();
        for (agent, entry) in self
            .entries()
            .filter(|(_, entry)| entry.kind != ScoreKind::Health)
        {
            let key = (agent, entry.event.as_str(), entry.delta != 0);
            *counts.entry(key).or_default() += 1;
        }
        counts
    }
}

fn told(facts: &[Fact], order: &[usize]) -> Book {
    let mut book = Book::new();
    for index in order {
        book.hear(*index, &facts[*index]);
    }
    book
}

proptest! {
    #[test]
    fn order_and_repetition_change_no_count(
        (facts, order) in prop::collection::vec(facts(), 1..40).prop_flat_map(|facts| {
            let twice: Vec<usize> = (0..facts.len()).chain(0..facts.len()).collect();
            (Just(facts), Just(twice).prop_shuffle())
        }),
    ) {
        let straight: Vec<usize> = (0..facts.len()).collect();

        let (once, shuffled) = (told(&facts, &straight), told(&facts, &order));

        prop_assert_eq!(once.counts(), shuffled.counts());
    }

    #[test]
    fn replaying_the_ledger_gives_the_standing(facts in prop::collection::vec(facts(), 0..80)) {
        let book = told(&facts, &(0..facts.len()).collect::<Vec<_>>());

        for (agent, standing) in &book.standings {
            let start = Standing::new(at(0));
            let tracks = [
                (ScoreKind::Trust, start.trust, standing.trust),
                (ScoreKind::Generosity, start.generosity, standing.generosity),
                (ScoreKind::Health, start.health, standing.health),
            ];
            for (kind, from, to) in tracks {
                let own = book.entries().filter(|(of, entry)| of == agent && entry.kind == kind);
                prop_assert_eq!(replay(from.score, own.map(|(_, entry)| entry)), Ok(to.score));
            }
        }
    }

    #[test]
    fn a_step_down_below_a_quarter_says_so_once_and_how_far(
        facts in prop::collection::vec(facts(), 0..120),
    ) {
        let book = told(&facts, &(0..facts.len()).collect::<Vec<_>>());

        for (_, change) in &book.changes {
            let fell = change.entries.iter().find(|entry| {
                entry.kind == ScoreKind::Generosity
                    && entry.after < entry.before
                    && entry.after.as_millionths() < 250_000
            });
            let said: Vec<i32> = change.stress.iter()
                .filter(|stress| **stress != Stress::Overextension)
                .map(|stress| stress.intensity().as_millionths())
                .collect();
            let due: Vec<i32> =
                fell.map(|entry| 4 * (250_000 - entry.after.as_millionths())).into_iter().collect();
            prop_assert_eq!(said, due);
        }
    }

    #[test]
    fn overextension_is_said_once_for_each_time_it_begins(
        steps in prop::collection::vec((any::<bool>(), outcomes()), 0..150),
    ) {
        let policy = Policy::default();
        let mut standing = Standing { generosity: Track::at(clamped(790_000)), ..Standing::new(at(0)) };
        let mut was = false;

        for (gives, outcome) in steps {
            let change = if gives {
                standing.contribute(Credit::Given, &policy)
            } else if outcome == Outcome::LeaseLost {
                standing.consume(&policy)
            } else {
                standing.settle(&settled(outcome), &policy, at(60))
            };

            let is = standing.generosity.score.as_millionths() > 800_000
                && standing.health.score.as_millionths() < 700_000;
            let said = change.stress.iter().filter(|stress| **stress == Stress::Overextension).count();
            prop_assert_eq!(said, usize::from(is && !was));
            prop_assert_eq!(standing.is_overextended, is);
            was = is;
        }
    }
}

#[test]
fn from_the_start_five_gifts_make_two_thirds_and_thirteen_dead_ends_a_hoarder() {
    let policy = Policy::default();
    let (mut giver, mut taker) = (Standing::new(at(0)), Standing::new(at(0)));

    for _ in 0..5 {
        giver.contribute(Credit::Given, &policy);
    }
    let said: Vec<_> = (0..13)
        .flat_map(|_| taker.consume(&policy).stress)
        .collect();

    assert_eq!(giver.generosity.score, clamped(650_000));
    assert_eq!(taker.generosity.score, clamped(240_000));
    let intensity = clamped(40_000);
    assert_eq!(said, [Stress::Hoarding { intensity }]);
}

#[test]
fn at_the_bottom_nothing_steps_down() {
    let policy = Policy::default();
    let mut standing = Standing {
        generosity: Track::at(Score::default()),
        ..Standing::new(at(0))
    };

    let change = standing.consume(&policy);

    assert_eq!(change.stress, []);
    assert_eq!(change.entries[0].delta, -20_000);
    assert_eq!(change.entries[0].action, Action::None);
}

#[test]
fn the_overextended_get_half_their_slots_until_they_are_healthy() {
    let policy = Policy::default();
    let mut standing = Standing {
        generosity: Track::at(clamped(900_000)),
        ..Standing::new(at(0))
    };
    let mut said = Vec::new();

    let outcomes = [Outcome::Failed; 12]
        .into_iter()
        .chain([Outcome::Succeeded; 12]);
    for outcome in outcomes {
        let change = standing.settle(&settled(outcome), &policy, at(60));
        said.extend(change.stress.iter().map(|_| "stress"));
        said.extend(change.advice.map(|share| {
            if share == Score::ONE {
                "all slots"
            } else {
                "half the slots"
            }
        }));
    }

    assert_eq!(said, ["stress", "half the slots", "all slots"]);
}

#[test]
fn falling_far_ends_overextension_too() {
    let steep = Policy {
        consumption_penalty: clamped(700_000),
        ..Policy::default()
    };
    let mut standing = Standing {
        generosity: Track::at(clamped(900_000)),
        ..Standing::new(at(0))
    };
    for _ in 0..12 {
        standing.settle(&settled(Outcome::Failed), &steep, at(60));
    }
    assert!(standing.is_overextended);

    let change = standing.consume(&steep);

    let intensity = clamped(200_000);
    assert_eq!(change.stress, [Stress::Hoarding { intensity }]);
    assert!(!standing.is_overextended);
}

#[test]
fn giving_on_while_unwell_overextends_from_the_other_side() {
    let policy = Policy::default();
    let mut standing = Standing {
        generosity: Track::at(clamped(780_000)),
        ..Standing::new(at(0))
    };
    for _ in 0..12 {
        standing.settle(&settled(Outcome::Failed), &policy, at(60));
    }
    assert!(!standing.is_overextended);

    let change = standing.contribute(Credit::Given, &policy);

    assert_eq!(change.stress, [Stress::Overextension]);
    assert_eq!(change.stress[0].intensity(), clamped(700_000));
    assert_eq!(change.entries[0].action, Action::OverextensionDetected);
    assert_eq!(change.advice, Some(Score::ratio(1, 2)));
}

#[test]
fn idle_trust_drifts_in_a_step_of_its_own_before_it_moves() {
    let policy = Policy::default();
    let mut standing = Standing {
        trust: Track::at(clamped(900_000)),
        ..Standing::new(at(0))
    };
    let week = at(7 * 86_400);

    let change = standing.settle(&settled(Outcome::Succeeded), &policy, week);

    let steps: Vec<_> = change
        .entries
        .iter()
        .map(|e| (e.event, e.delta, e.after))
        .collect();
    assert_eq!(
        steps,
        [
            (Event::IdleDrift, -200_000, clamped(700_000)),
            (Event::TaskSucceeded, 10_000, clamped(710_000)),
        ]
    );
    assert_eq!(standing.trust_at(week), clamped(710_000));
}

#[test]
fn back_on_trial_nobody_is_trusted_beyond_three_tenths_or_given_trust() {
    for (before, after) in [(900_000, 300_000), (200_000, 200_000)] {
        let mut standing = Standing {
            trust: Track::at(clamped(before)),
            ..Standing::new(at(0))
        };

        let entries = standing.return_on_trial(at(600));

        assert_eq!(entries.len(), 1);
        assert_eq!(standing.trust.score, clamped(after));
    }
}

#[test]
fn an_anomaly_takes_a_tenth_of_its_severity() {
    let mut standing = Standing::new(at(0));

    standing.fall_for_anomaly(clamped(500_000), at(1));

    assert_eq!(standing.trust.score, clamped(450_000));
}

#[test]
fn an_agent_from_outside_begins_lower_unless_its_trust_has_moved() {
    let (mut fresh, mut moved) = (Standing::new(at(0)), Standing::new(at(0)));
    moved.adjust(10_000, at(1));

    fresh.begin_as_external();
    moved.begin_as_external();

    assert_eq!(fresh.trust.score, clamped(300_000));
    assert_eq!(moved.trust.score, clamped(510_000));
    assert_eq!(moved.trust_start, clamped(500_000));
}

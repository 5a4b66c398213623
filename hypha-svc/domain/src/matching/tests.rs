use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn score() -> impl Strategy<Value = Score> {
    (0..=1_000_000).prop_map(|millionths| Score::from_millionths(millionths).unwrap())
}

fn merits() -> impl Strategy<Value = Merits> {
    (score(), score(), score(), score(), score()).prop_map(
        |(capability, trust, health, load, generosity)| Merits {
            capability,
            trust,
            health,
            load,
            generosity,
        },
    )
}

/// Any five weights that sum to one.
fn weights(explore_every: u32) -> impl Strategy<Value = Weights> {
    prop::collection::vec(0..=1_000_000, 4).prop_map(move |mut cuts: Vec<i32>| {
        cuts.sort_unstable();
        let of = |millionths| Score::from_millionths(millionths).unwrap();
        let shares = Shares {
            capability: of(cuts[0]),
            trust: of(cuts[1] - cuts[0]),
            health: of(cuts[2] - cuts[1]),
            load: of(cuts[3] - cuts[2]),
            generosity: of(1_000_000 - cuts[3]),
        };
        Weights::new(shares, explore_every).unwrap()
    })
}

fn bids() -> impl Strategy<Value = Vec<Bid>> {
    prop::collection::vec((merits(), 0..5_u64), 1..8).prop_map(|list| {
        let bid = |(at, (merits, last_served))| Bid {
            agent: AgentId::from_uuid(Uuid::from_u128(at)),
            merits,
            last_served,
        };
        (1_u128..).zip(list).map(bid).collect()
    })
}

fn alike(generosity: i32) -> Merits {
    let half = Score::of::<500_000>();
    Merits {
        capability: Score::ONE,
        trust: half,
        health: half,
        load: Score::ONE,
        generosity: Score::from_millionths(generosity).unwrap(),
    }
}

fn bid(id: u128, generosity: i32, last_served: u64) -> Bid {
    Bid {
        agent: AgentId::from_uuid(Uuid::from_u128(id)),
        merits: alike(generosity),
        last_served,
    }
}

#[test]
fn the_defaults_are_the_designs_table() {
    let whole = Weights::new(Weights::default().shares(), 20).unwrap();

    assert_eq!(whole, Weights::default());
    let perfect = Merits {
        trust: Score::ONE,
        health: Score::ONE,
        ..alike(1_000_000)
    };
    assert_eq!(whole.score(&perfect), 1_000_000_000_000);
}

#[test]
fn weights_that_do_not_sum_to_one_are_refused() {
    let shares = Shares {
        trust: Score::of::<200_001>(),
        ..Weights::default().shares()
    };

    assert_eq!(Weights::new(shares, 20), Err(Error::Weights(1_000_001)));
}

#[test]
fn of_a_hundred_the_more_generous_gets_ninety_five() {
    let weights = Weights::default();
    let mut bids = [bid(1, 800_000, 0), bid(2, 300_000, 0)];
    let mut served = [0, 0];

    for turn in 0..100 {
        let agent = weights.choose(&bids, turn).unwrap().agent;
        let at = bids.iter().position(|bid| bid.agent == agent).unwrap();
        bids[at].last_served = turn + 1;
        served[at] += 1;
    }

    assert_eq!(served, [95, 5]);
}

#[test]
fn equals_take_turns_by_how_long_they_have_waited() {
    let weights = Weights::default();

    let fresh = [bid(1, 500_000, 7), bid(2, 500_000, 3), bid(3, 500_000, 3)];

    assert_eq!(weights.choose(&fresh, 0), Some(&fresh[1]));
}

#[test]
fn half_of_three_slots_is_one_and_half_of_one_is_one() {
    let half = Score::of::<500_000>();

    assert_eq!([4, 3, 1].map(|slots| advised(slots, half)), [2, 1, 1]);
    assert_eq!(advised(5, Score::ONE), 5);
    assert_eq!(advised(5, Score::default()), 1);
}

proptest! {
    #[test]
    fn somebody_always_gets_it(weights in weights(20), bids in bids(), turn in any::<u32>()) {
        let chosen = weights.choose(&bids, turn.into());

        prop_assert!(chosen.is_some_and(|chosen| bids.contains(chosen)));
    }

    #[test]
    fn the_order_of_the_bids_does_not_matter(weights in weights(3), bids in bids(), turn in 0..9_u64) {
        let mut turned = bids.clone();
        turned.reverse();

        let one = weights.choose(&bids, turn).map(|bid| bid.agent);

        prop_assert_eq!(one, weights.choose(&turned, turn).map(|bid| bid.agent));
    }

    #[test]
    fn more_of_any_merit_never_scores_less(weights in weights(0), merits in merits(), more in merits()) {
        let better = Merits {
            capability: merits.capability.max(more.capability),
            trust: merits.trust.max(more.trust),
            health: merits.health.max(more.health),
            load: merits.load.max(more.load),
            generosity: merits.generosity.max(more.generosity),
        };

        prop_assert!(weights.score(&better) >= weights.score(&merits));
        prop_assert!(weights.score(&better) <= 1_000_000_000_000);
    }

    #[test]
    fn between_two_alike_the_more_generous_wins(low in 0..1_000_000_i32, by in 1..1_000_000_i32, served in 0..9_u64) {
        let high = (low + by).min(1_000_000);
        let bids = [bid(1, low, 0), bid(2, high, served)];

        let chosen = Weights::default().choose(&bids, 0).unwrap();

        prop_assert_eq!(chosen.agent, bids[1].agent);
    }

    /// However little speaks for a newcomer, it is tried as soon as a round of exploration comes.
    #[test]
    fn a_newcomer_is_tried_within_a_round(every in 1..40_u32, others in bids(), from in any::<u32>()) {
        let weights = Weights::new(Weights::default().shares(), every).unwrap();
        let mut bids: Vec<Bid> = others.iter().map(|bid| Bid { last_served: bid.last_served + 1, ..*bid }).collect();
        let newcomer = Bid { merits: Merits { capability: Score::default(), trust: Score::default(),
            health: Score::default(), load: Score::default(), generosity: Score::default() }, ..bid(99, 0, 0) };
        bids.push(newcomer);

        let tried = (0..u64::from(every)).any(|turn| {
            weights.choose(&bids, u64::from(from) + turn).is_some_and(|chosen| chosen.agent == newcomer.agent)
        });

        prop_assert!(tried);
    }

    #[test]
    fn advice_never_takes_the_last_slot_nor_adds_one(slots in 1..1_000_u32, share in score()) {
        let advised = advised(slots, share);

        prop_assert!((1..=slots).contains(&advised));
    }
}

use proptest::prelude::*;

use super::*;
use crate::condition::Place;

fn joins(total: u32) -> impl Strategy<Value = Join> {
    let expr = Condition::compile("state.a == 'failed'", Place::Join).unwrap();
    prop_oneof![
        Just(Join::All),
        Just(Join::Any),
        Just(Join::Settled),
        (1..=total).prop_map(Join::Quorum),
        Just(Join::Expr(expr)),
    ]
}

prop_compose! {
    fn histories()(fates in proptest::collection::vec(any::<bool>(), 1..12))(
        join in joins(u32::try_from(fates.len()).unwrap()),
        shuffled in Just(fates.clone()).prop_shuffle(),
        fates in Just(fates),
    ) -> (Join, Vec<bool>, Vec<bool>) {
        (join, fates, shuffled)
    }
}

/// The decision before any edge has settled, and after each.
fn decisions(join: &Join, fates: &[bool]) -> Vec<Decision> {
    let mut tally = Tally {
        total: u32::try_from(fates.len()).unwrap(),
        ..Tally::default()
    };
    let mut decisions = vec![join.decide(tally)];
    for &fired in fates {
        *(if fired {
            &mut tally.fired
        } else {
            &mut tally.dead
        }) += 1;
        decisions.push(join.decide(tally));
    }
    decisions
}

proptest! {
    #[test]
    fn a_decision_is_never_taken_back((join, fates, _) in histories()) {
        let decisions = decisions(&join, &fates);

        let made: Vec<_> = decisions.into_iter().skip_while(|it| *it == Decision::Wait).collect();
        prop_assert!(made.windows(2).all(|pair| pair[0] == pair[1]), "{made:?}");
    }

    #[test]
    fn no_node_waits_on_nothing((join, fates, _) in histories()) {
        let last = decisions(&join, &fates).pop();

        prop_assert_ne!(last, Some(Decision::Wait));
    }

    #[test]
    fn the_order_of_edges_decides_nothing((join, fates, shuffled) in histories()) {
        prop_assert_eq!(decisions(&join, &fates).pop(), decisions(&join, &shuffled).pop());
    }
}

#[test]
fn a_node_without_edges_runs_whatever_its_join() {
    let expr = Join::Expr(Condition::compile("false", Place::Join).unwrap());

    for join in [Join::All, Join::Any, Join::Settled, Join::Quorum(1), expr] {
        assert_eq!(join.decide(Tally::default()), Decision::Run);
    }
}

#[test]
fn a_quorum_of_two_is_lost_with_the_second_of_three_edges() {
    let tally = |fired, dead| Tally {
        fired,
        dead,
        total: 3,
    };

    assert_eq!(Join::Quorum(2).decide(tally(1, 1)), Decision::Wait);
    assert_eq!(Join::Quorum(2).decide(tally(2, 0)), Decision::Run);
    assert_eq!(Join::Quorum(2).decide(tally(0, 2)), Decision::Omit);
}

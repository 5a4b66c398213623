use super::garden::{Garden, agent, failure, life};
use super::*;

/// Three lineages that agree.
fn garden() -> Garden {
    let mut garden = Garden::default();
    for n in 1..=3 {
        garden.compost(life(n, 900_000, vec![failure("timeout in search")]));
    }
    garden
}

#[test]
fn the_third_lineage_makes_a_learning() {
    let mut garden = Garden::default();
    let tell = |n, success| life(n, success, vec![failure("timeout in search")]);

    assert_eq!(garden.compost(tell(1, 900_000)).promoted, []);
    assert_eq!(garden.compost(tell(2, 1_000_000)).promoted, []);
    let promoted = garden.compost(tell(3, 800_001)).promoted;

    assert_eq!(promoted.len(), 1);
    assert_eq!(promoted[0].voices.len(), 3);
    assert_eq!(
        garden.soil.learnings[0].correlation().as_millionths(),
        900_000
    );
    assert_eq!(garden.soil.candidates, []);
}

#[test]
fn an_agent_at_exactly_the_gate_says_nothing() {
    let mut garden = Garden::default();

    for n in 1..=9 {
        garden.compost(life(n, 800_000, vec![failure("timeout in search")]));
    }

    assert_eq!(garden.learned(), Vec::<&str>::new());
    assert_eq!(garden.soil.candidates, []);
}

#[test]
fn the_children_of_one_parent_are_one_voice() {
    let mut garden = Garden::default();
    let child = |n| Life {
        lineage: agent(1),
        ..life(n, 900_000, vec![failure("timeout in search")])
    };

    for n in 1..=9 {
        garden.compost(child(n));
    }
    garden.compost(life(20, 900_000, vec![failure("timeout in search")]));

    assert_eq!(garden.learned(), Vec::<&str>::new());
    assert_eq!(garden.soil.candidates.len(), 10);
}

#[test]
fn what_a_quarantined_agent_says_does_not_count() {
    let mut garden = garden();
    let held = Life {
        is_quarantined: true,
        ..life(
            9,
            900_000,
            vec![failure("timeout in search"), failure("other")],
        )
    };

    let result = garden.compost(held);

    assert_eq!(result, Yield::default());
}

#[test]
fn a_newcomer_confirms_and_its_lineage_does_so_once() {
    let mut garden = garden();
    let child = |n| Life {
        lineage: agent(4),
        ..life(n, 960_000, vec![failure("Timeout in search!")])
    };

    assert_eq!(garden.compost(child(4)).confirmed.len(), 1);
    let again = garden.compost(child(5));

    assert_eq!((again.confirmed.len(), again.refreshed.len()), (0, 1));
    assert_eq!(garden.soil.learnings[0].voices, 4);
    assert_eq!(
        garden.soil.learnings[0].correlation().as_millionths(),
        915_000
    );
}

#[test]
fn an_heir_refreshes_by_evidence_and_not_by_its_word() {
    let mut garden = garden();
    let told = failure("timeout in search");
    let listed = Found {
        is_evidence: false,
        ..told.clone()
    };

    let by_word = garden.compost(garden.heir(10, 900_000, vec![listed]));
    let by_evidence = garden.compost(garden.heir(11, 900_000, vec![told]));

    assert_eq!(by_word, Yield::default());
    assert_eq!(by_evidence.refreshed.len(), 1);
    assert_eq!(garden.soil.learnings[0].voices, 3);
    assert_eq!(garden.soil.learnings[0].confirmed_at, 5);
}

#[test]
fn what_was_inherited_makes_no_candidate_once_it_is_gone() {
    let mut garden = garden();
    let heirs: Vec<Life> = (10..20)
        .map(|n| garden.heir(n, 900_000, vec![failure("timeout in search")]))
        .collect();
    garden.soil.learnings.clear();

    for heir in heirs {
        garden.compost(heir);
    }

    assert_eq!(garden.soil.candidates, []);
}

#[test]
fn matching_is_not_transitive_so_each_pattern_needs_its_own_company() {
    let mut garden = Garden::default();
    garden.soil.threshold = Score::of::<500_000>();
    // Each matches its neighbours and nobody else.
    let chain = ["alpha beta", "alpha beta gamma", "beta gamma delta"];

    for (n, text) in (1..).zip(chain) {
        garden.compost(life(n, 900_000, vec![failure(text)]));
    }

    assert_eq!(garden.learned(), ["alpha beta gamma"]);
}

#[test]
fn of_several_that_qualify_the_first_by_text_is_taken() {
    let mut garden = Garden::default();
    let texts = ["timeout 3", "timeout 1", "timeout 2"];

    for (n, text) in (1..).zip(texts) {
        garden.compost(life(n, 900_000, vec![failure(text)]));
    }

    assert_eq!(garden.learned(), ["timeout 1"]);
}

#[test]
fn the_twentieth_compost_without_a_word_costs_a_tenth_and_the_last_tenth_the_learning() {
    let mut garden = garden();
    let silent = |n| life(n, 900_000, Vec::new());

    for n in 0..19 {
        assert_eq!(garden.compost(silent(100 + n)).faded, []);
    }
    for n in 0..9 {
        assert_eq!(garden.compost(silent(200 + n)).faded.len(), 1);
    }

    assert_eq!(garden.learned(), Vec::<&str>::new());
    assert_eq!(garden.removed.len(), 1);
}

#[test]
fn a_confirmation_stops_the_loss_and_refunds_none() {
    let mut garden = garden();
    for n in 0..21 {
        garden.compost(life(100 + n, 900_000, Vec::new()));
    }
    assert_eq!(garden.soil.learnings[0].losses, 2);

    garden.compost(life(50, 900_000, vec![failure("timeout in search")]));
    for n in 0..19 {
        garden.compost(life(200 + n, 900_000, Vec::new()));
    }

    assert_eq!(garden.soil.learnings[0].losses, 2);
    assert_eq!(
        garden.soil.learnings[0].correlation().as_millionths(),
        700_000
    );
}

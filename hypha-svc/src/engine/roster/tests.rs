use std::sync::Arc;

use cambium_kernel::WorkspaceId;
use uuid::Uuid;

use super::*;
use crate::engine::registration::Offered;

const WORKSPACE: &str = "default";

fn agent(id: u128) -> AgentId {
    AgentId::from_uuid(Uuid::from_u128(id))
}

fn asking(roster: &mut Roster, id: u128, slots: u32) {
    let registration = Arc::new(Registration::new(
        i32::try_from(id).unwrap(),
        WorkspaceId::parse(WORKSPACE).unwrap(),
        "worker:w".to_owned(),
        slots,
        vec![Offered {
            id: agent(id),
            has: std::collections::BTreeSet::new(),
            serves_minds: Vec::new(),
        }],
        false,
    ));
    roster.note_asking(&registration);
}

fn row(id: u128) -> Row {
    Row {
        agent: agent(id),
        trust: Score::of::<500_000>(),
        generosity: Score::of::<500_000>(),
        health: Score::ONE,
        quarantined: false,
        share: Score::ONE,
        leaving: 0,
    }
}

/// Gives one piece of work to whoever is to have it.
fn assign(roster: &mut Roster, ids: &[u128]) -> Option<AgentId> {
    let bids: Vec<Bid> = ids
        .iter()
        .filter_map(|id| roster.bid(agent(*id), Score::ONE))
        .collect();
    roster.assign(WORKSPACE, &bids)
}

#[test]
fn the_less_busy_of_equals_gets_the_work() {
    let mut roster = Roster::default();
    asking(&mut roster, 1, 4);
    asking(&mut roster, 2, 4);

    let both = [assign(&mut roster, &[1, 2]), assign(&mut roster, &[1, 2])];

    assert_eq!(both, [Some(agent(1)), Some(agent(2))]);
}

#[test]
fn whoever_is_in_quarantine_or_leaves_bids_for_nothing() {
    let mut roster = Roster::default();
    asking(&mut roster, 1, 1);
    asking(&mut roster, 2, 1);

    roster.set_standings(&[
        Row {
            quarantined: true,
            ..row(1)
        },
        Row {
            leaving: 1,
            ..row(2)
        },
    ]);

    assert_eq!(assign(&mut roster, &[1, 2]), None);
    assert!(!roster.may_work(agent(1)));
}

#[test]
fn advice_halves_the_slots_and_leaves_one() {
    let mut roster = Roster::default();
    let half = Score::of::<500_000>();
    for (id, slots) in [(1, 4), (2, 1)] {
        asking(&mut roster, id, slots);
        roster.set_standings(&[Row {
            share: half,
            ..row(id)
        }]);
    }

    let taken = [1, 1, 1, 2, 2].map(|id| assign(&mut roster, &[id]).is_some());

    assert_eq!(taken, [true, true, false, true, false]);
}

#[test]
fn a_count_that_was_read_while_the_true_one_changed_is_not_believed() {
    let mut roster = Roster::default();
    asking(&mut roster, 1, 4);
    assign(&mut roster, &[1]);
    roster.settle(&[agent(1)]);

    let before = roster.stamp();
    assign(&mut roster, &[1]);
    roster.set_held(&before, &HashMap::from([(agent(1), 1)]));
    assert_eq!(roster.load(agent(1)), (4, 2));

    // Nor one that was read before the change of a transaction under way could be seen.
    let during = roster.stamp();
    roster.set_held(&during, &HashMap::from([(agent(1), 1)]));
    assert_eq!(roster.load(agent(1)), (4, 2));

    roster.settle(&[agent(1)]);
    let after = roster.stamp();
    roster.set_held(&after, &HashMap::from([(agent(1), 3)]));
    assert_eq!(roster.load(agent(1)), (4, 3));
}

#[test]
fn what_did_not_commit_changes_no_count() {
    let mut roster = Roster::default();
    asking(&mut roster, 1, 4);
    assign(&mut roster, &[1]);
    roster.settle(&[agent(1)]);

    roster.release(&[agent(1)]);
    roster.unrelease(&[agent(1)]);
    assign(&mut roster, &[1]);
    roster.unassign(agent(1));

    assert_eq!(roster.load(agent(1)), (4, 1));
    assert_eq!(roster.stamp().0.len(), 1);
}

use super::*;

fn mind(name: &str) -> Instance {
    Instance::parse(name).unwrap()
}

fn both() -> BTreeSet<Instance> {
    [mind("ada"), mind("bob")].into()
}

#[test]
fn a_birth_begins_at_the_least_and_moves_nobody() {
    let mut timeline = Timeline::default();
    timeline.sync(&both());
    timeline.charge(&mind("ada"), 9);
    timeline.charge(&mind("bob"), 7);
    let before = timeline.clone();

    timeline.open(mind("cyd"));

    assert_eq!(timeline.vtime(&mind("cyd")), Vtime::from_units(7));
    for (name, seat) in before.seats() {
        assert_eq!(timeline.seats()[name], *seat);
    }
}

#[test]
fn a_timeline_that_has_gone_far_keeps_its_order() {
    let mut timeline = Timeline::default();
    timeline.sync(&both());
    timeline.charge(&mind("ada"), (1 << 62) + 5);
    assert_eq!(timeline.min_vtime(), Vtime::default());
    timeline.charge(&mind("bob"), 1 << 62);

    let steps = timeline.rebase();

    assert_eq!(steps.len(), 2);
    assert_eq!(timeline.vtime(&mind("ada")), Vtime::from_units(5));
    assert_eq!(timeline.vtime(&mind("bob")), timeline.min_vtime());
    assert_eq!(timeline.rebase(), []);
}

#[test]
fn a_reset_starts_all_anew() {
    let mut timeline = Timeline::default();
    timeline.sync(&both());
    timeline.charge(&mind("ada"), 9);

    let steps = timeline.reset();

    assert!(
        steps
            .iter()
            .all(|step| step.cause == Cause::Reset && step.after == Vtime::default())
    );
    assert_eq!(timeline.min_vtime(), Vtime::default());
}

#[test]
fn a_row_that_was_lost_is_made_at_the_least() {
    let mut timeline = Timeline::default();
    timeline.sync(&both());
    timeline.charge(&mind("ada"), 9);
    timeline.charge(&mind("bob"), 9);
    timeline.close(&mind("ada"));

    timeline.sync(&both());

    assert_eq!(timeline.vtime(&mind("ada")), Vtime::from_units(9));
}

use std::collections::BTreeSet;

use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;

fn start() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH
}

fn agent(number: u8) -> AgentId {
    format!("00000000-0000-7000-8000-0000000000{number:02x}")
        .parse()
        .unwrap()
}

/// A path's, by agent 0.
fn placed(millionths: i32) -> Marker {
    let wish = Placement {
        region: Region::parse("here").unwrap(),
        kind: MarkerType::parse("path.to").unwrap(),
        intensity: Intensity::from_millionths(millionths).unwrap(),
        half_life: None,
    };
    Marker::place(MarkerId::generate(), wish, Author::Agent(agent(0)), start())
}

#[derive(Clone, Debug)]
enum Step {
    /// In seconds; a clock may also be set back.
    Wait(i64),
    Reinforce,
    Transform(u8),
}

prop_compose! {
    fn steps()(steps in proptest::collection::vec(
        prop_oneof![
            (-7_200_i64..7_200).prop_map(Step::Wait),
            Just(Step::Reinforce),
            (0_u8..6).prop_map(Step::Transform),
        ], 0..60,
    )) -> Vec<Step> {
        steps
    }
}

proptest! {
    #[test]
    fn whatever_happens_in_whatever_order_a_mark_keeps_its_bounds(base in 0..=800_000, steps in steps()) {
        let mut marker = placed(base);
        let mut now = start();
        let mut transformers = BTreeSet::new();
        for step in steps {
            let before = marker.clone();
            match step {
                Step::Wait(seconds) => now += TimeDelta::seconds(seconds),
                Step::Reinforce => marker = marker.reinforce(now),
                Step::Transform(number) => {
                    let is_allowed = number != 0 && !transformers.contains(&number);
                    let transformed = marker.clone().transform(agent(number), now);
                    prop_assert_eq!(transformed.is_ok(), is_allowed);
                    if let Ok(transformed) = transformed {
                        transformers.insert(number);
                        marker = transformed;
                    }
                }
            }

            prop_assert!(marker.intensity <= Intensity::MAX);
            prop_assert!(marker.intensity_at(now) <= Intensity::MAX);
            prop_assert_eq!(marker.depth(), transformers.len());
            prop_assert!(!marker.transformed_by.contains(&agent(0)));
            prop_assert!(marker.refreshed_at >= before.refreshed_at);
            prop_assert_eq!(marker.version > before.version, marker != before);
        }
    }

    #[test]
    fn between_touches_a_mark_never_grows_louder(base in 0..=800_000, waits in proptest::collection::vec(0_i64..900, 1..20)) {
        let marker = placed(base);
        let (mut now, mut heard) = (start(), marker.intensity);
        for wait in waits {
            now += TimeDelta::seconds(wait);
            let left = marker.intensity_at(now);

            prop_assert!(left <= heard);
            heard = left;
        }
    }
}

#[test]
fn a_transform_builds_on_what_has_not_decayed() {
    let marker = placed(800_000);

    let later = start() + TimeDelta::seconds(120);
    let transformed = marker.transform(agent(1), later).unwrap();

    assert_eq!(transformed.intensity.as_millionths(), 500_000);
    assert_eq!(transformed.refreshed_at, later);
    assert_eq!(transformed.transformed_by, [agent(1)]);
    assert_eq!(transformed.version, 2);
}

#[test]
fn reinforcing_adds_a_fifth_up_to_the_cap() {
    assert_eq!(
        placed(500_000).reinforce(start()).intensity.as_millionths(),
        700_000
    );
    assert_eq!(placed(700_000).reinforce(start()).intensity, Intensity::MAX);
}

#[test]
fn the_placer_and_whoever_did_before_may_not_transform() {
    let marker = placed(500_000).transform(agent(1), start()).unwrap();

    assert_eq!(
        marker.may_transform(agent(0)),
        Err(Error::OwnMarker(marker.id))
    );
    assert_eq!(
        marker.may_transform(agent(1)),
        Err(Error::AlreadyTransformed(marker.id))
    );
    assert_eq!(marker.may_transform(agent(2)), Ok(()));
}

#[test]
fn a_version_that_has_moved_is_named() {
    let marker = placed(500_000).reinforce(start());

    assert_eq!(marker.expect_version(0), Ok(()));
    assert_eq!(marker.expect_version(2), Ok(()));
    let moved = Error::VersionMoved {
        id: marker.id,
        expected: 1,
        current: 2,
    };
    assert_eq!(marker.expect_version(1), Err(moved));
}

use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;

prop_compose! {
    fn intensities()(millionths in 0..=800_000) -> Intensity {
        Intensity::from_millionths(millionths).unwrap()
    }
}

prop_compose! {
    fn half_lives()(seconds in 30..=2_592_000) -> HalfLife {
        HalfLife::from_seconds(seconds).unwrap()
    }
}

prop_compose! {
    /// Up to ten half-lives, mostly short ones, to the microsecond.
    fn waits()(micros in prop_oneof![0_i64..600_000_000, 0_i64..25_920_000_000_000]) -> TimeDelta {
        TimeDelta::microseconds(micros)
    }
}

proptest! {
    #[test]
    fn waiting_never_strengthens_a_marker(before in intensities(), life in half_lives(), wait in waits()) {
        prop_assert!(decay(before, life, wait) <= before);
    }

    #[test]
    fn whoever_looks_later_hears_no_more(before in intensities(), life in half_lives(), a in waits(), b in waits()) {
        prop_assert!(decay(before, life, a + b) <= decay(before, life, a));
    }

    #[test]
    fn a_wait_may_be_split_anywhere(before in intensities(), life in half_lives(), a in waits(), b in waits()) {
        let once = decay(before, life, a + b);
        let twice = decay(decay(before, life, a), life, b);

        prop_assert!(once.as_millionths().abs_diff(twice.as_millionths()) <= 1);
    }

    #[test]
    fn a_clock_set_back_decays_nothing(before in intensities(), life in half_lives(), back in waits()) {
        prop_assert_eq!(decay(before, life, -back), before);
    }

    #[test]
    fn after_one_half_life_half_is_left(before in intensities(), life in half_lives()) {
        let left = decay(before, life, TimeDelta::seconds(life.as_seconds().into()));

        prop_assert!((f64::from(left.as_millionths()) - f64::from(before.as_millionths()) / 2.0).abs() <= 0.5);
    }

    #[test]
    fn a_mark_is_heard_for_its_lifetime_and_no_longer(before in intensities(), life in half_lives()) {
        let heard = lifetime(before, life);

        prop_assert!(decay(before, life, heard + TimeDelta::microseconds(2)).as_millionths() <= FAINTEST);
        if heard > TimeDelta::zero() {
            prop_assert!(decay(before, life, heard).as_millionths() >= FAINTEST);
        }
    }

    #[test]
    fn no_mark_outlives_ten_half_lives(before in intensities(), life in half_lives()) {
        prop_assert!(lifetime(before, life) < TimeDelta::seconds(10 * i64::from(life.as_seconds())));
    }
}

#[test]
fn a_clock_set_back_two_hours_decays_nothing() {
    let left = decay(Intensity::MAX, HalfLife::of(30), TimeDelta::hours(-2));

    assert_eq!(left, Intensity::MAX);
}

#[test]
fn eight_thousandths_live_for_three_half_lives() {
    let quiet = Intensity::from_millionths(8_000).unwrap();

    assert_eq!(lifetime(quiet, HalfLife::of(60)), TimeDelta::seconds(180));
}

#[test]
fn what_is_not_over_a_thousandth_is_dead_at_once() {
    for millionths in [0, 1, 999, 1_000] {
        let quiet = Intensity::from_millionths(millionths).unwrap();

        assert_eq!(lifetime(quiet, HalfLife::of(60)), TimeDelta::zero());
    }
}

#[test]
fn a_half_life_is_from_half_a_minute_to_thirty_days() {
    for seconds in [30, 2_592_000] {
        assert!(HalfLife::from_seconds(seconds).is_ok());
    }
    for seconds in [i32::MIN, -1, 0, 29, 2_592_001, i32::MAX] {
        let refused = HalfLife::from_seconds(seconds);

        assert_eq!(refused, Err(Error::HalfLifeOutOfRange { seconds }));
    }
}

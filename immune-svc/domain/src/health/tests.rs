use proptest::prelude::*;

use super::*;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
}

fn full(ended_at: DateTime<Utc>, minutes: i64, slots: u32) -> Evidence {
    Evidence {
        outcome: Outcome::Succeeded,
        ended_at,
        duration: TimeDelta::minutes(minutes),
        slots,
        busy: slots,
    }
}

prop_compose! {
    fn evidence()(
        outcome in prop::sample::select(vec![
            Outcome::Succeeded, Outcome::Failed, Outcome::InvalidOutput, Outcome::LeaseLost,
        ]),
        second in -10_000_i64..2_000_000_000,
        seconds in -10_i64..100_000,
        slots in 0_u32..100,
        busy in 0_u32..100,
    ) -> Evidence {
        Evidence { outcome, ended_at: at(second), duration: TimeDelta::seconds(seconds), slots, busy }
    }
}

proptest! {
    #[test]
    fn health_is_a_score_whatever_was_heard(all in prop::collection::vec(evidence(), 0..60)) {
        let mut vitals = Vitals::default();

        for evidence in &all {
            vitals = vitals.heard(evidence);

            prop_assert!(vitals.busy.full_ms.iter().all(|ms| *ms <= 60_000));
            prop_assert!((0..=1_000_000).contains(&vitals.health().as_millionths()));
        }
    }

    #[test]
    fn the_busy_share_does_not_depend_on_order(
        seconds in prop::collection::vec(0_i64..600, 1..20),
    ) {
        let fold = |seconds: &[i64]| {
            let heard = |vitals: Vitals, s: &i64| vitals.heard(&full(at(6_000 + s), 1, 3));
            seconds.iter().fold(Vitals::default(), heard).busy
        };
        let mut backwards = seconds.clone();
        backwards.reverse();

        prop_assert_eq!(fold(&seconds), fold(&backwards));
    }
}

#[test]
fn ten_minutes_at_full_slots_cost_a_fifth() {
    let mut vitals = Vitals::default();

    // Two slots, each with one task of ten minutes, up to the very end of a minute.
    for _ in 0..2 {
        vitals = vitals.heard(&full(at(6_599), 10, 2));
    }

    assert_eq!(vitals.busy.share(), Score::ratio(599, 600));
    assert_eq!(vitals.health(), clamped(800_333));
}

#[test]
fn a_free_slot_counts_for_nothing() {
    let spare = Evidence {
        busy: 1,
        ..full(at(6_599), 10, 2)
    };

    assert_eq!(Vitals::default().heard(&spare).health(), Score::ONE);
}

#[test]
fn failures_alone_lead_to_half() {
    let failure = Evidence {
        outcome: Outcome::Failed,
        ..full(at(60), 0, 0)
    };
    let heard = |vitals: Vitals, _| vitals.heard(&failure);

    let once = heard(Vitals::default(), 0);
    let often = (0..200).fold(Vitals::default(), heard);

    assert_eq!(once.health(), clamped(950_000));
    // A rate in millionths stops a hair short of 1.
    assert!(often.health().as_millionths().abs_diff(500_000) <= 5);
}

#[test]
fn bands_begin_at_their_lower_edge() {
    assert_eq!(Band::of(clamped(700_000)), Band::Healthy);
    assert_eq!(Band::of(clamped(699_999)), Band::Stressed);
    assert_eq!(Band::of(clamped(400_000)), Band::Stressed);
    assert_eq!(Band::of(clamped(399_999)), Band::Critical);
}

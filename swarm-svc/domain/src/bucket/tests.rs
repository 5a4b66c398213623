use proptest::prelude::*;

use super::*;
use crate::dial::{Reserve, Setting};

fn at(us: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(us).unwrap()
}

fn dial(heat_ppm: i64, rate: i64, burst: i64) -> Dial {
    Dial::new(Setting {
        heat_ppm,
        base_rate_micro_usd_per_h: rate,
        base_run_micro_usd: 1_000_000,
        k: 2,
        reserve: Reserve::Cap,
        burst_micro_usd: Some(burst),
        floor_micro_usd: None,
        turn_max_s: None,
    })
    .unwrap()
}

#[test]
fn a_lost_bucket_owes_all_that_may_be_alive() {
    let lost = Bucket::lost(&dial(1_000_000, 2_000_000, 0), at(0));

    assert_eq!(lost.level, Usd::from_micros(-2_000_000));
}

#[test]
fn a_clock_that_steps_back_earns_nothing_and_one_that_leaps_no_more_than_the_burst() {
    let dial = dial(1_000_000, 2_000_000, 500_000);
    let debt = Bucket::empty(at(3_600_000_000)).charged(Usd::from_micros(9));

    assert_eq!(debt.refilled(&dial, at(0)).level, debt.level);
    assert_eq!(
        debt.refilled(&dial, at(1 << 60)).level,
        Usd::from_micros(500_000)
    );
}

proptest! {
    #[test]
    fn a_wait_may_be_split_anywhere(
        heat in 50_000..=2_000_000_i64, rate in 20..=10_000_000_000_i64, debt in 0..10_000_000_i64,
        a in 0..10_000_000_000_i64, b in 0..10_000_000_000_i64
    ) {
        let dial = dial(heat, rate, 40_000_000);
        let bucket = Bucket::empty(at(0)).charged(Usd::from_micros(debt));

        let once = bucket.refilled(&dial, at(a + b));
        let twice = bucket.refilled(&dial, at(a)).refilled(&dial, at(a + b));

        prop_assert_eq!(once, twice);
        prop_assert!(once.level <= dial.burst());
    }

    #[test]
    fn a_debt_is_made_up_for_after_the_wait_and_not_before(
        heat in 50_000..=2_000_000_i64, rate in 20..=10_000_000_000_i64, debt in 1..10_000_000_i64, reserved in 0..1_000_000_i64
    ) {
        let dial = dial(heat, rate, 40_000_000);
        let bucket = Bucket::empty(at(0)).charged(Usd::from_micros(debt));
        let reserved = Usd::from_micros(reserved);

        let wait = bucket.wait(reserved, &dial).unwrap().num_microseconds().unwrap();

        prop_assert!(bucket.refilled(&dial, at(wait)).level >= reserved);
        prop_assert!(bucket.refilled(&dial, at(wait - 1)).level < reserved);
        prop_assert_eq!(bucket.refilled(&dial, at(wait)).wait(reserved, &dial), None);
    }
}

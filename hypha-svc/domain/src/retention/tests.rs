use proptest::prelude::*;

use super::*;

const DAYS: Days = Days { run: 30, events: 7 };

fn day(number: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::days(number)
}

#[test]
fn events_go_after_a_week_and_the_run_after_a_month() {
    let at = |days: i64| due(Some(day(100)), DAYS, day(100 + days));

    assert_eq!([at(0), at(6)], [Due::Nothing; 2]);
    assert_eq!([at(7), at(29)], [Due::Events; 2]);
    assert_eq!([at(30), at(400)], [Due::Run; 2]);
}

#[test]
fn an_open_run_is_kept_however_old_it_is() {
    assert_eq!(due(None, DAYS, day(10_000)), Due::Nothing);
}

#[test]
fn a_run_that_is_kept_for_less_than_its_events_takes_them_with_it() {
    let days = Days { run: 1, events: 7 };

    assert_eq!(due(Some(day(0)), days, day(1)), Due::Run);
}

#[test]
fn the_last_three_stay_when_three_are_kept() {
    assert_eq!(stale_up_to(2, 3, 3), None);
    assert_eq!(stale_up_to(3, 4, 3), Some(1));
    assert_eq!(stale_up_to(4, 9, 3), Some(6));
}

#[test]
fn a_long_limit_is_looked_at_once_in_a_tenth_of_it() {
    assert_eq!(stale_up_to(100_000, 109_999, 100_000), None);
    assert_eq!(stale_up_to(109_999, 110_003, 100_000), Some(10_003));
}

proptest! {
    #[test]
    fn a_growing_run_has_its_newest_events_and_hardly_more(
        limit in 1_u32..200,
        growths in proptest::collection::vec(1_u32..50, 1..100),
    ) {
        let (mut seq, mut dropped) = (0, 0);
        for growth in growths {
            let after = seq + growth;
            if let Some(last) = stale_up_to(seq, after, limit) {
                prop_assert!(last >= dropped, "what is dropped stays dropped");
                dropped = last;
            }
            seq = after;

            let kept = seq - dropped;
            prop_assert!(kept >= limit.min(seq));
            prop_assert!(kept < limit + (limit / 10).max(1));
        }
    }

    #[test]
    fn what_is_due_stays_due(ended in 0_i64..1_000, run in 1_u32..100, events in 1_u32..100, now in 0_i64..2_000) {
        let days = Days { run, events };
        let rank = |due| match due {
            Due::Nothing => 0,
            Due::Events => 1,
            Due::Run => 2,
        };

        let today = rank(due(Some(day(ended)), days, day(now)));
        let tomorrow = rank(due(Some(day(ended)), days, day(now + 1)));

        prop_assert!(today <= tomorrow);
    }
}

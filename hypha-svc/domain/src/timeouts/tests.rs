use proptest::prelude::*;

use super::*;

const ALL: Timeouts = Timeouts {
    queue: Some(TimeDelta::seconds(10)),
    run: Some(TimeDelta::seconds(20)),
    total: Some(TimeDelta::seconds(60)),
};

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
}

#[test]
fn a_ready_task_has_its_queue_and_a_leased_one_its_run() {
    assert_eq!(
        ALL.deadline(Some(at(5)), None, at(0)),
        Some((at(15), TimeoutKind::Queue))
    );
    assert_eq!(
        ALL.deadline(Some(at(5)), Some(at(7)), at(0)),
        Some((at(27), TimeoutKind::Run))
    );
    assert_eq!(
        ALL.deadline(None, Some(at(50)), at(0)),
        Some((at(60), TimeoutKind::Total))
    );
}

#[test]
fn a_parked_task_has_only_its_total() {
    let without_total = Timeouts { total: None, ..ALL };

    assert_eq!(
        ALL.deadline(None, None, at(0)),
        Some((at(60), TimeoutKind::Total))
    );
    assert_eq!(without_total.deadline(None, None, at(0)), None);
}

#[test]
fn a_timeout_past_the_end_of_the_calendar_is_none() {
    let timeouts = Timeouts {
        total: Some(TimeDelta::MAX),
        ..Timeouts::default()
    };

    assert_eq!(timeouts.deadline(None, None, at(0)), None);
}

proptest! {
    #[test]
    fn a_deadline_is_never_after_the_total(ready in 0_i64..100, leased in proptest::option::of(0_i64..100)) {
        let (deadline, _) = ALL.deadline(Some(at(ready)), leased.map(at), at(0)).unwrap();

        prop_assert!(deadline <= at(60));
    }
}

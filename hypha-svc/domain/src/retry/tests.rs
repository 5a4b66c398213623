use proptest::prelude::*;

use super::*;

prop_compose! {
    fn policies()(
        initial in 0_i64..=86_400_000,
        factor_milli in 1_000_u32..=100_000,
        cap in 0_i64..=86_400_000,
    ) -> Retry {
        Retry {
            max_attempts: u32::MAX,
            initial: TimeDelta::milliseconds(initial),
            factor_milli,
            cap: TimeDelta::milliseconds(cap),
            non_retryable: Vec::new(),
        }
    }
}

fn wait(retry: &Retry, failures: u32, jitter: f64) -> TimeDelta {
    match retry.next(failures, "BOOM", true, jitter) {
        Next::After(wait) => wait,
        Next::GiveUp => panic!("gave up after {failures}"),
    }
}

proptest! {
    #[test]
    fn waits_grow_and_stay_within_the_cap(retry in policies(), failures in 1_u32..200, jitter in 0.0..=1.0) {
        let (now, next) = (wait(&retry, failures, jitter), wait(&retry, failures + 1, jitter));

        prop_assert!(TimeDelta::zero() <= now && now <= next && next <= retry.cap);
    }

    #[test]
    fn chance_moves_a_wait_within_its_upper_half(retry in policies(), failures in 1_u32.., jitter: f64) {
        let (least, most) = (wait(&retry, failures, 0.0), wait(&retry, failures, 1.0));

        let wait = wait(&retry, failures, jitter);

        prop_assert!(least <= wait && wait <= most);
        prop_assert!((most - least * 2).abs() <= TimeDelta::milliseconds(1));
    }
}

#[test]
fn the_usual_policy_waits_one_second_then_two_then_gives_up() {
    let retry = Retry::default();

    assert_eq!(wait(&retry, 1, 1.0), TimeDelta::seconds(1));
    assert_eq!(wait(&retry, 2, 0.5), TimeDelta::milliseconds(1_500));
    assert_eq!(retry.next(3, "BOOM", true, 0.5), Next::GiveUp);
}

#[test]
fn what_may_not_be_retried_is_not() {
    let retry = Retry {
        non_retryable: vec!["BAD_INPUT".to_owned()],
        ..Retry::default()
    };

    assert_eq!(retry.next(1, "BAD_INPUT", true, 0.0), Next::GiveUp);
    assert_eq!(retry.next(1, "BOOM", false, 0.0), Next::GiveUp);
    assert_eq!(
        retry.next(1, "BOOM", true, 0.0),
        Next::After(TimeDelta::milliseconds(500))
    );
}

#[test]
fn a_policy_without_a_first_wait_never_waits() {
    let retry = Retry {
        max_attempts: u32::MAX,
        initial: TimeDelta::zero(),
        ..Retry::default()
    };

    assert_eq!(wait(&retry, 5_000, 1.0), TimeDelta::zero());
}

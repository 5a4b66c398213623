use proptest::prelude::*;

use super::*;

fn at(micros: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::microseconds(micros)
}

/// Counts everything that was ever accepted.
#[derive(Default)]
struct Naive(Vec<i64>);

impl Naive {
    fn within(&self, now: i64) -> usize {
        let window = WINDOW.num_microseconds().unwrap();
        self.0.iter().filter(|&&time| now - time < window).count()
    }

    fn admits(&mut self, now: i64) -> bool {
        let is_admitted = self.within(now) < MOST;
        if is_admitted {
            self.0.push(now);
        }
        is_admitted
    }
}

prop_compose! {
    /// Steps of the clock: none, some seconds, just about a window.
    fn steps()(steps in proptest::collection::vec(
        prop_oneof![Just(0_i64), 0_i64..9_000_000, 59_999_990_i64..60_000_010], 1..80,
    )) -> Vec<i64> {
        steps
    }
}

proptest! {
    #[test]
    fn the_window_is_exact(steps in steps()) {
        let (mut accepted, mut naive) = (Accepted::default(), Naive::default());
        let mut now = 0;
        for step in steps {
            now += step;
            let is_admitted = accepted.admit(at(now)) == Admission::Admitted;

            prop_assert_eq!(is_admitted, naive.admits(now));
            prop_assert!(naive.within(now) <= MOST);
        }
    }

    #[test]
    fn the_wait_is_exact(steps in steps()) {
        let (mut accepted, mut now) = (Accepted::default(), 0);
        for step in steps {
            now += step;
            if let Admission::Refused { wait } = accepted.admit(at(now)) {
                let then = at(now) + wait;

                let too_early = accepted.clone().admit(then - TimeDelta::microseconds(1));
                prop_assert_eq!(too_early, Admission::Refused { wait: TimeDelta::microseconds(1) });
                prop_assert_eq!(accepted.clone().admit(then), Admission::Admitted);
            }
        }
    }

    #[test]
    fn a_refusal_counts_nothing(steps in steps()) {
        let (mut accepted, mut now) = (Accepted::default(), 0);
        for step in steps {
            now += step;
            let before = accepted.clone();
            if accepted.admit(at(now)) != Admission::Admitted {
                prop_assert_eq!(&accepted, &before);
            }
        }
    }

    /// By the time that has really passed, whatever the clock says of it.
    #[test]
    fn a_clock_set_back_makes_nobody_wait_longer_than_a_window(steps in steps(), back in 0_i64..10_000_000_000) {
        let (mut accepted, mut now) = (Accepted::default(), 0);
        for step in steps {
            now += step;
            accepted.admit(at(now));
        }
        let admission = accepted.admit(at(now - back));

        if let Admission::Refused { wait } = admission {
            prop_assert!(wait <= WINDOW);
            prop_assert_eq!(accepted.admit(at(now - back) + wait), Admission::Admitted);
        }
    }

    #[test]
    fn what_was_stored_reads_back(steps in steps()) {
        let (mut accepted, mut now) = (Accepted::default(), 0);
        for step in steps {
            now += step;
            accepted.admit(at(now));
            let mut stored = accepted.times().to_vec();
            stored.reverse();

            prop_assert_eq!(&Accepted::from_times(stored), &accepted);
        }
    }
}

#[test]
fn the_eleventh_waits_until_the_first_has_left() {
    let mut accepted = Accepted::default();
    for second in 0..10 {
        assert_eq!(accepted.admit(at(second * 1_000_000)), Admission::Admitted);
    }

    let eleventh = accepted.admit(at(20_000_000));

    let wait = TimeDelta::seconds(40);
    assert_eq!(eleventh, Admission::Refused { wait });
    assert_eq!(accepted.admit(at(60_000_000)), Admission::Admitted);
}

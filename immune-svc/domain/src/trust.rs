//! How trust moves. Asymmetric on purpose: it is lost faster than it is won, and what nobody has seen for long fades back
//! to where it began.

use cambium_kernel::Score;
use chrono::{DateTime, TimeDelta, Utc};

use crate::amount::moved;
use crate::ledger::Event;
use crate::recent::Outcome;

/// Where an agent of a template begins, in millionths.
pub const START: i32 = 500_000;
/// Where an agent from outside begins, in millionths.
pub const EXTERNAL_START: i32 = 300_000;

/// Untouched for so long, trust goes half the way back to its start.
const HALF_WAY: TimeDelta = TimeDelta::days(7);

/// What one settled task does to trust, in millionths.
pub(crate) const fn delta(outcome: Outcome) -> (Event, i32) {
    match outcome {
        Outcome::Succeeded => (Event::TaskSucceeded, 10_000),
        Outcome::Failed => (Event::TaskFailed, -30_000),
        Outcome::InvalidOutput => (Event::InvalidOutput, -50_000),
        Outcome::LeaseLost => (Event::LeaseLost, -20_000),
    }
}

/// What an anomaly takes: 0.10 times its severity.
pub(crate) const fn anomaly(severity: Score) -> i32 {
    -(severity.as_millionths() / 10)
}

/// What is left at `now` of trust that was last moved at `moved_at`: the distance to its start halves with every full week.
/// A clock that steps back moves nothing.
#[must_use]
pub fn drifted(score: Score, start: Score, moved_at: DateTime<Utc>, now: DateTime<Utc>) -> Score {
    let weeks = (now - moved_at).num_seconds().max(0) / HALF_WAY.num_seconds();
    let distance = score.as_millionths() - start.as_millionths();
    // Towards the start, and all the way in the end. 2^20 is more than any distance.
    let left = distance / (1_i32 << weeks.min(20));
    moved(start, left)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::amount::clamped;

    fn after(days: i64, score: i32) -> i32 {
        let then = DateTime::UNIX_EPOCH;
        let left = drifted(
            clamped(score),
            clamped(START),
            then,
            then + TimeDelta::days(days),
        );
        left.as_millionths()
    }

    #[test]
    fn a_week_takes_half_the_way_and_two_weeks_three_quarters() {
        assert_eq!(after(6, 900_000), 900_000);
        assert_eq!(after(7, 900_000), 700_000);
        assert_eq!(after(14, 900_000), 600_000);
        assert_eq!(after(7, 100_000), 300_000);
        assert_eq!(after(-30, 900_000), 900_000);
        assert_eq!(after(3_650, 900_001), 500_000);
    }

    proptest! {
        #[test]
        fn drift_never_passes_the_start(score in 0..=1_000_000, days in 0_i64..10_000) {
            let left = after(days, score);

            prop_assert!((left - START).abs() <= (score - START).abs());
            prop_assert!((left - START).signum() * (score - START).signum() >= 0);
        }
    }
}

//! How long a quarantine lasts.

use chrono::TimeDelta;

/// Back from a quarantine that ended by itself, an agent is trusted at most so far, in millionths.
pub const TRIAL_TRUST: i32 = 300_000;

const FIRST: TimeDelta = TimeDelta::minutes(10);
const LONGEST: TimeDelta = TimeDelta::hours(24);

/// The length of an agent's `count`th quarantine: ten minutes, doubling up to a day.
#[must_use]
pub fn stay(count: u32) -> TimeDelta {
    // Eight doublings are more than a day.
    let doublings = count.saturating_sub(1).min(8);
    (FIRST * (1_i32 << doublings)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stay_doubles_up_to_a_day() {
        let minutes = [1, 2, 3, 7, 8, 9, 1_000].map(|count| stay(count).num_minutes());

        assert_eq!(minutes, [10, 20, 40, 640, 1_280, 1_440, 1_440]);
    }
}

//! Whether and when a failed attempt is tried again. Brings no randomness of its own.

use chrono::TimeDelta;

/// How often a task may lose its lease before it fails with `LEASE_LOSSES`. A loss counts as no attempt.
pub const LOSSES: u32 = 5;

/// When and how often a failed attempt is tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    // INVARIANT: at least 1; `Graph::check` keeps the bounds of all fields.
    pub max_attempts: u32,
    /// The first wait.
    pub initial: TimeDelta,
    /// Growth of the wait, in thousandths; at least 1,000.
    pub factor_milli: u32,
    /// The longest wait.
    pub cap: TimeDelta,
    /// Failure codes that are never tried again.
    pub non_retryable: Vec<String>,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            initial: TimeDelta::seconds(1),
            factor_milli: 2_000,
            cap: TimeDelta::seconds(60),
            non_retryable: Vec::new(),
        }
    }
}

/// What becomes of a task after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    After(TimeDelta),
    GiveUp,
}

impl Retry {
    /// Decides after the `failures`-th failure, the first being 1. `jitter` is a random number from 0 to 1.
    ///
    /// Half the wait is fixed and half is random, so that tasks that failed together do not come back together.
    #[must_use]
    pub fn next(&self, failures: u32, code: &str, retryable: bool, jitter: f64) -> Next {
        if !retryable
            || failures >= self.max_attempts
            || self.non_retryable.iter().any(|never| never == code)
        {
            return Next::GiveUp;
        }
        let half = self.longest_wait(failures) / 2;
        Next::After(half + scaled(half, jitter))
    }

    /// The wait after the `failures`-th failure if chance were against it: never shorter than the one before.
    fn longest_wait(&self, failures: u32) -> TimeDelta {
        let growths = i32::try_from(failures.saturating_sub(1)).unwrap_or(i32::MAX);
        let growth = (f64::from(self.factor_milli) / 1_000.0)
            .max(1.0)
            .powi(growths);
        let grown = self.initial.as_seconds_f64() * growth;
        if self.initial <= TimeDelta::zero() {
            TimeDelta::zero() // times a growth without bounds it would be no number
        } else if grown < self.cap.as_seconds_f64() {
            milliseconds(grown * 1_000.0)
        } else {
            self.cap.max(TimeDelta::zero())
        }
    }
}

fn scaled(span: TimeDelta, share: f64) -> TimeDelta {
    let share = if share.is_nan() {
        0.0
    } else {
        share.clamp(0.0, 1.0)
    };
    milliseconds(span.as_seconds_f64() * 1_000.0 * share)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a wait is at most the cap, and a cast saturates"
)]
fn milliseconds(milliseconds: f64) -> TimeDelta {
    TimeDelta::try_milliseconds(milliseconds as i64).unwrap_or(TimeDelta::MAX)
}

#[cfg(test)]
mod tests;

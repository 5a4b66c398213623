//! When a failed call is tried again, and how long that waits. Never repeats what a service refused for good.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tonic::{Code, Status};

use crate::refusal;

/// How often and how patiently a call is repeated. Waits grow twofold up to `cap`, with full jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Calls in all, the first one counted.
    pub attempts: u32,
    pub initial: Duration,
    pub cap: Duration,
    /// A service that asks for a longer wait than this is not called again: its caller is told how long.
    pub longest: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            attempts: 5,
            initial: Duration::from_millis(50),
            cap: Duration::from_secs(2),
            longest: Duration::from_secs(5),
        }
    }
}

impl Policy {
    /// One call and no more.
    pub const NEVER: Self = Self {
        attempts: 1,
        initial: Duration::ZERO,
        cap: Duration::ZERO,
        longest: Duration::ZERO,
    };

    /// The wait before the next call, or `None` when there is to be none. `chance` is from 0 to 1.
    ///
    /// Never shorter than the service asked for.
    #[must_use]
    pub fn pause(&self, status: &Status, tried: u32, chance: f64) -> Option<Duration> {
        let asked = least_wait(status).filter(|asked| *asked <= self.longest)?;
        (tried < self.attempts).then(|| asked + self.backoff(tried, chance))
    }

    /// A random part of the wait that has grown with each try.
    #[must_use]
    pub fn backoff(&self, tried: u32, chance: f64) -> Duration {
        let doublings = tried.saturating_sub(1).min(16);
        let grown = self.initial.saturating_mul(1 << doublings).min(self.cap);
        grown.mul_f64(chance.clamp(0.0, 1.0))
    }
}

/// What a status asks for before the same call may succeed; `None` if it never will.
fn least_wait(status: &Status) -> Option<Duration> {
    let asked = refusal::wait(status);
    match status.code() {
        Code::ResourceExhausted => asked,
        Code::Unavailable | Code::Aborted => Some(asked.unwrap_or_default()),
        _ if refusal::is_transport(status) && status.code() != Code::DeadlineExceeded => {
            Some(Duration::ZERO)
        }
        _ => None,
    }
}

/// Lets repeats be at most a tenth of all calls, past a small reserve: a sick service is not beaten while down.
#[derive(Debug)]
pub struct Budget(AtomicI64);

impl Budget {
    // In tenths of a repeat.
    const RESERVE: i64 = 200;

    /// Counts a first call.
    pub fn earn(&self) {
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                (left < Self::RESERVE).then_some(left + 1)
            });
    }

    /// Whether a repeat may be made; if so, it is counted.
    pub fn spend(&self) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                (left >= 10).then_some(left - 10)
            })
            .is_ok()
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self(AtomicI64::new(Self::RESERVE))
    }
}

#[cfg(test)]
mod tests {
    use tonic_types::{ErrorDetails, StatusExt as _};

    use super::*;

    fn with_wait(code: Code, wait: Duration) -> Status {
        Status::with_error_details(code, "wait", ErrorDetails::with_retry_info(Some(wait)))
    }

    #[test]
    fn only_what_can_pass_is_tried_again() {
        let policy = Policy::default();

        let retried: Vec<Code> = (1..=16)
            .map(Code::from_i32)
            .filter(|code| policy.pause(&Status::new(*code, ""), 1, 1.0).is_some())
            .collect();

        assert_eq!(retried, [Code::Aborted, Code::Unavailable]);
    }

    #[test]
    fn an_exhausted_service_is_asked_again_when_it_said_when() {
        let status = with_wait(Code::ResourceExhausted, Duration::from_secs(3));

        let pause = Policy::default().pause(&status, 1, 0.0);

        assert_eq!(pause, Some(Duration::from_secs(3)));
    }

    #[test]
    fn a_wait_that_is_too_long_is_the_callers_to_wait() {
        let status = with_wait(Code::ResourceExhausted, Duration::from_secs(41));

        assert_eq!(Policy::default().pause(&status, 1, 0.0), None);
    }

    #[test]
    fn waits_grow_to_the_cap_and_then_end() {
        let policy = Policy::default();
        let status = Status::unavailable("");

        let waits: Vec<_> = (1..=5)
            .map(|tried| policy.pause(&status, tried, 1.0))
            .collect();

        let millis = |ms| Some(Duration::from_millis(ms));
        assert_eq!(
            waits,
            [millis(50), millis(100), millis(200), millis(400), None]
        );
        assert_eq!(policy.backoff(60, 1.0), policy.cap);
    }

    #[test]
    fn repeats_past_the_reserve_are_a_tenth_of_the_calls() {
        let budget = Budget::default();
        while budget.spend() {}

        for _ in 0..100 {
            budget.earn();
        }

        let repeats = std::iter::from_fn(|| budget.spend().then_some(())).count();
        assert_eq!(repeats, 10);
    }
}

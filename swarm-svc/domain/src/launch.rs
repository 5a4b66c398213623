//! What is remembered of a mind's launches: how often, when it last ran, what woke it, and how long it waits after one that came
//! to nothing. Hard state, one row a mind. Launches nothing (design: swarm, sections 5 and 6).

#[cfg(test)]
mod tests;

use chrono::{DateTime, TimeDelta, Utc};

use crate::time::after;

/// The launch row of a mind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Grows with each launch, and fences off all bodies of earlier ones.
    pub epoch: i64,
    /// When the newest turn that ran was launched. A withdrawn turn leaves it.
    pub last_run_at: Option<DateTime<Utc>>,
    /// When the newest turn was launched, whether or not it ran.
    pub launched_at: Option<DateTime<Utc>>,
    /// When work, an offer, an answer or an operator's ruling last came.
    pub reason_at: Option<DateTime<Utc>>,
    /// No member before it.
    pub retry_at: Option<DateTime<Utc>>,
    /// Launches in a row that came to nothing.
    pub fails: u32,
}

/// The longest wait after a launch that came to nothing, and after a persona that could not be read.
const LONGEST_WAIT: TimeDelta = TimeDelta::minutes(15);

impl Launch {
    /// As a launch leaves it.
    #[must_use]
    pub const fn launched(self, now: DateTime<Utc>) -> Self {
        Self {
            epoch: self.epoch.saturating_add(1),
            launched_at: Some(now),
            ..self
        }
    }

    /// As the start of its turn leaves it: the reasons that there were are used up.
    #[must_use]
    pub const fn ran(self, launched_at: DateTime<Utc>) -> Self {
        Self {
            last_run_at: Some(launched_at),
            ..self
        }
    }

    /// As a new reason leaves it. A reason that comes after a launch within the same microsecond counts as later.
    #[must_use]
    pub fn touched(self, now: DateTime<Utc>) -> Self {
        let least = self
            .launched_at
            .map_or(now, |at| after(at, TimeDelta::microseconds(1)));
        Self {
            reason_at: Some(now.max(least)),
            ..self
        }
    }

    /// As a withdrawn turn leaves it: 30 s · 2^(fails − 1), at most 15 minutes.
    #[must_use]
    pub fn withdrawn(self, now: DateTime<Utc>) -> Self {
        let fails = self.fails.saturating_add(1);
        // 30 s · 2⁵ is over the most, so that no larger power is needed.
        let wait = TimeDelta::seconds(30 << (fails - 1).min(5)).min(LONGEST_WAIT);
        Self {
            fails,
            retry_at: Some(after(now, wait)),
            ..self
        }
    }

    /// As a persona that cannot be read leaves it.
    #[must_use]
    pub fn unreadable(self, now: DateTime<Utc>) -> Self {
        Self {
            retry_at: Some(after(now, LONGEST_WAIT)),
            ..self
        }
    }

    /// As a settled turn leaves it.
    #[must_use]
    pub const fn settled(self) -> Self {
        Self { fails: 0, ..self }
    }

    /// Whether it waits after a launch that came to nothing.
    #[must_use]
    pub fn waits(&self, now: DateTime<Utc>) -> bool {
        self.retry_at.is_some_and(|at| now < at)
    }
}

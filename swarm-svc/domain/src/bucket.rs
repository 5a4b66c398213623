//! What the pace allows now; it may be a debt. Counts money exactly: what is less than a micro-dollar waits for the next refill.
//! Never holds more than its burst (design: swarm, section 6, `sync`).

#[cfg(test)]
mod tests;

use cambium_kernel::Usd;
use chrono::{DateTime, TimeDelta, Utc};

use crate::dial::Dial;
use crate::time::{self, HOUR_US};

/// A refill is counted in heat (millionths) times money an hour times microseconds: so many of that are a micro-dollar.
const UNIT: i128 = 1_000_000 * HOUR_US as i128;

/// The bucket of a swarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub level: Usd,
    /// What was earned and is no micro-dollar yet, in 3.6 · 10^15ths of one.
    pub remainder: i64,
    pub refilled_at: DateTime<Utc>,
}

impl Bucket {
    /// The bucket that the first dial makes.
    #[must_use]
    pub const fn empty(now: DateTime<Utc>) -> Self {
        Self {
            level: Usd::from_micros(0),
            remainder: 0,
            refilled_at: now,
        }
    }

    /// The bucket whose row was lost although there is a dial: −k · cap, since loss mints no money.
    #[must_use]
    pub fn lost(dial: &Dial, now: DateTime<Utc>) -> Self {
        let owed = i64::from(dial.k()).saturating_mul(dial.cap().as_micros());
        Self {
            level: Usd::from_micros(-owed),
            ..Self::empty(now)
        }
    }

    /// Adds what was earned since the last refill, up to the burst. A clock that steps back earns nothing.
    #[must_use]
    pub fn refilled(self, dial: &Dial, now: DateTime<Utc>) -> Self {
        let elapsed = i128::from(time::elapsed_us(self.refilled_at, now));
        let earned = dial
            .gain()
            .saturating_mul(elapsed)
            .saturating_add(self.remainder.into());
        let level = i128::from(self.level.as_micros()).saturating_add(earned / UNIT);
        let burst = dial.burst();
        match i64::try_from(level) {
            Ok(level) if level < burst.as_micros() => Self {
                level: Usd::from_micros(level),
                remainder: i64::try_from(earned % UNIT).unwrap_or(0),
                refilled_at: now,
            },
            _ => Self {
                level: burst,
                remainder: 0,
                refilled_at: now,
            },
        }
    }

    /// As a new dial leaves it: refilled at the old pace, then cut to the new burst.
    #[must_use]
    pub fn redialled(self, old: Option<&Dial>, new: &Dial, now: DateTime<Utc>) -> Self {
        let filled = old.map_or(
            Self {
                refilled_at: now,
                ..self
            },
            |old| self.refilled(old, now),
        );
        // At one instant a refill only cuts.
        filled.refilled(new, now)
    }

    /// Takes what a turn cost.
    #[must_use]
    pub fn charged(self, cost: Usd) -> Self {
        Self {
            level: Usd::from_micros(self.level.as_micros().saturating_sub(cost.as_micros())),
            ..self
        }
    }

    /// How long until the bucket has made up for what is reserved, as of its last refill; none when it already has.
    #[must_use]
    pub fn wait(&self, reserved: Usd, dial: &Dial) -> Option<TimeDelta> {
        let owed = i128::from(reserved.as_micros()) - i128::from(self.level.as_micros());
        if owed <= 0 {
            return None;
        }
        let missing = owed * UNIT - i128::from(self.remainder);
        let micros = (missing + dial.gain() - 1) / dial.gain();
        Some(TimeDelta::microseconds(
            i64::try_from(micros).unwrap_or(i64::MAX),
        ))
    }
}

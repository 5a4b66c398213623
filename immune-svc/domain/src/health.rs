//! Health: how an agent bears its work, from what others saw of it. A pure function of what was known and what came new.

use cambium_kernel::Score;
use chrono::{DateTime, TimeDelta, Utc};

use crate::amount::clamped;
use crate::recent::Outcome;

/// How healthy, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Band {
    Critical,
    Stressed,
    Healthy,
}

impl Band {
    #[must_use]
    pub const fn of(health: Score) -> Self {
        match health.as_millionths() {
            700_000.. => Self::Healthy,
            400_000.. => Self::Stressed,
            _ => Self::Critical,
        }
    }
}

/// What one settled attempt says about health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub outcome: Outcome,
    pub ended_at: DateTime<Utc>,
    pub duration: TimeDelta,
    /// Slots that the agent had; 0 if nobody said.
    pub slots: u32,
    /// How many of them were taken when this attempt ended.
    pub busy: u32,
}

/// What health is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vitals {
    /// The exponentially weighted rate of failures.
    pub failures: Score,
    /// The same of lost leases.
    pub losses: Score,
    pub busy: Busy,
}

impl Vitals {
    /// With one more settlement.
    #[must_use]
    pub fn heard(mut self, evidence: &Evidence) -> Self {
        let (failed, lost) = match evidence.outcome {
            Outcome::Succeeded => (false, false),
            Outcome::Failed | Outcome::InvalidOutput => (true, false),
            Outcome::LeaseLost => (false, true),
        };
        self.failures = weighted(self.failures, failed);
        self.losses = weighted(self.losses, lost);
        self.busy.note(evidence);
        self
    }

    /// 1 - (0.5 failures + 0.3 losses + 0.2 share of the last ten minutes at full slots).
    #[must_use]
    pub fn health(&self) -> Score {
        let [f, l, s] =
            [self.failures, self.losses, self.busy.share()].map(|part| part.as_millionths());
        clamped(1_000_000 - (5 * f + 3 * l + 2 * s + 5) / 10)
    }
}

/// A tenth of the new, nine tenths of the old.
fn weighted(rate: Score, is_so: bool) -> Score {
    let new = if is_so { 1_000_000 } else { 0 };
    clamped((9 * rate.as_millionths() + new + 5) / 10)
}

/// For how long an agent had no free slot, in each of the last ten minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// The newest minute that was heard of, counted from 1970.
    pub minute: i64,
    /// Milliseconds at full slots, the newest minute first.
    // INVARIANT: none above a minute.
    pub full_ms: [u32; Self::MINUTES],
}

impl Busy {
    pub const MINUTES: usize = 10;
    const MINUTE_MS: i64 = 60_000;

    /// An attempt that ended while every slot was taken counts for its slot's part of the time it took.
    fn note(&mut self, evidence: &Evidence) {
        let end = evidence.ended_at.timestamp_millis();
        self.advance(end.div_euclid(Self::MINUTE_MS));
        if evidence.slots == 0 || evidence.busy < evidence.slots {
            return;
        }
        let start = end.saturating_sub(evidence.duration.num_milliseconds().max(0));
        for (back, full) in (0_i64..).zip(self.full_ms.iter_mut()) {
            let from = (self.minute - back) * Self::MINUTE_MS;
            let overlap = end.min(from + Self::MINUTE_MS) - start.max(from);
            let part = overlap.max(0) / i64::from(evidence.slots);
            let sum = i64::from(*full) + part;
            *full = u32::try_from(sum.min(Self::MINUTE_MS)).unwrap_or(0);
        }
    }

    /// Makes room for newer minutes. An older one changes nothing: its time is counted where it belongs.
    fn advance(&mut self, minute: i64) {
        let newer = minute.saturating_sub(self.minute);
        if newer <= 0 {
            return;
        }
        let by = usize::try_from(newer).map_or(Self::MINUTES, |by| by.min(Self::MINUTES));
        self.full_ms.rotate_right(by);
        self.full_ms[..by].fill(0);
        self.minute = minute;
    }

    /// The share of the ten minutes.
    #[must_use]
    pub fn share(&self) -> Score {
        let full: u64 = self.full_ms.iter().map(|ms| u64::from(*ms)).sum();
        Score::ratio(full, 600_000)
    }
}

#[cfg(test)]
mod tests;

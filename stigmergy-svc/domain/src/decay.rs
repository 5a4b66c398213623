//! How marks fade: one law, applied by whoever looks. Nothing is rewritten as time passes.

use chrono::TimeDelta;

use crate::{Error, FAINTEST, Intensity};

/// The time in which an untouched marker loses half its intensity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HalfLife(i32);

const SHORTEST: i32 = 30;
/// Thirty days.
const LONGEST: i32 = 2_592_000;

impl HalfLife {
    // INVARIANT: from 30 s to 30 days, so never zero; `from_seconds` is the only public constructor.
    pub const fn from_seconds(seconds: i32) -> Result<Self, Error> {
        if SHORTEST <= seconds && seconds <= LONGEST {
            Ok(Self::of(seconds))
        } else {
            Err(Error::HalfLifeOutOfRange { seconds })
        }
    }

    pub(crate) const fn of(seconds: i32) -> Self {
        Self(seconds)
    }

    #[must_use]
    pub const fn as_seconds(self) -> i32 {
        self.0
    }
}

/// What is left of `intensity` after `elapsed` without a touch.
///
/// Exponential rather than linear, so the answer does not depend on how often anyone looks:
/// to a millionth, a wait may be split anywhere. A clock that steps back decays nothing.
#[must_use]
pub fn decay(intensity: Intensity, half_life: HalfLife, elapsed: TimeDelta) -> Intensity {
    let elapsed = elapsed.max(TimeDelta::zero());
    let half_lives = elapsed.as_seconds_f64() / f64::from(half_life.0);
    intensity.scaled((-half_lives).exp2())
}

/// How long a mark of that intensity is heard: until no more than [`FAINTEST`] is left. Nothing for one that is
/// not louder to begin with. It does not depend on who asks when, so it can be stored and indexed.
#[must_use]
pub fn lifetime(intensity: Intensity, half_life: HalfLife) -> TimeDelta {
    let times = f64::from(intensity.as_millionths()) / f64::from(FAINTEST);
    if times <= 1.0 {
        return TimeDelta::zero();
    }
    let seconds = f64::from(half_life.0) * times.log2();
    TimeDelta::microseconds(micros(seconds))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "at most ten half-lives of thirty days"
)]
fn micros(seconds: f64) -> i64 {
    (seconds * 1e6) as i64
}

#[cfg(test)]
mod tests;

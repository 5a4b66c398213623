//! How large a mind's part is: its share, the haste on it, and what is left of it once loans are counted.
//! Changes nobody's row: a share is a weight, not a fraction (design: swarm, section 1).

use chrono::{DateTime, TimeDelta, Utc};

use crate::Error;
use crate::error::bounded;
use crate::time;

/// One, in parts per million.
pub const PPM: i64 = 1_000_000;

/// A mind's own weight in parts per million, as its operator set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(i64);

impl Share {
    pub const LEAST_PPM: i64 = 1_000;
    pub const MOST_PPM: i64 = 100_000_000;

    // INVARIANT: from 1,000 to 100,000,000. Zero is refused: a mind off the timeline has no share at all.
    pub fn from_ppm(ppm: i64) -> Result<Self, Error> {
        bounded("share_ppm", ppm, Self::LEAST_PPM..=Self::MOST_PPM).map(Self)
    }

    #[must_use]
    pub const fn as_ppm(self) -> i64 {
        self.0
    }
}

/// A share after loans: own, less what was lent, plus what was borrowed. It weighs a mind's turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectiveShare(i64);

impl EffectiveShare {
    /// No sum of 10,000 halves of the largest share is above it.
    const MOST_PPM: i64 = 1_000_000_000_000;

    // INVARIANT: from 1 to 10^12, so that no turn divides by nothing.
    pub fn from_ppm(ppm: i64) -> Result<Self, Error> {
        bounded("share_ppm", ppm, 1..=Self::MOST_PPM).map(Self)
    }

    /// The nearest that is one. Loans are checked where they are made, so that it moves none of them.
    pub(crate) fn near(ppm: i64) -> Self {
        Self(ppm.clamp(1, Self::MOST_PPM))
    }

    #[must_use]
    pub const fn as_ppm(self) -> i64 {
        self.0
    }
}

/// By how much a mind's clock runs slower, in parts per million: it only speeds a mind up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Factor(i64);

impl Factor {
    pub const ONE: Self = Self(PPM);

    // INVARIANT: from 1,000,000 to 10,000,000.
    pub fn from_ppm(ppm: i64) -> Result<Self, Error> {
        bounded("haste_ppm", ppm, PPM..=10 * PPM).map(Self)
    }

    #[must_use]
    pub const fn as_ppm(self) -> i64 {
        self.0
    }
}

/// A factor on a share that ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Haste {
    pub factor: Factor,
    pub until: DateTime<Utc>,
}

impl Haste {
    /// Checks a wish: now < until ≤ 30 days.
    pub fn new(
        factor_ppm: i64,
        until: Option<DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Result<Self, Error> {
        let factor = Factor::from_ppm(factor_ppm)?;
        let until = time::until("until", until, now, TimeDelta::days(30))?;
        Ok(Self { factor, until })
    }
}

/// The haste of a mind now: that of its row while it holds, else one (design: swarm, section 6, "fails closed").
#[must_use]
pub fn haste(row: Option<&Haste>, now: DateTime<Utc>) -> Factor {
    row.filter(|haste| now < haste.until)
        .map_or(Factor::ONE, |haste| haste.factor)
}

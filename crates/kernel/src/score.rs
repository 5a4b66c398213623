//! Exact quantities: scores in millionths, money in micro-dollars.

use std::fmt;

/// Why a number is no score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} millionths is outside 0 to 1,000,000")]
pub struct ScoreError(pub i64);

/// A number from 0 to 1, exact to a millionth.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Score(i32);

impl Score {
    pub const ONE: Self = Self(1_000_000);

    /// A constant; one outside the range does not compile.
    #[must_use]
    pub const fn of<const MILLIONTHS: i32>() -> Self {
        const { assert!(MILLIONTHS >= 0 && MILLIONTHS <= 1_000_000) }
        Self(MILLIONTHS)
    }

    // INVARIANT: from 0 to 1,000,000.
    pub fn from_millionths(millionths: i32) -> Result<Self, ScoreError> {
        if (0..=1_000_000).contains(&millionths) {
            Ok(Self(millionths))
        } else {
            Err(ScoreError(millionths.into()))
        }
    }

    /// Off the wire, rounded to a millionth. None for whatever is not between 0 and 1.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        if !(0.0..=1.0).contains(&value) {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "between 0 and a million, and whole"
        )]
        Some(Self((value * 1e6).round() as i32))
    }

    /// `part` over `whole`, rounded half up to a millionth; 0 when `whole` is 0, 1 when `part` is above it.
    #[must_use]
    pub fn ratio(part: u64, whole: u64) -> Self {
        if whole == 0 {
            return Self(0);
        }
        let scaled = u128::from(part.min(whole)) * 2_000_000 + u128::from(whole);
        let rounded = scaled / (2 * u128::from(whole));
        Self(i32::try_from(rounded).unwrap_or(1_000_000))
    }

    #[must_use]
    pub const fn as_millionths(self) -> i32 {
        self.0
    }

    /// For the wire and for people.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

impl fmt::Debug for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.as_f64())
    }
}

/// Money, in whole micro-dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Usd(i64);

impl Usd {
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn two_thirds_rounds_half_up() {
        assert_eq!(Score::ratio(2, 3).as_millionths(), 666_667);
        assert_eq!(Score::ratio(0, 0).as_millionths(), 0);
    }

    #[test]
    fn what_is_no_number_between_0_and_1_is_no_score() {
        let strange = [f64::NAN, f64::INFINITY, -0.000_001, 1.000_001];

        assert_eq!(strange.map(Score::from_f64), [None; 4]);
        assert_eq!(Score::from_f64(1.0), Some(Score::ONE));
    }

    proptest! {
        #[test]
        fn a_score_comes_back_from_the_wire(millionths in 0..=1_000_000) {
            let score = Score::from_millionths(millionths).unwrap();

            prop_assert_eq!(Score::from_f64(score.as_f64()), Some(score));
        }

        #[test]
        fn a_ratio_is_always_a_score(part in any::<u64>(), whole in any::<u64>()) {
            let score = Score::ratio(part, whole);

            prop_assert!(Score::from_millionths(score.as_millionths()).is_ok());
        }
    }
}

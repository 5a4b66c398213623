//! How loudly a mark speaks.

use cambium_kernel::Score;

use crate::Error;

/// Below this many millionths a mark is silent, and so dead.
pub const FAINTEST: i32 = 1_000;

/// From 0 to 0.8, in millionths. No crowd of agents makes a mark louder than [`Intensity::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Intensity(i32);

/// What became of the intensity that a placer asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    pub intensity: Intensity,
    /// More was asked for.
    pub is_capped: bool,
}

impl Intensity {
    pub const MAX: Self = Self(800_000);
    /// Of a mark whose placer asked for none.
    pub const DEFAULT: Self = Self(500_000);

    // INVARIANT: from 0 to 800,000.
    pub fn from_millionths(millionths: i32) -> Result<Self, Error> {
        if (0..=Self::MAX.0).contains(&millionths) {
            Ok(Self(millionths))
        } else {
            Err(Error::IntensityOutOfRange {
                given: f64::from(millionths) / 1e6,
            })
        }
    }

    /// Total: whatever is louder than the cap is heard at the cap.
    #[must_use]
    pub fn capped(score: Score) -> Self {
        Self(score.as_millionths()).min(Self::MAX)
    }

    /// Reads what a placer asks for: from 0 to 1, held to the cap.
    pub fn asked(number: f64) -> Result<Asked, Error> {
        // Also refuses what is no number.
        if !(0.0..=1.0).contains(&number) {
            return Err(Error::IntensityOutOfRange { given: number });
        }
        let intensity = Self(rounded(number * 1e6)).min(Self::MAX);
        Ok(Asked {
            intensity,
            is_capped: number > Self::MAX.as_f64(),
        })
    }

    /// Louder by `millionths`, but never above the cap.
    #[must_use]
    pub(crate) fn raised(self, millionths: i32) -> Self {
        Self(self.0.saturating_add(millionths)).min(Self::MAX)
    }

    /// `share` of it, rounded to a millionth. A share outside 0 to 1 is taken as the nearer end.
    #[must_use]
    pub(crate) fn scaled(self, share: f64) -> Self {
        Self(rounded(f64::from(self.0) * share.clamp(0.0, 1.0)))
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

#[expect(
    clippy::cast_possible_truncation,
    reason = "what comes in is between 0 and a million"
)]
fn rounded(number: f64) -> i32 {
    number.round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_cap_is_heard_at_the_cap_and_said() {
        let asked =
            |number| Intensity::asked(number).map(|a| (a.intensity.as_millionths(), a.is_capped));

        assert_eq!(asked(0.0), Ok((0, false)));
        assert_eq!(asked(0.8), Ok((800_000, false)));
        assert_eq!(asked(0.800_001), Ok((800_000, true)));
        assert_eq!(asked(1.0), Ok((800_000, true)));
    }

    #[test]
    fn what_is_no_share_is_refused() {
        for number in [
            -0.000_001,
            1.000_001,
            f64::NAN,
            f64::INFINITY,
            -f64::INFINITY,
        ] {
            assert!(Intensity::asked(number).is_err(), "{number}");
        }
    }
}

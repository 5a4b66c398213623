//! What a template has learned, and how much that is worth by now.

use std::ops::RangeInclusive;

use cambium_kernel::Score;

use crate::{LearningId, Pattern};

/// What each loss takes.
const LOSS: u64 = 100_000;

/// How alike patterns of one template must be, at least: below, everything would be one thing.
pub const THRESHOLDS: RangeInclusive<Score> = Score::of::<500_000>()..=Score::ONE;

/// A learning, as far as the next compost needs to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learning {
    pub id: LearningId,
    pub pattern: Pattern,
    /// How many lineages have confirmed it.
    pub voices: u32,
    /// The sum of their agents' success rates, in millionths.
    pub success_sum: u64,
    /// Only grows: a confirmation stops the loss and refunds none.
    pub losses: u32,
    /// The compost of the template that confirmed or refreshed it last.
    pub confirmed_at: i64,
}

impl Learning {
    /// A template knows at most so many at once: more would drown those who read them.
    pub const MOST: usize = 200;

    /// How closely it goes with success: the mean rate of those who confirmed it, less what it has lost.
    #[must_use]
    pub fn correlation(&self) -> Score {
        correlation(self.success_sum, self.voices, self.losses)
    }
}

/// The mean of `voices` rates, rounded half up, less a tenth for each loss; never below 0.
#[must_use]
pub fn correlation(success_sum: u64, voices: u32, losses: u32) -> Score {
    let mean = Score::ratio(success_sum, u64::from(voices) * 1_000_000);
    let lost = LOSS.saturating_mul(u64::from(losses)).min(1_000_000);
    let left = u64::from(mean.as_millionths().unsigned_abs()).saturating_sub(lost);
    Score::ratio(left, 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_loss_takes_a_tenth_and_nothing_falls_below_0() {
        let of = |losses| correlation(900_000 + 850_000 + 851_000, 3, losses).as_millionths();

        assert_eq!(of(0), 867_000);
        assert_eq!(of(8), 67_000);
        assert_eq!(of(9), 0);
        assert_eq!(of(u32::MAX), 0);
    }
}

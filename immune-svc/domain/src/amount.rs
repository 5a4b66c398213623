//! Arithmetic of scores: exact, and never outside 0 to 1.

use cambium_kernel::Score;

/// The score, `delta` millionths further on; it stops at 0 and at 1.
#[must_use]
pub fn moved(score: Score, delta: i32) -> Score {
    clamped(score.as_millionths().saturating_add(delta))
}

/// The score nearest to so many millionths.
pub(crate) fn clamped(millionths: i32) -> Score {
    let within = millionths.clamp(0, Score::ONE.as_millionths());
    Score::from_millionths(within).expect("it was clamped")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_moves_a_score_leaves_a_score(start in 0..=1_000_000, delta in any::<i32>()) {
            let after = moved(clamped(start), delta).as_millionths();

            prop_assert!((0..=1_000_000).contains(&after));
        }
    }
}

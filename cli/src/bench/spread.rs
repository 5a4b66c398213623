//! How a set of durations spreads. Keeps none of them.

use std::time::Duration;

/// The smallest of `sorted` that `percent` of them do not exceed, in milliseconds; 0 where there is none.
pub(super) fn percentile_ms(sorted: &[Duration], percent: usize) -> f64 {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted
        .get(rank - 1)
        .map_or(0.0, |one| one.as_secs_f64() * 1_000.0)
}

/// To so many decimals: what lies below is noise.
pub(super) fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(all: impl IntoIterator<Item = u64>) -> Vec<Duration> {
        all.into_iter().map(Duration::from_millis).collect()
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let hundred = millis(1..=100);

        assert_eq!(percentile_ms(&hundred, 50), 50.0);
        assert_eq!(percentile_ms(&hundred, 99), 99.0);
        assert_eq!(percentile_ms(&hundred, 100), 100.0);
    }

    #[test]
    fn few_values_have_the_largest_as_their_high_percentiles() {
        assert_eq!(percentile_ms(&millis([3, 5, 9]), 99), 9.0);
        assert_eq!(percentile_ms(&millis([3, 5, 9]), 50), 5.0);
        assert_eq!(percentile_ms(&millis([7]), 1), 7.0);
    }

    #[test]
    fn nothing_spreads_nowhere() {
        assert_eq!(percentile_ms(&[], 99), 0.0);
    }

    #[test]
    fn noise_is_rounded_away() {
        assert_eq!(rounded(0.123_45, 3), 0.123);
        assert_eq!(rounded(1_234.6, 0), 1_235.0);
    }
}

//! Scores from 0 to 1 as people see them: the same bar everywhere.

const CELLS: usize = 10;

/// As in `███████░░░ 0.71`.
pub(crate) fn bar(score: f64) -> String {
    let score = if score.is_nan() {
        0.0
    } else {
        score.clamp(0.0, 1.0)
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "from 0 to 10"
    )]
    let full = (score * CELLS as f64).round() as usize;
    format!(
        "{}{} {score:.2}",
        "█".repeat(full),
        "░".repeat(CELLS - full)
    )
}

/// A change of a score, with its sign.
pub(crate) fn step(delta: f64) -> String {
    if delta == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{delta:+.6}");
    let short = text.trim_end_matches('0');
    // Two decimals at least, so that a column of them reads as one.
    let least = text.find('.').map_or(text.len(), |point| point + 3);
    text[..short.len().max(least)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_its_score() {
        assert_eq!(bar(0.71), "███████░░░ 0.71");
        assert_eq!(bar(0.0), "░░░░░░░░░░ 0.00");
        assert_eq!(bar(1.0), "██████████ 1.00");
    }

    #[test]
    fn what_lies_outside_is_shown_at_the_edge() {
        assert_eq!((bar(7.0), bar(-1.0)), (bar(1.0), bar(0.0)));
        assert_eq!(bar(f64::NAN), bar(0.0));
    }

    #[test]
    fn a_step_has_its_sign_and_no_noise() {
        assert_eq!(step(0.03), "+0.03");
        assert_eq!(step(-0.02), "-0.02");
        assert_eq!(step(0.1), "+0.10");
        assert_eq!(step(-0.012_345), "-0.012345");
        assert_eq!(step(0.0), "0");
    }
}

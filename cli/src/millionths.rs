//! Decimals of at most six places as whole millionths, without floating point: shares, factors and dollars. Knows no bounds:
//! those are the services'.

const ONE: i64 = 1_000_000;

/// None of what is no such decimal; a sign is none.
pub(crate) fn read(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 6 || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    let whole: i64 = match whole {
        "" => 0,
        whole => whole.parse().ok()?,
    };
    let part: i64 = format!("{part:0<6}").parse().ok()?;
    whole.checked_mul(ONE)?.checked_add(part)
}

/// As people write it, with so many places at least.
pub(crate) fn shown(millionths: i64, places: usize) -> String {
    let all = millionths.unsigned_abs();
    let one = ONE.unsigned_abs();
    let sign = if millionths < 0 { "-" } else { "" };
    let part = format!("{:06}", all % one);
    let kept = part.trim_end_matches('0').len().max(places);
    match part.get(..kept).unwrap_or_default() {
        "" => format!("{sign}{}", all / one),
        part => format!("{sign}{}.{part}", all / one),
    }
}

/// Reads a share, which is a weight, or a factor.
pub(crate) fn number(text: &str) -> anyhow::Result<i64> {
    read(text)
        .ok_or_else(|| anyhow::anyhow!("write a number with at most six decimals, as in 2 or 0.5"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_read_exactly() {
        assert_eq!(number("2").unwrap(), 2_000_000);
        assert_eq!(number("0.5").unwrap(), 500_000);
        assert_eq!(number(".001").unwrap(), 1_000);
        for bad in [
            "",
            ".",
            "-1",
            "0.0000001",
            "1e3",
            "half",
            "1,5",
            "99999999999999",
        ] {
            assert!(number(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_was_read_is_shown_as_it_was_written() {
        for text in ["0", "2", "0.5", "0.001", "100", "1.000001"] {
            assert_eq!(shown(read(text).unwrap(), 0), text);
        }
        assert_eq!(shown(-1_500_000, 0), "-1.5");
        assert_eq!(shown(1_500_000, 2), "1.50");
        assert_eq!(shown(i64::MIN, 0), "-9223372036854.775808");
    }
}

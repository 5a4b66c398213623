//! Dollars on the command line, micro-dollars on the wire, and no floating point between them.

use crate::millionths;

/// Reads dollars with at most six decimals.
pub(crate) fn micro_usd(text: &str) -> anyhow::Result<i64> {
    millionths::read(text.strip_prefix('$').unwrap_or(text))
        .ok_or_else(|| anyhow::anyhow!("write dollars with at most six decimals, as in 0.0025"))
}

/// As in `$0.0025`; cents are always there.
pub(crate) fn dollars(micro_usd: i64) -> String {
    let text = millionths::shown(micro_usd, 2);
    match text.strip_prefix('-') {
        Some(text) => format!("-${text}"),
        None => format!("${text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_become_exact_micro_dollars() {
        assert_eq!(micro_usd("0.0025").unwrap(), 2_500);
        assert_eq!(micro_usd("3").unwrap(), 3_000_000);
        assert_eq!(micro_usd("$12.50").unwrap(), 12_500_000);
        assert_eq!(micro_usd(".000001").unwrap(), 1);
        for bad in ["", "$", "-1", "0.0000001", "1e3", "ten", "99999999999999"] {
            assert!(micro_usd(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn cents_are_always_shown() {
        assert_eq!(dollars(2_500), "$0.0025");
        assert_eq!(dollars(3_000_000), "$3.00");
        assert_eq!(dollars(-1_500_000), "-$1.50");
        assert_eq!(dollars(0), "$0.00");
    }
}

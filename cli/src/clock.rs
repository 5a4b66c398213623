//! Times as people say them: told in at most two units, read in one.

use anyhow::Context as _;
use cambium_kernel::{Clock as _, SystemClock};
use chrono::{DateTime, NaiveDate, NaiveTime, TimeDelta, Utc};
use prost_types::Timestamp;

/// `in 12 s`, or `now` for what is due.
pub(crate) fn away(until: &Timestamp, now: DateTime<Utc>) -> String {
    let at = DateTime::from_timestamp(until.seconds, u32::try_from(until.nanos).unwrap_or(0));
    let left = at.map_or(TimeDelta::zero(), |at| at - now);
    if left <= TimeDelta::zero() {
        return "now".to_owned();
    }
    // Rounded up: what is said to be over is over.
    let whole = left.num_seconds() + i64::from(left.subsec_nanos() > 0);
    format!("in {}", length(whole))
}

/// A length of time in whole seconds, as in `4 min 10 s`.
pub(crate) fn length(seconds: i64) -> String {
    const UNITS: [(i64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let mut left = seconds.max(0);
    if left == 0 {
        return "0 s".to_owned();
    }
    let mut parts = Vec::new();
    for (size, name) in UNITS {
        let count = left / size;
        left %= size;
        if count > 0 {
            parts.push(format!("{count} {name}"));
        }
        if parts.len() == 2 || (!parts.is_empty() && count == 0) {
            break;
        }
    }
    parts.join(" ")
}

/// Reads a length of time, as in `90s`, `10m`, `24h` or `7d`; a plain number is seconds.
pub(crate) fn span(text: &str) -> anyhow::Result<TimeDelta> {
    let say = "write it as in 90s, 10m, 24h or 7d";
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: i64 = number.parse().context(say)?;
    let seconds = match unit {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => anyhow::bail!(say),
    };
    let all = number.checked_mul(seconds).and_then(TimeDelta::try_seconds);
    all.context(say)
}

/// Reads a moment: a date, or a time as in `2026-03-01T09:00:00Z`.
pub(crate) fn instant(text: &str) -> anyhow::Result<DateTime<Utc>> {
    let at = DateTime::parse_from_rfc3339(text).map(|at| at.with_timezone(&Utc));
    let midnight = || {
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
        Some(date.and_time(NaiveTime::MIN).and_utc())
    };
    at.ok()
        .or_else(midnight)
        .context("write it as in 2026-03-01 or 2026-03-01T09:00:00Z")
}

/// A moment as the contracts have it.
pub(crate) fn timestamp(at: DateTime<Utc>) -> Timestamp {
    Timestamp {
        seconds: at.timestamp(),
        nanos: i32::try_from(at.timestamp_subsec_nanos()).unwrap_or(0),
    }
}

/// So long from now, as the contracts have it.
pub(crate) fn ahead(span: TimeDelta) -> anyhow::Result<Timestamp> {
    let at = SystemClock.now().checked_add_signed(span);
    Ok(timestamp(at.context("that is too long")?))
}

/// The end of a span from now, or a moment as it was named.
pub(crate) fn until(
    span: Option<TimeDelta>,
    at: Option<DateTime<Utc>>,
) -> anyhow::Result<Option<Timestamp>> {
    match span {
        Some(span) => ahead(span).map(Some),
        None => Ok(at.map(timestamp)),
    }
}

/// Today's date where the services keep theirs.
pub(crate) fn today() -> String {
    SystemClock.now().date_naive().to_string()
}

/// A length of time as the contracts have it.
pub(crate) fn duration(span: TimeDelta) -> prost_types::Duration {
    prost_types::Duration {
        seconds: span.num_seconds(),
        nanos: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(millis: i64) -> String {
        let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let at = now + TimeDelta::milliseconds(millis);
        let until = Timestamp {
            seconds: at.timestamp(),
            nanos: i32::try_from(at.timestamp_subsec_nanos()).unwrap(),
        };
        away(&until, now)
    }

    #[test]
    fn a_moment_is_told_in_at_most_two_units() {
        assert_eq!(said(12_000), "in 12 s");
        assert_eq!(said(11_001), "in 12 s");
        assert_eq!(said(250_000), "in 4 min 10 s");
        assert_eq!(said(3_600_000), "in 1 h");
        assert_eq!(said(3_605_000), "in 1 h");
        assert_eq!(said(90_000_000), "in 1 d 1 h");
    }

    #[test]
    fn what_is_due_is_due_now() {
        assert_eq!(said(0), "now");
        assert_eq!(said(-5_000), "now");
    }

    #[test]
    fn a_moment_is_a_date_or_a_time() {
        let seconds = |text| instant(text).unwrap().timestamp();

        assert_eq!(seconds("1970-01-02"), 86_400);
        assert_eq!(seconds("1970-01-01T01:00:00+01:00"), 0);
        for bad in ["", "tomorrow", "2026-13-01", "12:00"] {
            assert!(instant(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_length_is_read_in_one_unit() {
        let seconds = |text| span(text).unwrap().num_seconds();

        assert_eq!((seconds("120"), seconds("90s")), (120, 90));
        assert_eq!((seconds("10m"), seconds("24h")), (600, 86_400));
        for bad in ["", "m", "-1s", "1w", "1.5h", "99999999999999999999"] {
            assert!(span(bad).is_err(), "{bad}");
        }
    }
}

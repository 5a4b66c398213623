//! Instants and spans that cannot overflow. Reads no clock.

use chrono::{DateTime, TimeDelta, Utc};

use crate::Error;

/// An hour, in microseconds: the unit of the pace is micro-dollars an hour.
pub(crate) const HOUR_US: i64 = 3_600_000_000;

/// Why an instant may not end something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UntilError {
    #[error("is missing")]
    Missing,
    #[error("is not in the future")]
    Past,
    #[error("is over {days} days and {hours} h ahead")]
    TooFar { days: i64, hours: i64 },
}

/// The instant so long after another; the end of time where there is none.
#[must_use]
pub fn after(at: DateTime<Utc>, span: TimeDelta) -> DateTime<Utc> {
    at.checked_add_signed(span)
        .unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Microseconds from one instant to another, none if it lies before.
pub(crate) fn elapsed_us(from: DateTime<Utc>, to: DateTime<Utc>) -> i64 {
    to.timestamp_micros()
        .saturating_sub(from.timestamp_micros())
        .max(0)
}

/// Checks an end: now < until ≤ now + most (design: swarm, section 1).
pub(crate) fn until(
    field: &'static str,
    until: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
    most: TimeDelta,
) -> Result<DateTime<Utc>, Error> {
    let why = match until {
        None => UntilError::Missing,
        Some(until) if until <= now => UntilError::Past,
        Some(until) if until > after(now, most) => UntilError::TooFar {
            days: most.num_days(),
            hours: most.num_hours() % 24,
        },
        Some(until) => return Ok(until),
    };
    Err(Error::Until { field, why })
}

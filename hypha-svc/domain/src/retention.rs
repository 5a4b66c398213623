//! How long runs and their events are kept. Deletes nothing: it says what is due.

use chrono::{DateTime, TimeDelta, Utc};

/// How many days things are kept past the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Days {
    /// The run with all that belongs to it.
    pub run: u32,
    pub events: u32,
}

/// What of a run is past its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Nothing,
    Events,
    /// All of it, events included.
    Run,
}

/// What of a run is past its time at `now`. An open run never is, and a clock set back takes nothing.
#[must_use]
pub fn due(ended_at: Option<DateTime<Utc>>, days: Days, now: DateTime<Utc>) -> Due {
    let Some(ended_at) = ended_at else {
        return Due::Nothing;
    };
    let is_past = |days: u32| {
        let until = ended_at.checked_add_signed(TimeDelta::days(days.into()));
        until.is_some_and(|until| until <= now) // past the end of the calendar is never
    };
    if is_past(days.run) {
        Due::Run
    } else if is_past(days.events) {
        Due::Events
    } else {
        Due::Nothing
    }
}

/// Up to which sequence the events of a run are deleted when it grows from `before` to `after`, if now is a moment to.
///
/// The newest `limit` always stay. It is put off until it is worth it, so up to a tenth more may be there.
#[must_use]
pub fn stale_up_to(before: u32, after: u32, limit: u32) -> Option<u32> {
    let step = (limit / 10).max(1);
    let passed = before / step != after / step;
    let last = after.saturating_sub(limit);
    (passed && last > 0).then_some(last)
}

#[cfg(test)]
mod tests;

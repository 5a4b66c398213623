//! Wire in, wire out. What comes in leaves whole or not at all; nothing here decides.

pub(crate) mod ending;
pub(crate) mod event;
pub(crate) mod graph;
pub(crate) mod id;
pub(crate) mod matching;
pub(crate) mod page;
pub(crate) mod payload;
pub(crate) mod run;
pub(crate) mod task;
pub(crate) mod turn;

use chrono::{DateTime, Utc};
use prost_types::Timestamp;

use crate::error::Error;

pub(crate) fn time_to_wire(at: DateTime<Utc>) -> Timestamp {
    Timestamp {
        seconds: at.timestamp(),
        nanos: i32::try_from(at.timestamp_subsec_nanos()).unwrap_or(0),
    }
}

/// A moment in years 1 to 9999.
pub(crate) fn time_from_wire(field: &'static str, at: &Timestamp) -> Result<DateTime<Utc>, Error> {
    let in_range = (-62_135_596_800..=253_402_300_799).contains(&at.seconds);
    let nanos = u32::try_from(at.nanos).ok().filter(|_| in_range);
    nanos
        .and_then(|nanos| DateTime::from_timestamp(at.seconds, nanos))
        .ok_or_else(|| Error::field(field, "is outside years 1 to 9999"))
}

/// A name of 1 to 128 characters without control characters.
pub(crate) fn name(field: &'static str, text: &str) -> Result<(), Error> {
    cambium_kernel::check_name(text).map_err(|why| Error::field(field, why.to_string()))
}

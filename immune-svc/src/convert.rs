//! Wire in, wire out: what passes here is whole, or it is refused by the name of its field.

mod generosity;
pub(crate) mod heard;
pub(crate) mod page;
mod quarantine;
mod rule;
pub(crate) mod signal;
mod standing;

use cambium_kernel::{AgentId, Score};
use chrono::{DateTime, Utc};
use prost_types::Timestamp;

use crate::error::Error;

pub(crate) use generosity::{Recorded, action_to_wire, fact_of, policy_from_wire, policy_to_wire};
pub(crate) use quarantine::{alert_to_wire, length_from_wire, quarantine_to_wire};
pub(crate) use rule::{anomaly_to_wire, rule_from_wire, rule_to_wire};
pub(crate) use standing::{
    filter_from_wire, scores_from_wire, sort_from_wire, standing_to_wire, step_to_wire,
    which_from_wire,
};

pub(crate) fn time_to_wire(at: DateTime<Utc>) -> Timestamp {
    Timestamp {
        seconds: at.timestamp(),
        nanos: at.timestamp_subsec_nanos().cast_signed(),
    }
}

/// A moment in years 1 to 9999.
pub(crate) fn time_from_wire(field: &str, at: &Timestamp) -> Result<DateTime<Utc>, Error> {
    let in_range = (-62_135_596_800..=253_402_300_799).contains(&at.seconds);
    let nanos = u32::try_from(at.nanos).ok().filter(|_| in_range);
    nanos
        .and_then(|nanos| DateTime::from_timestamp(at.seconds, nanos))
        .ok_or_else(|| Error::field(field, "is outside years 1 to 9999"))
}

/// To the nearest millionth. Also refuses what is no number.
pub(crate) fn score_from_wire(field: &str, score: f64) -> Result<Score, Error> {
    if !(0.0..=1.0).contains(&score) {
        return Err(Error::field(
            field,
            format!("is {score}, but must be from 0 to 1"),
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "from 0 to a million, and rounded"
    )]
    let millionths = (score * 1e6).round() as i32;
    Score::from_millionths(millionths).map_err(|why| Error::field(field, why.to_string()))
}

pub(crate) fn agent_from_wire(field: &str, text: &str) -> Result<AgentId, Error> {
    text.parse()
        .map_err(|_| Error::field(field, "is not a UUID"))
}

/// A text for people, of 1 to 500 characters; line breaks are allowed.
pub(crate) fn reason_from_wire(field: &str, text: &str) -> Result<String, Error> {
    let length = text.chars().count();
    if text.trim().is_empty() {
        return Err(Error::field(field, "is empty: say why"));
    }
    if length > 500 {
        return Err(Error::field(
            field,
            format!("has {length} characters, over the limit of 500"),
        ));
    }
    check_storable(field, text)?;
    Ok(text.to_owned())
}

/// Identifies something, in at most `most` characters. The database holds no NUL.
pub(crate) fn text_from_wire(field: &str, text: &str, most: usize) -> Result<String, Error> {
    if text.chars().count() > most {
        return Err(Error::field(field, format!("has over {most} characters")));
    }
    check_storable(field, text)?;
    Ok(text.to_owned())
}

fn check_storable(field: &str, text: &str) -> Result<(), Error> {
    if text.contains('\0') {
        return Err(Error::field(field, "holds a NUL character"));
    }
    Ok(())
}

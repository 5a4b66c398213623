//! Wire in, wire out: what passes here is whole, or it is refused by the name of its field.

pub(crate) mod event;
pub(crate) mod marker;
pub(crate) mod payload;
pub(crate) mod search;
pub(crate) mod signal;
pub(crate) mod wish;

use cambium_kernel::MarkerId;
use cambium_service_kit::principal::{Kind, Principal};
use cambium_stigmergy::{Author, Region};
use chrono::{DateTime, Utc};
use prost_types::Timestamp;

use crate::error::Error;

/// As whom a caller leaves marks: its credential says so, and no field.
pub(crate) fn author(principal: &Principal) -> Result<Author, Error> {
    match principal.kind {
        Kind::Agent => {
            let id = principal.name.parse().map_err(|_| Error::NotAnAgent)?;
            Ok(Author::Agent(id))
        }
        Kind::Operator => Ok(Author::Operator(principal.name.clone())),
        Kind::Worker
        | Kind::Service
        | Kind::Viewer
        | Kind::Mind
        | Kind::Scheduler
        | Kind::Meter => Err(Error::NotAnAgent),
    }
}

pub(crate) fn marker_id(text: &str) -> Result<MarkerId, Error> {
    text.parse()
        .map_err(|_| Error::field("marker_id", "is not a UUID"))
}

/// A region, or everything if none is named.
pub(crate) fn region_or_all(text: &str) -> Result<Option<Region>, Error> {
    if text.is_empty() {
        return Ok(None);
    }
    Ok(Some(Region::parse(text)?))
}

pub(crate) fn time_to_wire(time: DateTime<Utc>) -> Timestamp {
    Timestamp {
        seconds: time.timestamp(),
        nanos: time.timestamp_subsec_nanos().cast_signed(),
    }
}

/// Millionths as the wire has them.
pub(crate) fn share_to_wire(millionths: i32) -> f64 {
    f64::from(millionths) / 1e6
}

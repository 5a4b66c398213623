//! Wire in, wire out: what passes here is whole, or it is refused by the name of its field.

pub(crate) mod control;
pub(crate) mod loan;
pub(crate) mod mind;
pub(crate) mod persona;
pub(crate) mod record;
pub(crate) mod routing;
pub(crate) mod timeline;
pub(crate) mod transfer;

use cambium_kernel::WorkspaceId;
use cambium_service_kit::call;
use cambium_service_kit::principal::{Kind, Organ, Principal};
use cambium_swarm::Instance;
use cambium_swarm::authority;
use chrono::{DateTime, SecondsFormat, Utc};
use prost_types::Timestamp;

use crate::error::Error;

/// Who asks, as the table of authority knows it.
pub(crate) fn actor(caller: &Principal) -> Result<authority::Principal, Error> {
    let name = || caller.name.clone();
    Ok(match caller.kind {
        Kind::Operator => authority::Principal::Operator(name()),
        Kind::Agent => authority::Principal::Agent(name()),
        Kind::Worker => authority::Principal::Worker(name()),
        Kind::Service => authority::Principal::Service(name()),
        Kind::Viewer => authority::Principal::Viewer(name()),
        Kind::Scheduler => authority::Principal::Scheduler,
        Kind::Meter => authority::Principal::Meter,
        Kind::Mind => {
            let organ = match caller.fence.as_ref().map(|fence| fence.organ) {
                Some(Organ::Persona) => authority::Organ::Persona,
                Some(Organ::Own) | None => authority::Organ::Own,
            };
            authority::Principal::Mind(Instance::parse(&caller.name)?, organ)
        }
    })
}

/// The mind that calls; nobody else has what only a mind has.
pub(crate) fn own(actor: &authority::Principal) -> Result<Instance, Error> {
    match actor {
        authority::Principal::Mind(mind, _) => Ok(mind.clone()),
        _ => Err(cambium_swarm::Error::Denied(authority::Denial::NoRule).into()),
    }
}

pub(crate) fn workspace(caller: &Principal, text: &str) -> Result<WorkspaceId, Error> {
    Ok(call::workspace(caller, text, "workspace_id")?)
}

/// An id of ours, by the name of its field.
pub(crate) fn id<T: std::str::FromStr>(field: &'static str, text: &str) -> Result<T, Error> {
    text.parse()
        .map_err(|_| Error::field(field, "is not a UUID"))
}

/// A text of some length that is not empty.
pub(crate) fn para(field: &'static str, text: &str) -> Result<(), Error> {
    cambium_swarm::text::para(text).map_err(|why| Error::field(field, why.to_string()))
}

pub(crate) fn time(at: DateTime<Utc>) -> Timestamp {
    Timestamp {
        seconds: at.timestamp(),
        nanos: i32::try_from(at.timestamp_subsec_nanos()).unwrap_or(0),
    }
}

/// An instant as JSON has it.
pub(crate) fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

pub(crate) fn time_from_wire(
    field: &'static str,
    at: Option<Timestamp>,
) -> Result<Option<DateTime<Utc>>, Error> {
    let read = |at: Timestamp| {
        let nanos = u32::try_from(at.nanos).ok()?;
        DateTime::from_timestamp(at.seconds, nanos)
            .filter(|at| (1..=9999).contains(&chrono::Datelike::year(at)))
    };
    at.map(|at| read(at).ok_or_else(|| Error::field(field, "is no instant of the years 1 to 9999")))
        .transpose()
}

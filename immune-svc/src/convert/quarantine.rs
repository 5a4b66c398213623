//! Quarantines and alerts.

use cambium_proto::immune::v1 as wire;
use chrono::TimeDelta;
use prost_types::Duration;

use super::time_to_wire;
use crate::error::Error;
use crate::store::alert::Alert;
use crate::store::quarantine::Quarantine;

const SHORTEST: TimeDelta = TimeDelta::seconds(1);
const LONGEST: TimeDelta = TimeDelta::days(30);

/// How long an operator wants it to last; nothing: as long as it does by itself.
pub(crate) fn length_from_wire(length: Option<&Duration>) -> Result<Option<TimeDelta>, Error> {
    let Some(length) = length else {
        return Ok(None);
    };
    let nanos = u32::try_from(length.nanos).ok();
    let parsed = nanos.and_then(|nanos| TimeDelta::new(length.seconds, nanos));
    match parsed {
        Some(length) if (SHORTEST..=LONGEST).contains(&length) => Ok(Some(length)),
        Some(_) | None => Err(Error::field("duration", "is outside 1 s to 30 days")),
    }
}

pub(crate) fn quarantine_to_wire(one: &Quarantine, name: &str) -> wire::Quarantine {
    wire::Quarantine {
        quarantine_id: one.id.to_string(),
        agent_id: one.key.agent.to_string(),
        agent_name: name.to_owned(),
        reason: one.reason.clone(),
        actor: one.actor.clone(),
        start_time: Some(time_to_wire(one.started_at)),
        end_time: Some(time_to_wire(one.ends_at)),
        active: one.is_active,
        count: i32::try_from(one.count).unwrap_or(i32::MAX),
        over_cap: one.over_cap,
        release_reason: one.release_reason.clone(),
    }
}

pub(crate) fn alert_to_wire(alert: &Alert, name: &str) -> wire::Alert {
    wire::Alert {
        alert_id: alert.new.id.to_string(),
        seq: alert.seq,
        source: alert.new.source.clone(),
        agent_id: alert.new.key.agent.to_string(),
        agent_name: name.to_owned(),
        severity: alert.new.severity.as_f64(),
        text: alert.new.text.clone(),
        raise_time: Some(time_to_wire(alert.raised_at)),
        acknowledge_time: alert.acknowledged_at.map(time_to_wire),
        acknowledged_by: alert.acknowledged_by.clone(),
    }
}

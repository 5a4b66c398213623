//! The facts that stigmergy tells other services, and those that it hears.
//!
//! `coord.marker_transformed` is not among the first: nobody but watchers hears of it, and they read it in the event of
//! kind `transformed`, which carries all that the signal would.

use cambium_kernel::{AgentId, Score, SignalId, WorkspaceId};
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{MarkerPlaced, RateLimited, Signal, SignalClass, StandingChanged};
use cambium_stigmergy::Marker;
use chrono::{DateTime, Utc};

use super::time_to_wire;
use crate::error::Error;
use crate::store::rate::Refused;
use crate::store::standing::{Change, Standing};

pub(crate) const MARKER_PLACED: &str = "coord.marker_placed";
pub(crate) const RATE_LIMITED: &str = "stress.rate_limited";

/// Says that an agent left a mark.
pub(crate) fn marker_placed(workspace: &WorkspaceId, marker: &Marker) -> Signal {
    let agent = marker.placed_by.agent();
    Signal {
        signal_id: SignalId::generate().to_string(),
        r#type: MARKER_PLACED.to_owned(),
        class: SignalClass::Coordination.into(),
        intensity: marker.intensity.as_f64(),
        workspace_id: workspace.to_string(),
        source: "stigmergy".to_owned(),
        emit_time: Some(time_to_wire(marker.placed_at)),
        payload: Some(Payload::MarkerPlaced(MarkerPlaced {
            marker_id: marker.id.to_string(),
            agent_id: agent.map(|agent| agent.to_string()).unwrap_or_default(),
            region: marker.region.to_string(),
            marker_type: marker.kind.to_string(),
        })),
        ..Signal::default()
    }
}

/// Says that an agent ran into the limit.
pub(crate) fn rate_limited(refused: &Refused, now: DateTime<Utc>) -> Signal {
    Signal {
        signal_id: SignalId::generate().to_string(),
        r#type: RATE_LIMITED.to_owned(),
        class: SignalClass::Stress.into(),
        intensity: 1.0,
        workspace_id: refused.workspace.clone(),
        source: "stigmergy".to_owned(),
        emit_time: Some(time_to_wire(now)),
        payload: Some(Payload::RateLimited(RateLimited {
            agent_id: refused.author.clone(),
            region: refused.region.clone(),
        })),
        ..Signal::default()
    }
}

/// What immune says of an agent.
pub(crate) fn standing_from_wire(
    workspace: &str,
    changed: &StandingChanged,
) -> Result<Change, Error> {
    let end = changed.quarantine_end_time.map(|time| {
        let nanos = u32::try_from(time.nanos).ok();
        nanos.and_then(|nanos| DateTime::<Utc>::from_timestamp(time.seconds, nanos))
    });
    if end == Some(None) {
        let why = "is no time";
        return Err(Error::field("standing_changed.quarantine_end_time", why));
    }
    Ok(Change {
        workspace: workspace.to_owned(),
        agent: agent("standing_changed.agent_id", &changed.agent_id)?,
        seq: changed.seq,
        standing: Standing {
            trust: score("standing_changed.trust", changed.trust)?,
            generosity: score("standing_changed.generosity", changed.generosity)?,
            health: score("standing_changed.health", changed.health)?,
            is_quarantined: changed.quarantined,
        },
        quarantine_ends_at: end.flatten(),
    })
}

pub(crate) fn agent(field: &'static str, text: &str) -> Result<AgentId, Error> {
    text.parse()
        .map_err(|_| Error::field(field, "is not a UUID"))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "it was found to be from 0 to 1"
)]
fn score(field: &'static str, number: f64) -> Result<Score, Error> {
    let outside = || Error::field(field, format!("is {number}, outside 0 to 1"));
    // Also refuses what is no number.
    if !(0.0..=1.0).contains(&number) {
        return Err(outside());
    }
    Score::from_millionths((number * 1e6).round() as i32).map_err(|_| outside())
}

//! A mark as readers get it: as loud as it is now, with what is thought of those whose word it is.

use cambium_kernel::AgentId;
use cambium_proto::stigmergy::v1 as wire;
use chrono::{DateTime, Utc};

use super::time_to_wire;
use crate::store::marker::Stored;
use crate::store::standing::{Standing, Standings};

/// What anybody is trusted of whom nothing is known, in millionths.
const UNKNOWN: i32 = 500_000;

pub(crate) fn to_wire(stored: &Stored, standings: &Standings, now: DateTime<Utc>) -> wire::Marker {
    let marker = &stored.marker;
    wire::Marker {
        marker_id: marker.id.to_string(),
        region: marker.region.to_string(),
        r#type: marker.kind.to_string(),
        category: marker.kind.category().to_string(),
        placed_by: marker.placed_by.to_string(),
        intensity: marker.intensity.as_f64(),
        current_intensity: marker.intensity_at(now).as_f64(),
        half_life_s: marker.half_life.as_seconds(),
        place_time: Some(time_to_wire(marker.placed_at)),
        refresh_time: Some(time_to_wire(marker.refreshed_at)),
        fade_time: Some(time_to_wire(marker.expires_at())),
        payload: stored.payload.clone().unwrap_or_default().into_bytes(),
        transformed_by: marker
            .transformed_by
            .iter()
            .map(AgentId::to_string)
            .collect(),
        transformation_depth: i32::try_from(marker.depth()).unwrap_or(i32::MAX),
        version: marker.version,
        trust: super::share_to_wire(trust(stored, standings)),
        author: marker
            .placed_by
            .agent()
            .and_then(|agent| standings.of(agent))
            .map(author_to_wire),
        quarantined: is_quarantined(stored, standings),
    }
}

/// The lowest trust among those whose word it is. A person of the house has no standing: it is unknown too.
fn trust(stored: &Stored, standings: &Standings) -> i32 {
    let trusts = stored
        .marker
        .agents()
        .map(|agent| trust_of(agent, standings));
    let person = stored.marker.placed_by.agent().is_none().then_some(UNKNOWN);
    trusts.chain(person).min().unwrap_or(UNKNOWN)
}

fn trust_of(agent: AgentId, standings: &Standings) -> i32 {
    let known = standings.of(agent);
    known.map_or(UNKNOWN, |standing| standing.trust.as_millionths())
}

/// Whether any of those whose word it is has been set apart.
pub(crate) fn is_quarantined(stored: &Stored, standings: &Standings) -> bool {
    let mut known = stored
        .marker
        .agents()
        .filter_map(|agent| standings.of(agent));
    known.any(|standing| standing.is_quarantined)
}

fn author_to_wire(standing: Standing) -> wire::AuthorStanding {
    wire::AuthorStanding {
        trust: standing.trust.as_f64(),
        generosity: standing.generosity.as_f64(),
        health: standing.health.as_f64(),
        quarantined: standing.is_quarantined,
    }
}

//! What happened to a mark, as watchers get it.

use cambium_proto::stigmergy::v1 as wire;

use super::{share_to_wire, time_to_wire};
use crate::store::event::{Event, Kind};

pub(crate) fn to_wire(event: Event) -> wire::WatchMarkersResponse {
    let (old, new) = event.summaries.unwrap_or_default();
    wire::WatchMarkersResponse {
        seq: event.seq,
        kind: kind_to_wire(event.kind).into(),
        occur_time: Some(time_to_wire(event.at)),
        marker_id: event.marker.to_string(),
        region: event.region,
        r#type: event.marker_type,
        actor: event.actor.unwrap_or_default(),
        intensity_before: share_to_wire(event.before),
        intensity_after: share_to_wire(event.after),
        transformation_depth: event.depth,
        old_payload_summary: old,
        new_payload_summary: new,
    }
}

const fn kind_to_wire(kind: Kind) -> wire::MarkerEventKind {
    match kind {
        Kind::Placed => wire::MarkerEventKind::Placed,
        Kind::Reinforced => wire::MarkerEventKind::Reinforced,
        Kind::Transformed => wire::MarkerEventKind::Transformed,
        Kind::Faded => wire::MarkerEventKind::Faded,
    }
}

/// Nothing happened, as far as `seq`.
pub(crate) fn heartbeat(seq: i64) -> wire::WatchMarkersResponse {
    wire::WatchMarkersResponse {
        seq,
        kind: wire::MarkerEventKind::Heartbeat.into(),
        ..wire::WatchMarkersResponse::default()
    }
}

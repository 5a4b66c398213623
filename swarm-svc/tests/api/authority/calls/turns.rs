//! Writing the timeline, and charging.

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::TurnOutcome;

use super::{asked, number, tick};
use crate::authority::raw::{Call, call};
use crate::authority::rows::{Condition, Row};
use crate::authority::stage::{NO_TURN, Stage};
use crate::fixture::{WORKSPACE, request_id};

fn turn_id(stage: &Stage) -> String {
    let turn = stage.turn.as_ref();
    turn.map_or_else(|| NO_TURN.to_owned(), |turn| turn.turn_id.clone())
}

pub(super) fn charge(stage: &Stage, condition: &Condition) -> Call {
    let request = asked!(RecordChargeRequest {
        turn_id: turn_id(stage),
        cost_micro_usd: number(condition, "cost_micro_usd"),
        outcome: TurnOutcome::Ended.into(),
    });
    call("TimelineService/RecordCharge", &request)
}

/// The scheduler's tick writes it; for whoever may not write it, so do the body's sign and the meter's.
pub(super) fn timeline(stage: &Stage, row: &Row) -> Vec<Call> {
    if !row.is_denied {
        return vec![tick()];
    }
    let epoch = stage.turn.as_ref().map_or(1, |turn| turn.epoch);
    let (workspace_id, holder) = (WORKSPACE.to_owned(), "h1".to_owned());
    let ack = wire::AckGrantRequest {
        workspace_id: workspace_id.clone(),
        turn_id: turn_id(stage),
        epoch,
        holder: holder.clone(),
    };
    let beat = wire::HeartbeatRequest {
        workspace_id,
        turn_id: turn_id(stage),
        epoch,
        holder,
    };
    vec![
        tick(),
        call("TimelineService/AckGrant", &ack),
        call("TimelineService/Heartbeat", &beat),
        charge(stage, &Condition::new()),
    ]
}

//! Turns.

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::TurnOutcome;

use super::{Ask, eureka, looked};
use crate::authority::calls::{asked, tick};
use crate::authority::raw::call;
use crate::fixture::{BODY, WORKSPACE, request_id};

/// Of another mind's live turn.
pub(super) fn timeline(turn: &wire::Turn) -> Vec<Ask> {
    let (turn_id, epoch, holder) = (turn.turn_id.clone(), turn.epoch, "h1".to_owned());
    let grants = looked!(WatchGrantsRequest {
        body: BODY.to_owned()
    });
    let ack = looked!(AckGrantRequest {
        turn_id: turn_id.clone(),
        epoch: epoch,
        holder: holder.clone(),
    });
    let beat = looked!(HeartbeatRequest {
        turn_id: turn_id.clone(),
        epoch: epoch,
        holder: holder,
    });
    let mint = looked!(MintMindTokenRequest {
        turn_id: turn_id.clone(),
        epoch: epoch
    });
    let charge = asked!(RecordChargeRequest {
        turn_id: turn_id.clone(),
        cost_micro_usd: Some(1),
        outcome: TurnOutcome::Ended.into(),
    });
    let get = looked!(GetTurnRequest { turn_id: turn_id });
    let explain = looked!(ExplainMindRequest { instance: eureka() });
    let preview = looked!(PreviewTurnsRequest { n: 3 });
    let dry = looked!(ForecastWalletRequest {});
    vec![
        (
            "",
            call(
                "TimelineService/GetTimeline",
                &looked!(GetTimelineRequest {}),
            ),
        ),
        (
            "",
            call(
                "TimelineService/WatchTimeline",
                &looked!(WatchTimelineRequest {}),
            ),
        ),
        ("", tick()),
        ("", call("TimelineService/WatchGrants", &grants)),
        ("", call("TimelineService/AckGrant", &ack)),
        ("", call("TimelineService/Heartbeat", &beat)),
        ("", call("TimelineService/MintMindToken", &mint)),
        ("", call("TimelineService/RecordCharge", &charge)),
        ("", call("TimelineService/GetTurn", &get)),
        (
            "",
            call("TimelineService/ListTurns", &looked!(ListTurnsRequest {})),
        ),
        ("", call("TimelineService/ExplainMind", &explain)),
        ("", call("TimelineService/PreviewTurns", &preview)),
        ("", call("TimelineService/ForecastWallet", &dry)),
    ]
}

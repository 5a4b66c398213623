//! The call of each verb, with nothing wrong about it but what the row says.

mod documents;
mod turns;

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::NewDocument;
use chrono::TimeDelta;

use super::raw::{Call, call, to};
use super::rows::{Condition, Row};
use super::stage::{HOUR, OTHER, Stage};
use crate::agenda::stamp;
use crate::fixture::{WORKSPACE, opening, ordinary_dial, request_id};
use crate::minds::proposal;
use crate::remnants::small;

/// A request of the workspace under an id of its own, with these fields and no others.
macro_rules! asked {
    ($request:ident { $($field:ident: $value:expr),* $(,)? }) => {
        {
            let mut request = wire::$request::default();
            request.workspace_id = WORKSPACE.to_owned();
            request.request_id = request_id();
            $(request.$field = $value;)*
            request
        }
    };
}
pub(super) use asked;

fn number(condition: &Condition, key: &str) -> Option<i64> {
    condition.get(key).map(|value| value.parse().unwrap())
}

pub(super) fn tick() -> Call {
    let workspace_id = WORKSPACE.to_owned();
    call("TimelineService/Tick", &wire::TickRequest { workspace_id })
}

pub(super) fn append(documents: Vec<NewDocument>) -> Call {
    let request = asked!(AppendRecordRequest {
        documents: documents
    });
    call("RecordService/AppendRecord", &request)
}

/// Every call by which somebody would do it.
pub(super) async fn calls(
    stage: &Stage,
    row: &Row,
    action: &str,
    condition: &Condition,
) -> Vec<Call> {
    let controlled = control(stage, row, action, condition);
    let made = controlled.or_else(|| life(stage, row, action));
    if let Some(made) = made.or_else(|| routing(stage, row, action, condition)) {
        return vec![made];
    }
    match action {
        "Launch" => vec![tick()],
        "UpdateTimeline" => turns::timeline(stage, row),
        "RecordCharge" => vec![turns::charge(stage, condition)],
        "PutPersona" => vec![put(stage, row, condition).await],
        "Read" | "Watch" => vec![look(action)],
        "Health" => vec![to("/grpc.health.v1.Health/Check", &())],
        "Unmapped" => unmapped(),
        _ => vec![documents::documents(stage, row, action, condition).await],
    }
}

/// A loan of too much that has no end.
pub(super) fn unending(row: &Row) -> Call {
    let (_, borrower) = row.thing.split_once("->").unwrap();
    let request = asked!(LendShareRequest {
        borrower: borrower.to_owned(),
        share_ppm: 500_001,
    });
    call("LoanService/LendShare", &request)
}

fn control(stage: &Stage, row: &Row, action: &str, condition: &Condition) -> Option<Call> {
    let instance = row.thing.clone();
    let soon = stamp(stage.swarm.now() + HOUR);
    Some(match action {
        "SetShare" => {
            let share_ppm = number(condition, "share_ppm").unwrap();
            let request = asked!(SetShareRequest {
                instance: instance,
                share_ppm: share_ppm
            });
            call("ControlService/SetShare", &request)
        }
        "SetHaste" => {
            let haste_ppm = number(condition, "haste_ppm");
            let request = asked!(SetHasteRequest {
                instance: instance,
                haste_ppm: haste_ppm,
                until: soon
            });
            call("ControlService/SetHaste", &request)
        }
        "LendShare" => {
            let (_, borrower) = row.thing.split_once("->").unwrap();
            let request = asked!(LendShareRequest {
                borrower: borrower.to_owned(),
                share_ppm: number(condition, "of_own_ppm").unwrap(),
                until: soon,
            });
            call("LoanService/LendShare", &request)
        }
        "SetDial" => {
            let ordinary = ordinary_dial();
            let given = |key: &str, usual: i64| number(condition, key).unwrap_or(usual);
            let request = asked!(SetDialRequest {
                heat_ppm: given("heat_ppm", ordinary.heat_ppm),
                base_rate_micro_usd_per_h: given(
                    "base_rate_micro_usd_per_h",
                    ordinary.base_rate_micro_usd_per_h
                ),
                base_run_micro_usd: given("base_run_micro_usd", ordinary.base_run_micro_usd),
                k: given("k", ordinary.k),
                burst_micro_usd: number(condition, "burst_micro_usd"),
            });
            call("ControlService/SetDial", &request)
        }
        "HoldBrake" => {
            let reason = "A test.".to_owned();
            let request = asked!(HoldBrakeRequest {
                instance: instance,
                reason: reason
            });
            call("ControlService/HoldBrake", &request)
        }
        "ReleaseBrake" => {
            let request = asked!(ReleaseBrakeRequest { instance: instance });
            call("ControlService/ReleaseBrake", &request)
        }
        "OperateMind" => {
            let request = asked!(OperateMindRequest { instance: instance });
            call("ControlService/OperateMind", &request)
        }
        _ => return None,
    })
}

fn life(stage: &Stage, row: &Row, action: &str) -> Option<Call> {
    let instance = row.thing.clone();
    let reason = "So it is.".to_owned();
    Some(match action {
        "OpenMind" => call("MindService/OpenMind", &opening(&instance)),
        "ProposeMind" => call("MindService/ProposeMind", &proposal(&instance)),
        "RetireMind" => {
            let request = asked!(RetireMindRequest {
                instance: instance,
                reason: reason
            });
            call("MindService/RetireMind", &request)
        }
        "Rest" => {
            let until = stamp(stage.swarm.now() + HOUR + HOUR);
            call("MindService/Rest", &asked!(RestRequest { until: until }))
        }
        "RequestRetirement" => {
            let request = asked!(RequestRetirementRequest { reason: reason });
            call("MindService/RequestRetirement", &request)
        }
        "ImportPersona" => {
            let request = asked!(ImportPersonaRequest {
                instance: instance,
                bytes: small()
            });
            call("PersonaService/ImportPersona", &request)
        }
        _ => return None,
    })
}

fn routing(stage: &Stage, row: &Row, action: &str, condition: &Condition) -> Option<Call> {
    let reason = "It is nearer.".to_owned();
    let to = condition.get("to").cloned().unwrap_or_default();
    Some(match action {
        "HandOff" => {
            let area = row.thing.clone();
            let request = asked!(OfferHandOffRequest {
                area: area,
                to: to,
                reason: reason
            });
            call("RoutingService/OfferHandOff", &request)
        }
        "TakeStewardship" => {
            let request = asked!(TakeStewardshipRequest {
                instance: row.name.clone(),
                area: row.thing.clone(),
                note: reason,
            });
            call("RoutingService/TakeStewardship", &request)
        }
        "RouteWork" => {
            let request = asked!(RouteWorkRequest {
                work_id: stage.work.clone().unwrap(),
                to: OTHER.to_owned(),
                reason: reason,
            });
            call("RoutingService/RouteWork", &request)
        }
        "MoveLead" => {
            let review_on = match condition.contains_key("review_on") {
                true => (stage.swarm.now() + TimeDelta::days(180))
                    .date_naive()
                    .to_string(),
                false => String::new(),
            };
            let request = asked!(MoveLeadRequest {
                instance: to,
                review_on: review_on,
                reason: reason
            });
            call("RoutingService/MoveLead", &request)
        }
        _ => return None,
    })
}

/// What the persona organ would put, of the mind that the row names.
async fn put(stage: &Stage, row: &Row, condition: &Condition) -> Call {
    let (_, mut request) = stage.swarm.next(&row.thing).await;
    if condition["cas"] == "stale" {
        request.expected_updated_at = stamp(stage.swarm.now() - HOUR);
    }
    call("PersonaService/PutPersona", &request)
}

fn look(action: &str) -> Call {
    let workspace_id = WORKSPACE.to_owned();
    if action == "Watch" {
        let request = wire::WatchTimelineRequest {
            workspace_id,
            after_seq: 0,
        };
        return call("TimelineService/WatchTimeline", &request);
    }
    let request = wire::GetDocumentRequest {
        workspace_id,
        holder: "weksa".to_owned(),
        id: "weksa:ruling:first".to_owned(),
    };
    call("RecordService/GetDocument", &request)
}

/// Methods of the contracts for which swarm has no rule.
fn unmapped() -> Vec<Call> {
    let paths = [
        "/cambium.hypha.v1.RunService/StartRun",
        "/cambium.immune.v1.QuarantineService/QuarantineAgent",
    ];
    paths.iter().map(|path| to(path, &())).collect()
}

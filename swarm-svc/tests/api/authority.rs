//! The design's cases of who may do what, asked over the wire: each is answered as the file says, and what is refused changes nothing.
//! Cases that no request can name are the decision function's alone; they are listed with the reason.

mod alike;
mod asks;
mod calls;
mod raw;
mod rows;
mod stage;

use cambium_proto::swarm::v1::{GetDocumentResponse, Organ, RecordChargeResponse, TickResponse};
use futures::StreamExt as _;
use prost::Message as _;
use tonic::{Code, Status};

use raw::Call;
use rows::{Condition, Row, rows};
use stage::{By, Stage};

/// The cases that are played here.
const PLAYED: &[u32] = &[
    1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25, 26, 27, 28,
    29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 65, 72, 73, 74,
];

/// Those that are not, and why.
const LEFT: &[(u32, &str)] = &[
    (6, "a request names no lender: a mind lends its own alone"),
    (20, "a request names no mind: a mind asks for itself alone"),
    (47, "a tick is answered OK with what it skipped for"),
    (48, "hypha's"),
    (49, "hypha's"),
    (50, "hypha's"),
    (51, "hypha's"),
    (52, "hypha's"),
    (53, "stigmergy's"),
    (54, "stigmergy's"),
    (55, "stigmergy's"),
    (56, "stigmergy's"),
    (57, "stigmergy's, genesis' and hypha's"),
    (58, "immune's"),
    (59, "immune's"),
    (60, "immune's"),
    (61, "immune's"),
    (62, "immune's"),
    (63, "genesis'"),
    (64, "genesis'"),
    (66, "hypha's"),
    (67, "hypha's"),
    (68, "hypha's"),
    (69, "hypha's"),
    (70, "hypha's, and a certificate's"),
    (71, "the certificate's: no call is read"),
];

fn expected(row: &Row) -> Code {
    match row.code.as_str() {
        "OK" => Code::Ok,
        "PERMISSION_DENIED" => Code::PermissionDenied,
        "FAILED_PRECONDITION" => Code::FailedPrecondition,
        "ABORTED" => Code::Aborted,
        other => panic!("the cases have a new code: {other}"),
    }
}

/// A mind acts in a session or in a turn; where either organ will do, each has its chance.
fn ways(row: &Row) -> Vec<By> {
    let organ = match row.organ.as_str() {
        "persona" => Organ::Persona,
        "self" => Organ::Self_,
        "any" => return vec![By::Session(Organ::Persona), By::Turn(Organ::Self_)],
        _ => return vec![By::Itself],
    };
    vec![By::Session(organ), By::Turn(organ)]
}

fn code(answer: &Result<Vec<u8>, Status>) -> Code {
    answer.as_ref().err().map_or(Code::Ok, Status::code)
}

/// One action of one principal under one condition; what was wrong about it.
async fn play(row: Row, condition: Condition, action: String, by: By) -> Vec<String> {
    let stage = Stage::set(&row, &condition, by).await;
    let mut wrong = Vec::new();
    for call in calls::calls(&stage, &row, &action, &condition).await {
        for token in &stage.tokens {
            let before = stage.swarm.state_of_all().await;
            let answer = stage.swarm.send(token.as_deref(), &call).await;
            let shown = || format!("case {} {by:?} {} {condition:?}", row.id, call.path);
            if code(&answer) != expected(&row) {
                wrong.push(format!("{}: {answer:?}", shown()));
            }
            if row.is_denied && stage.swarm.state_of_all().await != before {
                wrong.push(format!("{}: something changed", shown()));
            }
            let (reply, token) = (answer.unwrap_or_default(), token.as_deref().unwrap_or(""));
            if !holds(&stage, &row, (&call, token), &reply).await {
                wrong.push(format!("{}: not as it is noted", shown()));
            }
        }
    }
    wrong
}

/// What a case's note says of an answer: whether it is so.
async fn holds(stage: &Stage, row: &Row, (call, token): (&Call, &str), reply: &[u8]) -> bool {
    let send = async |call: &Call| stage.swarm.send(Some(token), call).await;
    match row.id {
        // Without an end it is at fault before anybody asks how much it is.
        7 => code(&send(&calls::unending(row)).await) == Code::InvalidArgument,
        25 => {
            let anew = calls::calls(stage, row, "ImportPersona", &Condition::new()).await;
            code(&send(&anew[0]).await) == Code::FailedPrecondition
        }
        41 => {
            let turn = TickResponse::decode(reply).unwrap().turn;
            turn.is_some_and(|turn| turn.instance == row.thing)
        }
        44 => {
            let again = send(call).await.unwrap();
            let first = RecordChargeResponse::decode(reply).unwrap();
            first.charge.is_some() && again == reply
        }
        65 if call.path.ends_with("GetDocument") => {
            let document = GetDocumentResponse::decode(reply).unwrap().document;
            document.is_some_and(|document| document.payload.is_empty() && document.in_force)
        }
        _ => true,
    }
}

#[tokio::test]
async fn every_case_that_a_request_can_name_is_answered_as_the_design_says() {
    let Some(rows) = rows() else {
        println!("skipped: ../shared/cases is absent");
        return;
    };
    let mut played = Vec::new();
    for row in rows.iter().filter(|row| PLAYED.contains(&row.id)) {
        for condition in &row.conditions {
            for action in &row.actions {
                let each = ways(row).into_iter();
                played.extend(
                    each.map(|by| play(row.clone(), condition.clone(), action.clone(), by)),
                );
            }
        }
    }
    assert!(played.len() >= 80, "{} plays", played.len());

    let wrong: Vec<Vec<String>> = futures::stream::iter(played)
        .buffer_unordered(4)
        .collect()
        .await;

    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_case_is_played_or_left_for_a_reason() {
    let Some(rows) = rows() else {
        println!("skipped: ../shared/cases is absent");
        return;
    };

    let left: Vec<u32> = LEFT.iter().map(|(id, _)| *id).collect();
    let mut placed = [PLAYED, &left].concat();
    placed.sort_unstable();
    let ids: Vec<u32> = rows.iter().map(|row| row.id).collect();

    assert_eq!(placed, ids);
}

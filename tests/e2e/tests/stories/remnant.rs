//! A mind whose turns are runs: it comes from elsewhere, wakes in a graph, says who it is and what it decided inside its fence, and is
//! charged by what its tasks were measured at, also while the one that keeps its books was dead.

use std::time::Duration;

use cambium_client::Connection;
use cambium_e2e::hand::{Hand, WORKSPACE};
use cambium_proto::hypha::v1::{Attempt, Graph};
use cambium_proto::swarm::v1::target::Target as Kind;
use cambium_proto::swarm::v1::{
    AppendRecordRequest, ChargeSource, DocumentKind, GetPersonaRequest, GraphTarget,
    ImportPersonaRequest, ListTurnsRequest, MintMindTokenRequest, MintMindTokenResponse,
    NewDocument, OpenMindRequest, Organ, PutPersonaRequest, ReleaseBrakeRequest, SetDialRequest,
    SetShareRequest, Target, Turn, TurnState, Wakes,
};
use cambium_testkit::wait_until;
use serde_json::{Value, json};
use tonic::{Code, Status};
use uuid::Uuid;

use crate::house::graphs::{at, graph};
use crate::house::{House, Plan};

const STEP: Duration = Duration::from_secs(60);
const MIND: &str = "wren";

fn id() -> String {
    Uuid::new_v4().to_string()
}

/// First who it is, then what it does.
fn daily() -> Graph {
    let mut graph = graph("daily", "reflect->decide");
    at(&mut graph, "reflect").requires = vec!["organ:persona".to_owned()];
    graph
}

/// A mind from elsewhere, before its first turn here.
async fn open(operator: &Connection) {
    let open = OpenMindRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        instance: MIND.to_owned(),
        display_name: "Wren".to_owned(),
        mission: "To go on.".to_owned(),
        host: "here".to_owned(),
        target: Some(Target {
            target: Some(Kind::Graph(GraphTarget {
                name: "daily".to_owned(),
                version: 0,
            })),
        }),
        wakes: Wakes::Always.into(),
        fresh: None,
    };
    operator.minds().open_mind(open).await.unwrap();
    let remnant = json!({
        "agent_id": "wren",
        "identity": {"name": "Wren", "public_description": "Small."},
        "canonical_state": {},
    });
    let import = ImportPersonaRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        instance: MIND.to_owned(),
        bytes: remnant.to_string().into_bytes(),
    };
    operator.personas().import_persona(import).await.unwrap();
    let share = SetShareRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        instance: MIND.to_owned(),
        share_ppm: 1_000_000,
    };
    operator.control().set_share(share).await.unwrap();
    let dial = SetDialRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        heat_ppm: 1_000_000,
        base_rate_micro_usd_per_h: 10_000_000_000,
        base_run_micro_usd: 100_000,
        k: 1,
        ..SetDialRequest::default()
    };
    operator.control().set_dial(dial).await.unwrap();
    let release = ReleaseBrakeRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        instance: MIND.to_owned(),
    };
    operator.control().release_brake(release).await.unwrap();
}

/// The next task, which must come.
async fn next(hand: &Hand) -> Attempt {
    for _ in 0..20 {
        let mut attempts = hand.poll(1, Duration::from_secs(3)).await.unwrap();
        if let Some(attempt) = attempts.pop() {
            return attempt;
        }
    }
    panic!("no task came");
}

fn brief(attempt: &Attempt) -> Value {
    serde_json::from_slice(&attempt.run_input).unwrap()
}

/// What a worker that holds a task of the turn may act as.
async fn mint(worker: &Connection, brief: &Value) -> Result<MintMindTokenResponse, Status> {
    let request = MintMindTokenRequest {
        workspace_id: WORKSPACE.to_owned(),
        turn_id: brief["turn_id"].as_str().unwrap().to_owned(),
        epoch: brief["epoch"].as_i64().unwrap(),
        ..MintMindTokenRequest::default()
    };
    let minted = worker.timeline().mint_mind_token(request).await?;
    Ok(minted.into_inner())
}

/// Changes what it says of itself.
async fn reflect(mind: &Connection) {
    let request = GetPersonaRequest {
        workspace_id: WORKSPACE.to_owned(),
        instance: MIND.to_owned(),
        version: 0,
    };
    let stored = mind.personas().get_persona(request).await.unwrap();
    let stored = stored.into_inner();
    let mut value: Value = serde_json::from_slice(&stored.value_json).unwrap();
    assert_eq!(value["provenance"]["sourceSystem"], "import:agent_state");
    value["publicDescription"] = json!("Small, and awake.");
    let later = prost_types::Timestamp {
        seconds: stored.update_time.as_ref().unwrap().seconds + 1,
        nanos: 0,
    };
    value["updatedAt"] = json!(later.to_string());
    let put = PutPersonaRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        value_json: value.to_string(),
        expected_updated_at: stored.update_time,
        faculty: "reflection".to_owned(),
        agent: "scribe".to_owned(),
        session: "first".to_owned(),
        tool: "persona".to_owned(),
    };
    let put = mind.personas().put_persona(put).await.unwrap();
    assert_eq!(put.into_inner().version, 2);
}

/// Writes a ruling of its own.
async fn decide(mind: &Connection, label: &str) -> Result<(), Status> {
    let payload = json!({
        "label": label, "title": "Stay", "ruling": "We stay.", "authority": "mind", "ruled_on": "2026-06-01",
    });
    let request = AppendRecordRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        documents: vec![NewDocument {
            id: format!("{MIND}:ruling:{label}"),
            kind: DocumentKind::Ruling.into(),
            payload: payload.to_string().into_bytes(),
        }],
    };
    mind.records().append_record(request).await.map(|_| ())
}

async fn turns(operator: &Connection) -> Vec<Turn> {
    let request = ListTurnsRequest {
        workspace_id: WORKSPACE.to_owned(),
        page_size: 50,
        ..ListTurnsRequest::default()
    };
    let listed = operator.timeline().list_turns(request).await;
    listed.map_or_else(|_| Vec::new(), |listed| listed.into_inner().turns)
}

/// Waits until the turn has its charge.
async fn settled(operator: &Connection, turn_id: &str) -> Turn {
    wait_until(STEP, "the turn is settled", async || {
        let turns = turns(operator).await;
        let mut own = turns.iter().filter(|turn| turn.turn_id == turn_id);
        own.any(|turn| turn.state() == TurnState::Settled)
    })
    .await;
    let turns = turns(operator).await;
    let mut own = turns.into_iter().filter(|turn| turn.turn_id == turn_id);
    own.next().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remnant_wakes_in_a_graph_and_is_charged_by_measure() {
    let mut house = House::open(Plan::default().beside("swarm")).await;
    let agent = house
        .agent_serving("scribe", &["organ:persona"], MIND)
        .await;
    house.desk(0).put(&daily()).await;
    let operator = house.neighbour("swarm", &house.keys().operator());
    open(&operator).await;
    let token = house.keys().worker(&[&agent]);
    let worker = house.neighbour("swarm", &token);
    let hand = house.hand("worker-1", &agent).await;

    // The first turn: who it is, by the persona organ; what it decided, by itself.
    let first = next(&hand).await;
    let told = brief(&first);
    assert_eq!(first.node, "reflect");
    assert_eq!(
        (&told["instance"], &told["first_turn"]),
        (&json!(MIND), &json!(true))
    );
    assert_eq!(told["import_report"]["format"], "L3", "{told}");
    let minted = mint(&worker, &told).await.unwrap();
    assert_eq!(minted.organ(), Organ::Persona);
    reflect(&house.neighbour("swarm", &minted.token)).await;
    hand.complete(first.lease.unwrap(), "null", 700, 0)
        .await
        .unwrap();
    let second = next(&hand).await;
    let minted = mint(&worker, &told).await.unwrap();
    assert_eq!(
        (second.node.as_str(), minted.organ()),
        ("decide", Organ::Self_)
    );
    let mind = house.neighbour("swarm", &minted.token);
    decide(&mind, "stay").await.unwrap();
    hand.complete(second.lease.unwrap(), "null", 500, 0)
        .await
        .unwrap();

    let turn = settled(&operator, told["turn_id"].as_str().unwrap()).await;
    let charge = turn.charge.unwrap();
    assert_eq!((charge.cost_micro_usd, charge.measured), (1_200, true));
    assert_eq!(charge.source(), ChargeSource::Run);
    let late = decide(&mind, "late").await.unwrap_err();
    assert_eq!(late.code(), Code::Aborted, "its turn is over: {late:?}");

    // The second: swarm is dead while its tasks are done, and hears of their end afterwards.
    let first = next(&hand).await;
    let told = brief(&first);
    assert_eq!(told["first_turn"], false);
    house.kill_neighbour("swarm").await;
    hand.complete(first.lease.unwrap(), "null", 40, 0)
        .await
        .unwrap();
    let second = next(&hand).await;
    hand.complete(second.lease.unwrap(), "null", 2, 0)
        .await
        .unwrap();
    house.launch_neighbour("swarm").await;
    let turn = settled(&operator, told["turn_id"].as_str().unwrap()).await;
    let charge = turn.charge.unwrap();
    assert_eq!((charge.cost_micro_usd, charge.measured), (42, true));
}

//! What genesis tells hypha, and when.

use std::time::Duration;

use cambium_proto::genesis::v1::EnrollAgentRequest;
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{AgentSpawned, SignalClass};
use cambium_service_kit::principal::Kind;
use cambium_testkit::{SignalSink, wait_until};
use tonic::Code;
use uuid::Uuid;

use crate::fixture::{self, reason, request};

const BOUND: Duration = Duration::from_secs(10);

#[tokio::test]
async fn hypha_hears_of_a_new_agent() {
    let hypha = SignalSink::start().await;
    let mut fixture = fixture::start_telling(Some(hypha.url())).await;

    let agent = fixture
        .enroll("ada", &["write", "review"])
        .await
        .unwrap()
        .agent
        .unwrap();

    wait_until(BOUND, "hypha has heard", async || {
        !hypha.received().is_empty()
    })
    .await;
    let [signal] = hypha.received().try_into().unwrap();
    assert_eq!(signal.r#type, "coord.agent_spawned");
    assert_eq!(signal.class(), SignalClass::Coordination);
    assert_eq!(signal.source, "genesis");
    assert_eq!(signal.workspace_id, "default");
    assert_eq!(signal.emit_time, agent.enroll_time);
    assert_eq!(
        Uuid::parse_str(&signal.signal_id)
            .unwrap()
            .get_version_num(),
        7
    );
    let spawned = AgentSpawned {
        agent_id: agent.agent_id.clone(),
        name: agent.name,
        capabilities: agent.capabilities,
        root_agent_id: agent.agent_id,
        ..AgentSpawned::default()
    };
    assert_eq!(signal.payload, Some(Payload::AgentSpawned(spawned)));
}

#[tokio::test]
async fn whom_an_agent_serves_is_said_at_its_enrolment_and_told_with_it() {
    let hypha = SignalSink::start().await;
    let mut fixture = fixture::start_telling(Some(hypha.url())).await;
    let minds = |names: &[&str]| EnrollAgentRequest {
        serves_minds: names.iter().map(|&name| name.to_owned()).collect(),
        ..request("ada", &["write"])
    };

    let agent = fixture.send(minds(&["weksa"])).await.unwrap().agent;
    let again = fixture.send(minds(&["weksa", "weksa"])).await.unwrap();
    let other = fixture.send(minds(&["*"])).await.unwrap_err();
    let empty = fixture.send(minds(&["weksa", ""])).await.unwrap_err();

    assert_eq!(agent.as_ref().unwrap().serves_minds, ["weksa"]);
    assert_eq!(again.agent, agent);
    assert_eq!(reason(&other), "AGENT_NAME_TAKEN");
    assert_eq!(empty.code(), Code::InvalidArgument);
    wait_until(BOUND, "hypha has heard", async || {
        !hypha.received().is_empty()
    })
    .await;
    let Some(Payload::AgentSpawned(told)) = &hypha.received()[0].payload else {
        panic!("an agent was expected");
    };
    assert_eq!(told.serves_minds, ["weksa"]);
}

#[tokio::test]
async fn genesis_tells_under_its_own_name() {
    let hypha = SignalSink::start().await;
    let mut fixture = fixture::start_telling(Some(hypha.url())).await;

    fixture.enroll("ada", &["write"]).await.unwrap();

    wait_until(BOUND, "hypha has heard", async || {
        !hypha.tokens().is_empty()
    })
    .await;
    let caller = fixture
        .verifier("hypha")
        .verify(&hypha.tokens()[0])
        .unwrap();
    assert_eq!(
        (caller.kind, caller.name.as_str()),
        (Kind::Service, "genesis")
    );
}

#[tokio::test]
async fn an_agent_is_told_of_once_however_often_it_is_enrolled() {
    let hypha = SignalSink::start().await;
    let mut fixture = fixture::start_telling(Some(hypha.url())).await;
    let first = request("ada", &["write"]);

    fixture.send(first.clone()).await.unwrap();
    fixture.send(first).await.unwrap();
    fixture.enroll("ada", &["write"]).await.unwrap();
    fixture.enroll("ada", &["review"]).await.unwrap_err();
    fixture.enroll("bob", &["write"]).await.unwrap();

    wait_until(BOUND, "the outbox is empty", async || {
        fixture.count("outbox").await == 0
    })
    .await;
    let told: Vec<Option<Payload>> = hypha
        .received()
        .into_iter()
        .map(|signal| signal.payload)
        .collect();
    let names = told.into_iter().map(|payload| match payload {
        Some(Payload::AgentSpawned(spawned)) => spawned.name,
        other => panic!("{other:?} was told"),
    });
    assert_eq!(names.collect::<Vec<_>>(), ["ada", "bob"]);
}

#[tokio::test]
async fn a_hypha_that_was_away_hears_when_it_is_back() {
    let away = SignalSink::start().await;
    let address = away.address();
    away.stop().await;
    let mut fixture = fixture::start_telling(Some(format!("http://{address}"))).await;

    fixture.enroll("ada", &["write"]).await.unwrap();
    assert_eq!(fixture.count("outbox").await, 1);
    let back = SignalSink::start_at(address).await;

    wait_until(BOUND, "hypha has heard", async || {
        back.received().len() == 1
    })
    .await;
    wait_until(BOUND, "the outbox is empty", async || {
        fixture.count("outbox").await == 0
    })
    .await;
}

#[tokio::test]
async fn without_an_address_nothing_is_kept_to_be_told() {
    let mut fixture = fixture::start().await;

    fixture.enroll("ada", &["write"]).await.unwrap();

    assert_eq!(fixture.count("outbox").await, 0);
}

use std::time::Duration;

use cambium_proto::genesis::v1::{
    AgentState, EnrollAgentRequest, EnrollAgentResponse, GetAgentRequest,
};
use cambium_service_kit::principal::Kind;
use cambium_testkit::wait_until;
use chrono::TimeDelta;
use tonic::Code;
use uuid::Uuid;

use crate::fixture::{self, field, reason, request};

#[tokio::test]
async fn an_agent_is_enrolled_with_what_it_can_do() {
    let mut fixture = fixture::start().await;

    let reply = fixture
        .enroll("ada", &["write", "review", "write"])
        .await
        .unwrap();

    let agent = reply.agent.unwrap();
    assert_eq!(agent.name, "ada");
    assert_eq!(agent.workspace_id, "default");
    assert_eq!(agent.capabilities, ["review", "write"]);
    assert_eq!(agent.state(), AgentState::Active);
    assert!(agent.enroll_time.is_some());
    assert_eq!(
        Uuid::parse_str(&agent.agent_id).unwrap().get_version_num(),
        7
    );
}

#[tokio::test]
async fn the_reply_brings_a_token_for_the_agent_and_one_for_its_worker() {
    let mut fixture = fixture::start().await;

    let EnrollAgentResponse {
        agent,
        agent_token,
        worker_token,
    } = fixture.enroll("ada", &["write"]).await.unwrap();

    let id = agent.unwrap().agent_id;
    let itself = fixture.verifier("hypha").verify(&agent_token).unwrap();
    assert_eq!(itself.subject(), format!("agent:{id}"));
    assert_eq!(itself.workspaces, ["default"]);
    assert_eq!(itself.expires_at - itself.issued_at, TimeDelta::minutes(15));
    let worker = fixture.verifier("hypha").verify(&worker_token).unwrap();
    assert_eq!(worker.kind, Kind::Worker);
    assert_eq!(worker.workspaces, ["default"]);
    assert_eq!(worker.agents, [id]);
    assert_eq!(worker.capabilities, ["write"]);
    assert_eq!(worker.expires_at - worker.issued_at, TimeDelta::hours(1));
}

#[tokio::test]
async fn a_request_sent_again_is_answered_with_the_same_agent() {
    let mut fixture = fixture::start().await;
    let request = request("ada", &["write"]);

    let first = fixture.send(request.clone()).await.unwrap();
    let second = fixture.send(request).await.unwrap();

    assert_eq!(first.agent, second.agent);
    assert_eq!(fixture.count("agent").await, 1);
    fixture
        .verifier("genesis")
        .verify(&second.agent_token)
        .unwrap();
}

#[tokio::test]
async fn no_token_is_kept() {
    let mut fixture = fixture::start().await;

    let reply = fixture.enroll("ada", &["write"]).await.unwrap();

    let kept = sqlx::query_scalar::<_, Vec<u8>>("SELECT reply FROM genesis.receipt");
    let kept = kept.fetch_one(&fixture.database.owner).await.unwrap();
    let kept = String::from_utf8_lossy(&kept);
    assert!(kept.contains("ada"));
    for token in [reply.agent_token, reply.worker_token] {
        assert!(!kept.contains(&token));
    }
}

#[tokio::test]
async fn a_request_id_is_not_used_for_two_requests() {
    let mut fixture = fixture::start().await;
    let first = request("ada", &["write"]);
    let second = EnrollAgentRequest {
        name: "bob".to_owned(),
        ..first.clone()
    };
    fixture.send(first).await.unwrap();

    let refused = fixture.send(second).await.unwrap_err();

    assert_eq!(refused.code(), Code::AlreadyExists);
    assert_eq!(reason(&refused), "REQUEST_ID_REUSED");
    assert_eq!(fixture.count("agent").await, 1);
}

#[tokio::test]
async fn enrolling_a_known_agent_again_finds_it() {
    let mut fixture = fixture::start().await;
    let first = fixture.enroll("ada", &["write", "review"]).await.unwrap();

    let again = fixture.enroll("ada", &["review", "write"]).await.unwrap();

    assert_eq!(again.agent, first.agent);
    assert_eq!(fixture.count("agent").await, 1);
}

#[tokio::test]
async fn a_name_in_use_with_other_capabilities_is_taken() {
    let mut fixture = fixture::start().await;
    let first = fixture.enroll("ada", &["write"]).await.unwrap();

    let refused = fixture
        .enroll("ada", &["write", "review"])
        .await
        .unwrap_err();

    assert_eq!(refused.code(), Code::AlreadyExists);
    assert_eq!(reason(&refused), "AGENT_NAME_TAKEN");
    let now = fixture.ask(by_name("ada")).await.unwrap();
    assert_eq!(Some(now), first.agent);
}

#[tokio::test]
async fn workspaces_do_not_share_names() {
    let mut fixture = fixture::start().await;
    fixture.enroll("ada", &["write"]).await.unwrap();

    let elsewhere = EnrollAgentRequest {
        workspace_id: "north".to_owned(),
        ..request("ada", &["review"])
    };
    fixture.send(elsewhere).await.unwrap();

    assert_eq!(fixture.count("agent").await, 2);
}

#[tokio::test]
async fn many_who_enroll_one_name_at_once_get_one_agent() {
    let fixture = fixture::start().await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let mut client = fixture.client.clone();
        calls.spawn(async move { client.enroll_agent(request("ada", &["write"])).await });
    }

    let replies = calls.join_all().await;

    let mut ids: Vec<String> = replies
        .into_iter()
        .map(|reply| reply.unwrap().into_inner().agent.unwrap().agent_id)
        .collect();
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(fixture.count("agent").await, 1);
}

#[tokio::test]
async fn what_has_no_form_is_refused_by_the_name_of_its_field() {
    let mut fixture = fixture::start().await;
    let many: Vec<String> = (0..101).map(|n| format!("skill:{n}")).collect();
    let bad = [
        ("name", changed(|request| request.name.clear())),
        ("name", changed(|request| request.name = "a".repeat(129))),
        ("name", changed(|request| request.name.push('\0'))),
        (
            "capabilities[1]",
            changed(|request| request.capabilities.push(String::new())),
        ),
        (
            "capabilities",
            changed(|request| request.capabilities = many),
        ),
        (
            "workspace_id",
            changed(|request| request.workspace_id.clear()),
        ),
        ("request_id", changed(|request| request.request_id.clear())),
        (
            "request_id",
            changed(|request| request.request_id = "seven".to_owned()),
        ),
    ];

    for (name, request) in bad {
        let refused = fixture.send(request).await.unwrap_err();

        assert_eq!(refused.code(), Code::InvalidArgument, "{name}");
        assert_eq!(field(&refused), name);
    }
    assert_eq!(fixture.count("agent").await, 0);
}

#[tokio::test]
async fn only_an_operator_enrolls() {
    let fixture = fixture::start().await;
    let worker = fixture.keys.worker(&["ada"]);

    let refused = fixture
        .bearing(&worker)
        .enroll_agent(request("ada", &["write"]))
        .await
        .unwrap_err();
    let unknown = fixture
        .bearing("")
        .enroll_agent(request("ada", &["write"]))
        .await
        .unwrap_err();

    assert_eq!(refused.code(), Code::PermissionDenied);
    assert_eq!(unknown.code(), Code::Unauthenticated);
    assert_eq!(fixture.count("agent").await, 0);
}

#[tokio::test]
async fn a_workspace_that_is_closed_to_the_caller_does_not_exist() {
    let fixture = fixture::start().await;
    let visitor = fixture.keys.operator_of(&["north"]);

    let refused = fixture
        .bearing(&visitor)
        .enroll_agent(request("ada", &["write"]))
        .await
        .unwrap_err();

    assert_eq!(refused.code(), Code::NotFound);
    assert_eq!(reason(&refused), "WORKSPACE_UNKNOWN");
    assert_eq!(fixture.count("agent").await, 0);
}

#[tokio::test]
async fn a_reply_is_forgotten_after_a_day() {
    let mut fixture = fixture::start().await;
    fixture.enroll("ada", &["write"]).await.unwrap();
    fixture.database.advance(TimeDelta::hours(25)).await;

    let _replica = fixture.replica().await; // it looks when it starts

    wait_until(Duration::from_secs(5), "the receipt is gone", async || {
        fixture.count("receipt").await == 0
    })
    .await;
    assert_eq!(fixture.count("agent").await, 1);
}

fn by_name(name: &str) -> GetAgentRequest {
    GetAgentRequest {
        workspace_id: "default".to_owned(),
        name: name.to_owned(),
        ..GetAgentRequest::default()
    }
}

/// A request that would be granted, but for one thing.
fn changed(change: impl FnOnce(&mut EnrollAgentRequest)) -> EnrollAgentRequest {
    let mut request = request("ada", &["write"]);
    change(&mut request);
    request
}

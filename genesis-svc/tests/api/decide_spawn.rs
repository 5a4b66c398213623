use cambium_proto::genesis::v1::{
    DecideSpawnRequest, DecideSpawnResponse, ListSpawnsRequest, SpawnState, TemplateLimits,
    TemplateSpec,
};
use tonic::{Code, Response, Status};
use uuid::Uuid;

use crate::fixture::{self, Fixture, field, put, reason, retirement, spawn, spec};

/// Whose template asks first, and allows two at once.
async fn started() -> Fixture {
    let fixture = fixture::start().await;
    let limits = TemplateLimits {
        live_agents: 2,
        ..TemplateLimits::default()
    };
    let spec = TemplateSpec {
        requires_approval: true,
        limits: Some(limits),
        ..spec()
    };
    fixture.put(put(spec)).await.unwrap();
    fixture
}

#[tokio::test]
async fn a_spawn_that_waits_becomes_an_agent_when_an_operator_says_so() {
    let fixture = started().await;
    let request = spawn("");
    let waiting = fixture.spawn(request.clone()).await.unwrap();
    assert_eq!((waiting.agent, waiting.agent_token), (None, String::new()));
    let wish = waiting.spawn.unwrap();
    assert_eq!(wish.state(), SpawnState::Pending);
    assert_eq!(fixture.count("agent").await, 0);

    let decided = decide(&fixture, decision(&wish.spawn_id, true))
        .await
        .unwrap();

    let agent = decided.agent.unwrap();
    let spawn = decided.spawn.unwrap();
    assert_eq!(spawn.state(), SpawnState::Spawned);
    assert_eq!(spawn.decided_by, "operator:ada");
    assert_eq!(spawn.decision_reason, "seen");
    let again = fixture.spawn(request).await.unwrap();
    assert_eq!(again.agent.unwrap(), agent);
    fixture
        .verifier("genesis")
        .verify(&again.agent_token)
        .unwrap();
}

#[tokio::test]
async fn a_spawn_that_is_denied_gives_its_place_back() {
    let fixture = started().await;
    let first = fixture.spawn(spawn("")).await.unwrap().spawn.unwrap();
    fixture.spawn(spawn("")).await.unwrap();
    let full = fixture.spawn(spawn("")).await.unwrap_err();
    assert_eq!(reason(&full), "SPAWN_TEMPLATE_LIMIT");

    let denied = decide(&fixture, decision(&first.spawn_id, false))
        .await
        .unwrap();

    assert_eq!(denied.spawn.unwrap().state(), SpawnState::Denied);
    assert_eq!(denied.agent, None);
    fixture.spawn(spawn("")).await.unwrap();
    assert_eq!(fixture.count("agent").await, 0);
}

#[tokio::test]
async fn a_decision_is_taken_once() {
    let fixture = started().await;
    let wish = fixture.spawn(spawn("")).await.unwrap().spawn.unwrap();
    let first = decide(&fixture, decision(&wish.spawn_id, true))
        .await
        .unwrap();

    let again = decide(&fixture, decision(&wish.spawn_id, true))
        .await
        .unwrap();
    let refused = decide(&fixture, decision(&wish.spawn_id, false)).await;

    assert_eq!(first, again);
    let refused = refused.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert_eq!(reason(&refused), "SPAWN_DECIDED");
    assert_eq!(fixture.count("agent").await, 1);
}

#[tokio::test]
async fn a_parent_that_has_left_meanwhile_has_no_child() {
    let mut fixture = started().await;
    let enrolled = fixture.enroll("ada", &["write"]).await.unwrap();
    let ada = enrolled.agent.unwrap().agent_id;
    let wish = fixture.spawn(spawn(&ada)).await.unwrap().spawn.unwrap();
    fixture.retire(retirement(&ada)).await.unwrap();

    let refused = decide(&fixture, decision(&wish.spawn_id, true)).await;

    assert_eq!(reason(&refused.unwrap_err()), "SPAWN_PARENT_RETIRED");
    assert_eq!(fixture.count("agent").await, 1);
    decide(&fixture, decision(&wish.spawn_id, false))
        .await
        .unwrap();
}

#[tokio::test]
async fn those_that_wait_are_listed() {
    let fixture = started().await;
    let first = fixture.spawn(spawn("")).await.unwrap().spawn.unwrap();
    let second = fixture.spawn(spawn("")).await.unwrap().spawn.unwrap();
    decide(&fixture, decision(&first.spawn_id, true))
        .await
        .unwrap();
    let list = async |state: SpawnState| {
        let request = ListSpawnsRequest {
            workspace_id: "default".to_owned(),
            state: state.into(),
            ..ListSpawnsRequest::default()
        };
        let reply = fixture.spawns().list_spawns(request).await.unwrap();
        let spawns = reply.into_inner().spawns.into_iter();
        spawns.map(|spawn| spawn.spawn_id).collect::<Vec<_>>()
    };

    assert_eq!(
        list(SpawnState::Pending).await,
        vec![second.spawn_id.clone()]
    );
    assert_eq!(
        list(SpawnState::Unspecified).await,
        [second.spawn_id, first.spawn_id]
    );
}

#[tokio::test]
async fn what_is_unknown_or_has_no_form_is_refused() {
    let fixture = started().await;

    let unknown = decide(&fixture, decision(&Uuid::now_v7().to_string(), true)).await;
    let malformed = decide(&fixture, decision("seven", true)).await;
    let silent = DecideSpawnRequest {
        reason: String::new(),
        ..decision(&Uuid::now_v7().to_string(), true)
    };
    let silent = decide(&fixture, silent).await;

    let unknown = unknown.unwrap_err();
    assert_eq!(
        (unknown.code(), reason(&unknown).as_str()),
        (Code::NotFound, "SPAWN_UNKNOWN")
    );
    assert_eq!(field(&malformed.unwrap_err()), "spawn_id");
    assert_eq!(field(&silent.unwrap_err()), "reason");
}

fn decision(spawn: &str, approve: bool) -> DecideSpawnRequest {
    DecideSpawnRequest {
        workspace_id: "default".to_owned(),
        request_id: Uuid::new_v4().to_string(),
        spawn_id: spawn.to_owned(),
        approve,
        reason: "seen".to_owned(),
    }
}

async fn decide(
    fixture: &Fixture,
    request: DecideSpawnRequest,
) -> Result<DecideSpawnResponse, Status> {
    fixture
        .spawns()
        .decide_spawn(request)
        .await
        .map(Response::into_inner)
}

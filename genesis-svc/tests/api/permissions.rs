//! What an operator alone may do, tried by everybody else.

use cambium_proto::genesis::v1::{
    DecideSpawnRequest, ImportTemplateRequest, RollBackLearningRequest,
};
use tonic::{Code, Status};
use uuid::Uuid;

use crate::fixture::{self, Fixture, put, retirement, spawn, spec};

fn denied(refused: Result<(), Status>, what: &str) {
    assert_eq!(
        refused.unwrap_err().code(),
        Code::PermissionDenied,
        "{what}"
    );
}

async fn try_all(fixture: &Fixture, token: &str) {
    let mut templates = fixture.templates_bearing(token);
    let mut spawns = fixture.spawns_bearing(token);
    let id = || Uuid::now_v7().to_string();

    denied(templates.put_template(put(spec())).await.map(|_| ()), "put");
    let request = ImportTemplateRequest {
        workspace_id: "default".to_owned(),
        request_id: id(),
        ..ImportTemplateRequest::default()
    };
    denied(
        templates.import_template(request).await.map(|_| ()),
        "import",
    );
    let request = RollBackLearningRequest {
        workspace_id: "default".to_owned(),
        request_id: id(),
        learning_id: id(),
        reason: "wrong".to_owned(),
    };
    denied(
        templates.roll_back_learning(request).await.map(|_| ()),
        "roll back",
    );
    let request = DecideSpawnRequest {
        workspace_id: "default".to_owned(),
        request_id: id(),
        spawn_id: id(),
        approve: true,
        reason: "seen".to_owned(),
    };
    denied(spawns.decide_spawn(request).await.map(|_| ()), "decide");
}

#[tokio::test]
async fn nobody_but_an_operator_sets_what_agents_are_made_from() {
    let fixture = fixture::start().await;
    fixture.put(put(spec())).await.unwrap();
    let agent = fixture.spawned().await;

    for token in [
        fixture.keys.agent(&agent),
        fixture.keys.worker(&["ada"]),
        fixture.keys.viewer(),
        fixture.keys.service("hypha"),
    ] {
        try_all(&fixture, &token).await;
    }

    assert_eq!(fixture.count("template_version").await, 1);
    assert_eq!(fixture.count("agent").await, 1);
}

#[tokio::test]
async fn workers_and_viewers_neither_spawn_nor_retire() {
    let fixture = fixture::start().await;
    fixture.put(put(spec())).await.unwrap();
    let agent = fixture.spawned().await;

    for token in [fixture.keys.worker(&[&agent]), fixture.keys.viewer()] {
        let spawned = fixture.spawns_bearing(&token).spawn(spawn("")).await;
        denied(spawned.map(|_| ()), "spawn");
        let retired = fixture
            .bearing(&token)
            .retire_agent(retirement(&agent))
            .await;
        denied(retired.map(|_| ()), "retire");
    }

    assert_eq!(fixture.count("agent").await, 1);
}

#[tokio::test]
async fn a_workspace_that_is_closed_to_the_caller_does_not_exist() {
    let fixture = fixture::start().await;
    let visitor = fixture.keys.operator_of(&["north"]);

    let put = fixture
        .templates_bearing(&visitor)
        .put_template(put(spec()))
        .await;
    let spawned = fixture.spawns_bearing(&visitor).spawn(spawn("")).await;

    assert_eq!(put.unwrap_err().code(), Code::NotFound);
    assert_eq!(spawned.unwrap_err().code(), Code::NotFound);
    assert_eq!(fixture.count("template_version").await, 0);
}

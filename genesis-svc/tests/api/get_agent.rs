use cambium_proto::genesis::v1::GetAgentRequest;
use tonic::Code;
use uuid::Uuid;

use crate::fixture::{self, field, reason};

#[tokio::test]
async fn an_agent_is_found_by_id_and_by_name() {
    let mut fixture = fixture::start().await;
    let agent = fixture
        .enroll("ada", &["write"])
        .await
        .unwrap()
        .agent
        .unwrap();

    let by_name = fixture.ask(by_name("default", "ada")).await.unwrap();
    let by_id = fixture
        .ask(by_id("default", &agent.agent_id))
        .await
        .unwrap();

    assert_eq!(by_name, agent);
    assert_eq!(by_id, agent);
}

#[tokio::test]
async fn an_unknown_agent_is_not_found() {
    let mut fixture = fixture::start().await;
    fixture.enroll("ada", &["write"]).await.unwrap();

    for request in [
        by_name("default", "bob"),
        by_id("default", &Uuid::now_v7().to_string()),
    ] {
        let refused = fixture.ask(request).await.unwrap_err();

        assert_eq!(refused.code(), Code::NotFound);
        assert_eq!(reason(&refused), "AGENT_UNKNOWN");
    }
}

#[tokio::test]
async fn an_agent_does_not_exist_in_another_workspace() {
    let mut fixture = fixture::start().await;
    let agent = fixture
        .enroll("ada", &["write"])
        .await
        .unwrap()
        .agent
        .unwrap();

    for request in [by_name("north", "ada"), by_id("north", &agent.agent_id)] {
        let refused = fixture.ask(request).await.unwrap_err();

        assert_eq!(reason(&refused), "AGENT_UNKNOWN");
    }
}

#[tokio::test]
async fn an_agent_is_named_in_one_way() {
    let mut fixture = fixture::start().await;
    let both = GetAgentRequest {
        name: "ada".to_owned(),
        ..by_id("default", &Uuid::now_v7().to_string())
    };

    for request in [both, by_name("default", ""), by_id("default", "seven")] {
        let refused = fixture.ask(request).await.unwrap_err();

        assert_eq!(refused.code(), Code::InvalidArgument);
        assert_eq!(field(&refused), "agent_id");
    }
}

#[tokio::test]
async fn an_agent_may_look_itself_up() {
    let mut fixture = fixture::start().await;
    let reply = fixture.enroll("ada", &["write"]).await.unwrap();

    for token in [reply.agent_token, reply.worker_token] {
        let found = fixture
            .bearing(&token)
            .get_agent(by_name("default", "ada"))
            .await
            .unwrap();

        assert_eq!(found.into_inner().agent, reply.agent);
    }
}

fn by_id(workspace: &str, id: &str) -> GetAgentRequest {
    GetAgentRequest {
        workspace_id: workspace.to_owned(),
        agent_id: id.to_owned(),
        name: String::new(),
    }
}

fn by_name(workspace: &str, name: &str) -> GetAgentRequest {
    GetAgentRequest {
        workspace_id: workspace.to_owned(),
        agent_id: String::new(),
        name: name.to_owned(),
    }
}

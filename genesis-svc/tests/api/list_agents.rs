use cambium_proto::genesis::v1::{EnrollAgentRequest, ListAgentsRequest, ListAgentsResponse};
use tonic::{Code, Status};

use crate::fixture::{self, Fixture, field, request};

const NAMES: [&str; 7] = ["Zoe", "ada", "ada lovelace", "bob", "eve", "zed", "Óskar"];

#[tokio::test]
async fn pages_of_any_size_hold_each_agent_once_by_name() {
    let mut fixture = enrolled().await;

    for size in 1..=8 {
        let mut names = Vec::new();
        let mut token = String::new();
        loop {
            let page = fixture.page("default", size, &token).await.unwrap();
            assert!(page.agents.len() <= usize::try_from(size).unwrap());
            names.extend(page.agents.into_iter().map(|agent| agent.name));
            if page.next_page_token.is_empty() {
                break;
            }
            token = page.next_page_token;
        }

        assert_eq!(names, NAMES, "pages of {size}");
    }
}

#[tokio::test]
async fn a_newcomer_shifts_no_page() {
    let mut fixture = enrolled().await;
    let first = fixture.page("default", 3, "").await.unwrap();
    fixture.enroll("aaa", &[]).await.unwrap();
    fixture.enroll("yan", &[]).await.unwrap();

    let rest = fixture
        .page("default", 50, &first.next_page_token)
        .await
        .unwrap();

    let names: Vec<String> = rest.agents.into_iter().map(|agent| agent.name).collect();
    assert_eq!(names, ["bob", "eve", "yan", "zed", "Óskar"]);
}

#[tokio::test]
async fn a_page_holds_50_unless_asked() {
    let mut fixture = fixture::start().await;
    for n in 0..51 {
        fixture.enroll(&format!("agent {n:02}"), &[]).await.unwrap();
    }

    let page = fixture.page("default", 0, "").await.unwrap();

    assert_eq!(page.agents.len(), 50);
    assert!(!page.next_page_token.is_empty());
}

#[tokio::test]
async fn a_page_never_outgrows_a_reply() {
    let mut fixture = fixture::start().await;
    let capabilities: Vec<String> = (0..100)
        .map(|n| format!("{n:03}{}", "ð".repeat(125)))
        .collect();
    let capabilities: Vec<&str> = capabilities.iter().map(String::as_str).collect();
    for n in 0..180 {
        fixture
            .enroll(&format!("agent {n:03}"), &capabilities)
            .await
            .unwrap();
    }

    let first = fixture.page("default", 1_000, "").await.unwrap();
    let second = fixture
        .page("default", 1_000, &first.next_page_token)
        .await
        .unwrap();

    assert!(first.agents.len() < 180);
    assert_eq!(first.agents.len() + second.agents.len(), 180);
    assert!(second.next_page_token.is_empty());
}

#[tokio::test]
async fn a_list_ends_at_the_wall_of_its_workspace() {
    let mut fixture = enrolled().await;
    let elsewhere = EnrollAgentRequest {
        workspace_id: "north".to_owned(),
        ..request("ada", &["write"])
    };
    fixture.send(elsewhere).await.unwrap();

    let north = fixture.page("north", 0, "").await.unwrap();

    assert_eq!(north.agents.len(), 1);
    assert_eq!(north.agents[0].workspace_id, "north");
}

#[tokio::test]
async fn sizes_and_tokens_out_of_range_are_refused() {
    let mut fixture = enrolled().await;
    let foreign = fixture
        .page("default", 1, "")
        .await
        .unwrap()
        .next_page_token;
    let bad = [
        ("page_size", "default", -1, ""),
        ("page_size", "default", 1_001, ""),
        ("page_token", "default", 0, "not a token"),
        ("page_token", "north", 0, foreign.as_str()),
    ];

    for (name, workspace, size, token) in bad {
        let refused = fixture.page(workspace, size, token).await.unwrap_err();

        assert_eq!(refused.code(), Code::InvalidArgument, "{name}");
        assert_eq!(field(&refused), name);
    }
}

async fn enrolled() -> Fixture {
    let mut fixture = fixture::start().await;
    for name in ["eve", "bob", "ada", "Zoe", "zed", "Óskar", "ada lovelace"] {
        fixture.enroll(name, &["write"]).await.unwrap();
    }
    fixture
}

impl Fixture {
    async fn page(
        &mut self,
        workspace: &str,
        size: i32,
        token: &str,
    ) -> Result<ListAgentsResponse, Status> {
        let request = ListAgentsRequest {
            workspace_id: workspace.to_owned(),
            page_size: size,
            page_token: token.to_owned(),
        };
        self.client
            .list_agents(request)
            .await
            .map(tonic::Response::into_inner)
    }
}

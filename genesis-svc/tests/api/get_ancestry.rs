use cambium_proto::genesis::v1::{GetAncestryRequest, GetAncestryResponse, Kin};
use tonic::{Code, Status};
use uuid::Uuid;

use crate::fixture::{self, Fixture, put, spec};

#[tokio::test]
async fn a_line_goes_from_its_root_to_the_agent() {
    let fixture = fixture::start().await;
    fixture.put(put(spec())).await.unwrap();
    let root = fixture.spawned().await;
    let child = fixture.spawned_by(&root).await;
    let others = [
        fixture.spawned_by(&child).await,
        fixture.spawned_by(&child).await,
    ];

    let ancestry = ask(&fixture, &child).await.unwrap();

    assert_eq!(ids(&ancestry.line), [root, child]);
    assert_eq!(ids(&ancestry.children), others);
    assert_eq!(ancestry.children[0].generation, 2);
    assert_eq!(ancestry.children[0].template, "writer");
}

#[tokio::test]
async fn an_unknown_agent_has_no_line() {
    let fixture = fixture::start().await;

    let refused = ask(&fixture, &Uuid::now_v7().to_string())
        .await
        .unwrap_err();

    assert_eq!(refused.code(), Code::NotFound);
}

fn ids(kin: &[Kin]) -> Vec<String> {
    kin.iter().map(|kin| kin.agent_id.clone()).collect()
}

async fn ask(fixture: &Fixture, agent: &str) -> Result<GetAncestryResponse, Status> {
    let request = GetAncestryRequest {
        workspace_id: "default".to_owned(),
        agent_id: agent.to_owned(),
    };
    let reply = fixture.client.clone().get_ancestry(request).await?;
    Ok(reply.into_inner())
}

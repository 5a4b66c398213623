//! Who may call what.

use cambium_proto::stigmergy::v1::ReinforceMarkerRequest;
use tonic::Code;

use crate::fixture::{self, REGION, WORKSPACE, id, placing, refusal, sensing, transforming};

#[tokio::test]
async fn workers_services_and_viewers_leave_no_marks() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.5).await.unwrap();
    let before = fixture.state().await;
    let tokens = [
        fixture.keys.worker(&[fixture::agent("ada")]),
        fixture.keys.service("hypha"),
        fixture.keys.viewer(),
    ];

    for token in tokens {
        let mut client = fixture.bearing(&token);
        let place = client.place_marker(placing(REGION, "path")).await;
        let reinforce = ReinforceMarkerRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: id(),
            marker_id: placed.marker_id.clone(),
        };
        let reinforce = client.reinforce_marker(reinforce).await;
        let transform = client.transform_marker(transforming(&placed, "1")).await;

        assert_eq!(place.unwrap_err().code(), Code::PermissionDenied);
        assert_eq!(reinforce.unwrap_err().code(), Code::PermissionDenied);
        assert_eq!(transform.unwrap_err().code(), Code::PermissionDenied);
    }

    assert_eq!(fixture.state().await, before);
}

#[tokio::test]
async fn only_agents_build_on_one_another() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.5).await.unwrap();
    let before = fixture.state().await;

    let transform = fixture
        .operator()
        .transform_marker(transforming(&placed, "1"))
        .await;

    assert_eq!(transform.unwrap_err().code(), Code::PermissionDenied);
    assert_eq!(fixture.state().await, before);
}

#[tokio::test]
async fn an_agents_token_must_name_it_by_its_id() {
    let fixture = fixture::start().await;
    let mut client = fixture.bearing(&fixture.keys.agent("ada"));

    let status = client.place_marker(placing(REGION, "path")).await;

    let expected = (Code::PermissionDenied, "AGENT_ID_INVALID".to_owned());
    assert_eq!(refusal(&status.unwrap_err()), expected);
    assert_eq!(fixture.count("marker").await, 0);
}

#[tokio::test]
async fn whoever_is_of_the_house_may_look_and_other_services_may_not() {
    let fixture = fixture::start().await;
    fixture.place("ada", 0.5).await.unwrap();

    for token in [
        fixture.keys.operator(),
        fixture.keys.worker(&[fixture::agent("ada")]),
        fixture.keys.viewer(),
    ] {
        let sensed = fixture.bearing(&token).sense_markers(sensing("")).await;
        assert_eq!(sensed.unwrap().into_inner().markers.len(), 1);
    }
    let service = fixture.bearing(&fixture.keys.service("hypha"));
    let status = service.clone().sense_markers(sensing("")).await;
    assert_eq!(status.unwrap_err().code(), Code::PermissionDenied);
}

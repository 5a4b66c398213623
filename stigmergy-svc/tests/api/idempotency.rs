//! A request that is sent again.

use cambium_proto::stigmergy::v1::ReinforceMarkerRequest;
use chrono::TimeDelta;
use tonic::Code;

use crate::fixture::{self, REGION, WORKSPACE, field, id, placing, refusal, transforming};

#[tokio::test]
async fn the_same_request_gets_the_same_reply_and_is_done_once() {
    let fixture = fixture::start().await;
    let place = placing(REGION, "path");
    let placed = fixture.send("ada", place.clone()).await.unwrap();
    let marker = placed.marker.clone().unwrap();
    let reinforce = ReinforceMarkerRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        marker_id: marker.marker_id.clone(),
    };
    let mut bob = fixture.agent("bob");
    let reinforced = bob.reinforce_marker(reinforce.clone()).await.unwrap();
    let transform = transforming(&marker, "1");
    let transformed = fixture.transform_with("cleo", transform.clone()).await;
    let transformed = transformed.unwrap();
    let before = fixture.state().await;

    fixture.database.advance(TimeDelta::hours(1)).await;
    let placed_again = fixture.send("ada", place).await.unwrap();
    let reinforced_again = bob.reinforce_marker(reinforce).await.unwrap();
    let transformed_again = fixture.transform_with("cleo", transform).await;

    assert_eq!(placed_again, placed);
    assert_eq!(reinforced_again.into_inner(), reinforced.into_inner());
    assert_eq!(transformed_again.unwrap(), transformed);
    let receipts = |state: &[String]| {
        let rows = state.iter().filter(|row| row.starts_with("receipt"));
        rows.cloned().collect::<Vec<_>>()
    };
    assert_eq!(receipts(&fixture.state().await), receipts(&before));
}

#[tokio::test]
async fn the_same_request_on_another_replica_gets_the_same_reply() {
    let fixture = fixture::start().await;
    let other = fixture.replica().await;
    let place = placing(REGION, "path");
    let token = fixture.keys.agent(fixture::agent("ada"));
    let clients = [fixture.channel.clone(), other].map(|channel| {
        cambium_proto::stigmergy::v1::marker_service_client::MarkerServiceClient::new(
            cambium_testkit::with_token(channel, &token),
        )
    });

    let calls = (0..20).map(|n| {
        let (mut client, place) = (clients[n % 2].clone(), place.clone());
        async move { client.place_marker(place).await.unwrap().into_inner() }
    });
    let replies = futures::future::join_all(calls).await;

    assert!(replies.iter().all(|reply| *reply == replies[0]));
    assert_eq!(fixture.count("marker").await, 1);
    assert_eq!(fixture.count("receipt").await, 1);
}

#[tokio::test]
async fn another_body_under_the_same_id_is_refused() {
    let fixture = fixture::start().await;
    let place = placing(REGION, "path");
    fixture.send("ada", place.clone()).await.unwrap();
    let before = fixture.state().await;
    let mut other = place.clone();
    other.intensity = Some(0.6);

    let status = fixture.send("ada", other).await.unwrap_err();

    let expected = (Code::AlreadyExists, "REQUEST_ID_REUSED".to_owned());
    assert_eq!(refusal(&status), expected);
    assert_eq!(field(&status), "request_id");
    assert_eq!(fixture.state().await, before);
    // Another caller's ids are its own.
    fixture.send("bob", place).await.unwrap();
    assert_eq!(fixture.count("marker").await, 2);
}

#[tokio::test]
async fn a_refused_request_may_be_sent_again_under_its_id() {
    let fixture = fixture::start().await;
    for _ in 0..10 {
        fixture.place("ada", 0.5).await.unwrap();
    }
    let place = placing(REGION, "path");
    fixture.send("ada", place.clone()).await.unwrap_err();

    fixture.database.advance(TimeDelta::seconds(60)).await;

    fixture.send("ada", place).await.unwrap();
}

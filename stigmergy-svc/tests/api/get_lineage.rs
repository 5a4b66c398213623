//! Everything that a mark has carried.

use cambium_proto::stigmergy::v1::{
    GetLineageRequest, GetLineageResponse, Marker, PayloadVersion, PlaceMarkerRequest,
};
use cambium_testkit::wait_until;
use chrono::TimeDelta;
use std::time::Duration;
use tonic::{Code, Status};

use crate::fixture::{
    self, Fixture, REGION, WORKSPACE, agent, field, placing, refusal, time, transforming,
};

const NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// Of `1`.
const ONE: &str = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";

async fn lineage(
    fixture: &Fixture,
    marker: &Marker,
    from_depth: i32,
) -> Result<GetLineageResponse, Status> {
    let request = GetLineageRequest {
        workspace_id: WORKSPACE.to_owned(),
        marker_id: marker.marker_id.clone(),
        from_depth,
    };
    let reply = fixture.agent("reader").get_lineage(request).await?;
    Ok(reply.into_inner())
}

#[tokio::test]
async fn every_payload_is_there_with_its_author_its_time_and_its_hash() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.5).await.unwrap();
    let first = fixture
        .transform_with("bob", transforming(&placed, " 1 "))
        .await
        .unwrap();
    // A reinforcement writes nothing.
    fixture.reinforce("dan", &placed).await.unwrap();
    let second = fixture
        .transform_with("cleo", transforming(&placed, r#"{"b":2,"a":1}"#))
        .await
        .unwrap();

    let reply = lineage(&fixture, &placed, 0).await.unwrap();

    assert!(!reply.more);
    let [nothing, one, object] = reply.versions.try_into().unwrap();
    let expected = PayloadVersion {
        depth: 0,
        author: agent("ada").to_string(),
        write_time: placed.place_time,
        payload_hash: NOTHING.to_owned(),
        payload: Vec::new(),
    };
    assert_eq!(nothing, expected);
    let expected = PayloadVersion {
        depth: 1,
        author: agent("bob").to_string(),
        write_time: first.refresh_time,
        payload_hash: ONE.to_owned(),
        payload: b"1".to_vec(),
    };
    assert_eq!(one, expected);
    assert_eq!((object.depth, object.write_time), (2, second.refresh_time));
    assert_eq!(object.author, agent("cleo").to_string());
    assert_eq!(object.payload, br#"{"a":1,"b":2}"#);
}

#[tokio::test]
async fn a_long_lineage_is_read_in_parts() {
    let fixture = fixture::start().await;
    let large = |name: &str| format!("\"{name}{}\"", "x".repeat(250 * 1024));
    let request = PlaceMarkerRequest {
        payload: large("ada").into_bytes(),
        ..placing(REGION, "knowledge.pattern")
    };
    let placed = fixture.send("ada", request).await.unwrap().marker.unwrap();
    for n in 0..15 {
        let name = format!("agent-{n}");
        let request = transforming(&placed, &large(&name));
        fixture.transform_with(&name, request).await.unwrap();
    }

    let mut depths = Vec::new();
    loop {
        let from = i32::try_from(depths.len()).unwrap();
        let reply = lineage(&fixture, &placed, from).await.unwrap();
        depths.extend(reply.versions.iter().map(|version| version.depth));
        if !reply.more {
            break;
        }
    }

    assert_eq!(depths, (0..=15).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_mark_that_has_faded_keeps_its_lineage_for_an_hour() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.5).await.unwrap();
    fixture.transform("bob", &placed).await.unwrap();
    let left = time(placed.fade_time) - time(placed.place_time);
    fixture
        .database
        .advance(left + TimeDelta::minutes(10))
        .await;
    wait_until(Duration::from_secs(10), "the mark is swept", async || {
        let event =
            sqlx::query_scalar("SELECT count(*) FROM stigmergy.marker_event WHERE kind = 4");
        let count: i64 = event.fetch_one(&fixture.database.owner).await.unwrap();
        count == 1
    })
    .await;

    assert_eq!(
        lineage(&fixture, &placed, 0).await.unwrap().versions.len(),
        2
    );
    fixture.database.advance(TimeDelta::minutes(61)).await;
    wait_until(Duration::from_secs(10), "the mark is deleted", async || {
        fixture.count("marker").await == 0
    })
    .await;

    let status = lineage(&fixture, &placed, 0).await.unwrap_err();
    assert_eq!(
        refusal(&status),
        (Code::NotFound, "MARKER_NOT_FOUND".to_owned())
    );
    assert_eq!(fixture.count("payload_version").await, 0);
}

#[tokio::test]
async fn viewers_see_who_wrote_when_but_not_what() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.5).await.unwrap();
    fixture.transform("bob", &placed).await.unwrap();
    let request = GetLineageRequest {
        workspace_id: WORKSPACE.to_owned(),
        marker_id: placed.marker_id,
        from_depth: 0,
    };
    let mut viewer = fixture.bearing(&fixture.keys.viewer());

    let versions = viewer
        .get_lineage(request)
        .await
        .unwrap()
        .into_inner()
        .versions;

    assert_eq!(versions.len(), 2);
    assert!(versions.iter().all(|version| version.payload.is_empty()));
}

#[tokio::test]
async fn a_depth_below_nothing_is_refused() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.5).await.unwrap();

    let status = lineage(&fixture, &placed, -1).await.unwrap_err();

    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(field(&status), "from_depth");
}

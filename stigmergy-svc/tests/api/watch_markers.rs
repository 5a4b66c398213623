//! Watching marks: what happened, then what happens.

use std::time::Duration;

use cambium_proto::stigmergy::v1::{
    MarkerEventKind, PlaceMarkerRequest, WatchMarkersRequest, WatchMarkersResponse,
};
use chrono::TimeDelta;
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};

use crate::fixture::{
    self, Client, Fixture, REGION, WORKSPACE, agent, field, placing, refusal, time,
};

const BOUND: Duration = Duration::from_secs(10);

async fn watch(
    mut client: Client,
    region: &str,
    after_seq: i64,
) -> Result<Streaming<WatchMarkersResponse>, Status> {
    let request = WatchMarkersRequest {
        workspace_id: WORKSPACE.to_owned(),
        region: region.to_owned(),
        after_seq,
    };
    Ok(client.watch_markers(request).await?.into_inner())
}

async fn next(stream: &mut Streaming<WatchMarkersResponse>) -> WatchMarkersResponse {
    let item = timeout(BOUND, stream.message()).await.unwrap();
    item.unwrap().unwrap()
}

async fn place_in(fixture: &Fixture, region: &str) {
    let request = placing(region, "path");
    fixture.send("ada", request).await.unwrap();
}

#[tokio::test]
async fn a_watcher_sees_a_marks_whole_life() {
    let fixture = fixture::start().await;
    let request = PlaceMarkerRequest {
        payload: b"1".to_vec(),
        ..placing(REGION, "path.to")
    };
    let placed = fixture.send("ada", request).await.unwrap().marker.unwrap();
    let mut stream = watch(fixture.operator(), "repo", 0).await.unwrap();
    fixture
        .freeze_at(time(placed.refresh_time) + TimeDelta::seconds(120))
        .await;
    fixture.reinforce("bob", &placed).await.unwrap();
    let transformed = fixture.transform("cleo", &placed).await.unwrap();
    fixture
        .freeze_at(time(transformed.fade_time) + TimeDelta::seconds(5))
        .await;

    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(next(&mut stream).await);
    }

    let kinds: Vec<_> = seen.iter().map(WatchMarkersResponse::kind).collect();
    use MarkerEventKind::{Faded, Placed, Reinforced, Transformed};
    assert_eq!(kinds, [Placed, Reinforced, Transformed, Faded]);
    assert_eq!(seen.iter().map(|e| e.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let actors: Vec<&str> = seen.iter().map(|e| e.actor.as_str()).collect();
    let [ada, bob, cleo] = ["ada", "bob", "cleo"].map(|name| agent(name).to_string());
    assert_eq!(actors, [&ada, &bob, &cleo, ""]);
    let loudness: Vec<_> = seen
        .iter()
        .map(|e| (e.intensity_before, e.intensity_after))
        .collect();
    // 0.5 halves, gains 0.2, then 0.1; after its last second less than a thousandth is left.
    assert_eq!(loudness[..3], [(0.0, 0.5), (0.25, 0.45), (0.45, 0.55)]);
    assert!(loudness[3].0 < 0.001 && loudness[3].1 == 0.0);
    assert!(seen.iter().all(|e| e.marker_id == placed.marker_id));
    let depths: Vec<i32> = seen.iter().map(|e| e.transformation_depth).collect();
    assert_eq!(depths, [0, 0, 1, 1]);
    // All that `coord.marker_transformed` says.
    let one = "1 6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";
    assert_eq!(seen[2].old_payload_summary, one);
    assert!(seen[2].new_payload_summary.starts_with(r#"{"by":"cleo"} "#));
    assert_eq!(seen[2].occur_time, transformed.refresh_time);
}

#[tokio::test]
async fn a_watch_goes_on_where_it_was_left() {
    let fixture = fixture::start().await;
    for _ in 0..5 {
        fixture.place("ada", 0.5).await.unwrap();
    }

    let mut stream = watch(fixture.operator(), "", 3).await.unwrap();

    assert_eq!(next(&mut stream).await.seq, 4);
    assert_eq!(next(&mut stream).await.seq, 5);
    fixture.place("ada", 0.5).await.unwrap();
    assert_eq!(next(&mut stream).await.seq, 6);
}

#[tokio::test]
async fn a_watcher_of_a_region_sees_that_region_and_what_is_below_it() {
    let fixture = fixture::start().await;
    let mut stream = watch(fixture.operator(), "a/b", 0).await.unwrap();

    for region in ["a", "a/b", "a/bc", "a/b/c", "b", "a/b"] {
        place_in(&fixture, region).await;
    }

    for seq in [2, 4, 6] {
        assert_eq!(next(&mut stream).await.seq, seq);
    }
}

#[tokio::test]
async fn what_another_replica_did_is_seen_too() {
    let fixture = fixture::start().await;
    let other = fixture.replica().await;
    let token = fixture.keys.operator();
    let elsewhere = cambium_proto::stigmergy::v1::marker_service_client::MarkerServiceClient::new(
        cambium_testkit::with_token(other, &token),
    );
    let mut stream = watch(elsewhere, "", 0).await.unwrap();

    fixture.place("ada", 0.5).await.unwrap();

    assert_eq!(next(&mut stream).await.seq, 1);
}

#[tokio::test]
async fn a_place_that_is_no_longer_kept_is_out_of_range() {
    let fixture = fixture::start().await;
    for _ in 0..5 {
        fixture.place("ada", 0.5).await.unwrap();
    }
    sqlx::query("DELETE FROM stigmergy.marker_event WHERE seq < 4")
        .execute(&fixture.database.owner)
        .await
        .unwrap();

    let status = watch(fixture.operator(), "", 2).await.unwrap_err();

    let expected = (Code::OutOfRange, "SEQUENCE_TOO_OLD".to_owned());
    assert_eq!(refusal(&status), expected);
    assert!(status.message().contains("the lowest is 4"));
    let mut kept = watch(fixture.operator(), "", 3).await.unwrap();
    assert_eq!(next(&mut kept).await.seq, 4);
    let mut from_start = watch(fixture.operator(), "", 0).await.unwrap();
    assert_eq!(next(&mut from_start).await.seq, 4);
}

#[tokio::test]
async fn a_place_that_is_not_there_yet_is_refused() {
    let fixture = fixture::start().await;
    fixture.place("ada", 0.5).await.unwrap();

    for after_seq in [-1, 2] {
        let status = watch(fixture.operator(), "", after_seq).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(field(&status), "after_seq");
    }
}

#[tokio::test]
async fn nobody_holds_more_than_sixteen_watches() {
    let fixture = fixture::start().await;
    let mut held = Vec::new();
    for _ in 0..16 {
        held.push(watch(fixture.operator(), "", 0).await.unwrap());
    }

    let status = watch(fixture.operator(), "", 0).await.unwrap_err();

    let expected = (Code::ResourceExhausted, "TOO_MANY_WATCHES".to_owned());
    assert_eq!(refusal(&status), expected);
    watch(fixture.agent("ada"), "", 0).await.unwrap();
}

#[tokio::test]
async fn viewers_do_not_see_what_was_carried() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.5).await.unwrap();
    fixture.transform("bob", &placed).await.unwrap();
    let viewer = fixture.bearing(&fixture.keys.viewer());

    let mut stream = watch(viewer, "", 1).await.unwrap();

    let transformed = next(&mut stream).await;
    assert_eq!(transformed.kind(), MarkerEventKind::Transformed);
    assert_eq!(transformed.new_payload_summary, "");
}

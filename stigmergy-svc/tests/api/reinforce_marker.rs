//! Saying that a mark still holds.

use cambium_proto::stigmergy::v1::{PlaceMarkerRequest, ReinforceMarkerRequest};
use chrono::TimeDelta;
use tonic::Code;

use crate::fixture::{self, REGION, WORKSPACE, field, id, placing, refusal, time};

#[tokio::test]
async fn reinforcing_adds_a_fifth_to_what_is_left_and_restarts_the_clock() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.8).await.unwrap();
    let later = time(placed.refresh_time) + TimeDelta::seconds(120);
    fixture.freeze_at(later).await;

    let reinforced = fixture.reinforce("bob", &placed).await.unwrap();

    // 0.8 halves over a path's 120 s, then gains 0.2.
    assert_eq!(reinforced.intensity, 0.6);
    assert_eq!(time(reinforced.refresh_time), later);
    assert_eq!(reinforced.place_time, placed.place_time);
    assert_eq!(
        (reinforced.version, reinforced.transformation_depth),
        (2, 0)
    );
    assert_eq!(fixture.get(&placed).await.unwrap(), reinforced);
}

#[tokio::test]
async fn anybody_may_reinforce_the_placer_too_and_no_crowd_passes_the_cap() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.5).await.unwrap();

    for name in ["ada", "ada", "bob", "cleo"] {
        fixture.reinforce(name, &placed).await.unwrap();
    }
    let request = ReinforceMarkerRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        marker_id: placed.marker_id.clone(),
    };
    fixture.operator().reinforce_marker(request).await.unwrap();

    let marker = fixture.get(&placed).await.unwrap();
    assert_eq!((marker.intensity, marker.version), (0.8, 6));
}

#[tokio::test]
async fn reinforcing_keeps_what_a_mark_carries() {
    let fixture = fixture::start().await;
    let request = PlaceMarkerRequest {
        payload: br#"{"kept":true}"#.to_vec(),
        ..placing(REGION, "quality")
    };
    let placed = fixture.send("ada", request).await.unwrap().marker.unwrap();

    let reinforced = fixture.reinforce("bob", &placed).await.unwrap();

    assert_eq!(reinforced.payload, br#"{"kept":true}"#);
    assert_eq!(fixture.get(&placed).await.unwrap().payload, placed.payload);
}

#[tokio::test]
async fn a_mark_that_has_faded_or_never_was_is_not_found() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.5).await.unwrap();
    fixture.freeze_at(time(placed.fade_time)).await;
    let never = cambium_proto::stigmergy::v1::Marker {
        marker_id: id(),
        ..placed.clone()
    };
    let before = fixture.state().await;

    for marker in [&placed, &never] {
        let status = fixture.reinforce("bob", marker).await.unwrap_err();
        assert_eq!(
            refusal(&status),
            (Code::NotFound, "MARKER_NOT_FOUND".to_owned())
        );
        let status = fixture.transform("bob", marker).await.unwrap_err();
        assert_eq!(
            refusal(&status),
            (Code::NotFound, "MARKER_NOT_FOUND".to_owned())
        );
    }

    let unswept = |state: Vec<String>| {
        let rows = state.into_iter();
        // The sweeper may have noticed meanwhile that the mark is silent.
        rows.filter(|row| row.starts_with("rate") || row.starts_with("receipt"))
            .collect::<Vec<_>>()
    };
    assert_eq!(unswept(fixture.state().await), unswept(before));
}

#[tokio::test]
async fn the_last_moment_of_a_mark_is_still_its_own() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.5).await.unwrap();
    fixture
        .freeze_at(time(placed.fade_time) - TimeDelta::microseconds(1))
        .await;

    let reinforced = fixture.reinforce("bob", &placed).await.unwrap();

    assert_eq!(reinforced.intensity, 0.201);
}

#[tokio::test]
async fn a_clock_set_back_makes_nothing_louder_and_moves_nothing_back() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.5).await.unwrap();
    let refreshed = time(placed.refresh_time);
    fixture.freeze_at(refreshed - TimeDelta::hours(2)).await;

    let sensed = fixture.get(&placed).await.unwrap();
    let reinforced = fixture.reinforce("bob", &placed).await.unwrap();
    let again = fixture.reinforce("bob", &placed).await.unwrap();

    assert_eq!(sensed.current_intensity, 0.5);
    assert_eq!((reinforced.intensity, again.intensity), (0.7, 0.8));
    assert_eq!(time(again.refresh_time), refreshed);
}

#[tokio::test]
async fn what_is_no_id_is_refused() {
    let fixture = fixture::start().await;
    let request = ReinforceMarkerRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        marker_id: "here".to_owned(),
    };

    let status = fixture.agent("ada").reinforce_marker(request).await;

    let status = status.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(field(&status), "marker_id");
}

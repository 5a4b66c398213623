//! Building on another's mark.

use cambium_proto::stigmergy::v1::TransformMarkerRequest;
use chrono::TimeDelta;
use tonic::Code;

use crate::fixture::{self, agent, field, refusal, time, transforming};

#[tokio::test]
async fn a_transform_builds_on_what_has_not_decayed() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.9).await.unwrap();
    fixture
        .freeze_at(time(placed.refresh_time) + TimeDelta::seconds(120))
        .await;

    let transformed = fixture.transform("bob", &placed).await.unwrap();

    // 0.9 is held to 0.8, halves over a path's 120 s, then gains 0.1.
    assert_eq!(transformed.intensity, 0.5);
    assert_eq!(transformed.transformed_by, [agent("bob").to_string()]);
    assert_eq!(
        (transformed.version, transformed.transformation_depth),
        (2, 1)
    );
    assert_eq!(transformed.payload, br#"{"by":"bob"}"#);
    assert_eq!(transformed.placed_by, placed.placed_by);
    assert_eq!(fixture.get(&placed).await.unwrap(), transformed);
}

#[tokio::test]
async fn the_placer_may_not_transform_its_own_mark() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.4).await.unwrap();
    let before = fixture.state().await;

    let status = fixture.transform("ada", &placed).await.unwrap_err();

    let expected = (Code::FailedPrecondition, "MARKER_IS_OWN".to_owned());
    assert_eq!(refusal(&status), expected);
    assert_eq!(fixture.state().await, before);
}

#[tokio::test]
async fn nobody_transforms_a_mark_twice() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.4).await.unwrap();
    fixture.transform("bob", &placed).await.unwrap();
    fixture.transform("cleo", &placed).await.unwrap();
    let before = fixture.state().await;

    let status = fixture.transform("bob", &placed).await.unwrap_err();

    let expected = (Code::FailedPrecondition, "ALREADY_TRANSFORMED".to_owned());
    assert_eq!(refusal(&status), expected);
    assert_eq!(fixture.state().await, before);
}

#[tokio::test]
async fn a_version_that_has_moved_is_a_conflict_and_the_present_one_is_none() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.4).await.unwrap();
    fixture.reinforce("bob", &placed).await.unwrap();
    let before = fixture.state().await;
    let expecting = |expected_version| TransformMarkerRequest {
        expected_version,
        ..transforming(&placed, "1")
    };

    let moved = fixture.transform_with("bob", expecting(1)).await;

    let expected = (Code::Aborted, "MARKER_VERSION_MOVED".to_owned());
    assert_eq!(refusal(&moved.unwrap_err()), expected);
    assert_eq!(fixture.state().await, before);
    let done = fixture.transform_with("bob", expecting(2)).await.unwrap();
    assert_eq!(done.version, 3);
}

#[tokio::test]
async fn a_transform_may_take_the_payload_away() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.4).await.unwrap();
    fixture.transform("bob", &placed).await.unwrap();

    let emptied = fixture
        .transform_with("cleo", transforming(&placed, ""))
        .await
        .unwrap();

    assert!(emptied.payload.is_empty());
    assert!(fixture.get(&placed).await.unwrap().payload.is_empty());
}

#[tokio::test]
async fn what_has_no_form_is_refused_and_nothing_is_stored() {
    let fixture = fixture::start().await;
    let placed = fixture.place("ada", 0.4).await.unwrap();
    let before = fixture.state().await;
    let whole = || transforming(&placed, "1");
    let cases = [
        (
            "marker_id",
            TransformMarkerRequest {
                marker_id: String::new(),
                ..whole()
            },
        ),
        ("payload", transforming(&placed, "[1,")),
        (
            "expected_version",
            TransformMarkerRequest {
                expected_version: -1,
                ..whole()
            },
        ),
        (
            "request_id",
            TransformMarkerRequest {
                request_id: String::new(),
                ..whole()
            },
        ),
    ];

    for (name, request) in cases {
        let status = fixture.transform_with("bob", request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(field(&status), name);
    }

    let large = format!("\"{}\"", "x".repeat(256 * 1024));
    let status = fixture
        .transform_with("bob", transforming(&placed, &large))
        .await
        .unwrap_err();
    assert_eq!(refusal(&status).1, "PAYLOAD_TOO_LARGE");
    assert_eq!(fixture.state().await, before);
}

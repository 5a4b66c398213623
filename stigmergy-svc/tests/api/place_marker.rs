//! Placing a mark.

use cambium_proto::stigmergy::v1::PlaceMarkerRequest;
use chrono::TimeDelta;
use tonic::Code;

use crate::fixture::{self, REGION, WORKSPACE, agent, field, placing, refusal, sensing, time};

#[tokio::test]
async fn a_mark_is_as_loud_and_as_lasting_as_is_usual_for_its_category() {
    let fixture = fixture::start().await;

    for (kind, half_life) in [
        ("path.to", 120),
        ("resource", 60),
        ("quality.low", 300),
        ("danger.x.y", 600),
        ("opportunity", 180),
        ("knowledge.pattern", 1_800),
        ("knowledge.of-another-kind", 1_800),
    ] {
        let request = placing(REGION, kind);
        let marker = fixture.send("ada", request).await.unwrap().marker.unwrap();

        assert_eq!(marker.half_life_s, half_life, "{kind}");
        assert_eq!(marker.intensity, 0.5);
        assert_eq!(marker.current_intensity, 0.5);
        assert_eq!(marker.r#type, kind);
        assert!(kind.starts_with(&marker.category));
    }
}

#[tokio::test]
async fn the_reply_says_all_there_is_to_know() {
    let fixture = fixture::start().await;
    let request = PlaceMarkerRequest {
        intensity: Some(0.25),
        half_life_s: Some(90),
        payload: br#" {"b": 1, "a": "\u00e9"} "#.to_vec(),
        ..placing("a/b", "danger.mold")
    };

    let reply = fixture.send("ada", request).await.unwrap();

    assert!(!reply.capped && !reply.faded);
    let marker = reply.marker.unwrap();
    assert_eq!(marker.region, "a/b");
    assert_eq!(marker.placed_by, agent("ada").to_string());
    assert_eq!(marker.payload, r#"{"a":"é","b":1}"#.as_bytes());
    assert_eq!((marker.version, marker.transformation_depth), (1, 0));
    assert_eq!((marker.trust, marker.quarantined), (0.5, false));
    assert_eq!(marker.author, None);
    assert_eq!(marker.place_time, marker.refresh_time);
    // It is heard until a thousandth is left: log2(250) half-lives.
    let heard = time(marker.fade_time) - time(marker.place_time);
    assert_eq!(heard.num_milliseconds(), (250_f64.log2() * 90_000.0) as i64);
    assert_eq!(fixture.get(&marker).await.unwrap().payload, marker.payload);
}

#[tokio::test]
async fn what_is_asked_for_over_the_cap_is_stored_at_the_cap_and_said() {
    let fixture = fixture::start().await;
    let request = |intensity| PlaceMarkerRequest {
        intensity: Some(intensity),
        ..placing(REGION, "path")
    };

    let at_cap = fixture.send("ada", request(0.8)).await.unwrap();
    let over = fixture.send("ada", request(1.0)).await.unwrap();

    assert!(!at_cap.capped);
    assert!(over.capped);
    assert_eq!(over.marker.unwrap().intensity, 0.8);
}

#[tokio::test]
async fn what_is_too_quiet_to_be_heard_has_faded_as_it_was_placed_and_said() {
    let fixture = fixture::start().await;
    let request = |intensity| PlaceMarkerRequest {
        intensity: Some(intensity),
        ..placing(REGION, "path")
    };

    for intensity in [0.0, 0.0005, 0.001] {
        let reply = fixture.send("ada", request(intensity)).await.unwrap();

        assert!(reply.faded, "{intensity}");
        let marker = reply.marker.unwrap();
        assert_eq!(marker.fade_time, marker.place_time);
        let gone = fixture.get(&marker).await.unwrap_err();
        assert_eq!(
            refusal(&gone),
            (Code::NotFound, "MARKER_NOT_FOUND".to_owned())
        );
    }
    let audible = fixture.send("ada", request(0.002)).await.unwrap();
    assert!(!audible.faded);
}

#[tokio::test]
async fn what_has_no_form_is_refused_by_the_name_of_its_field_and_nothing_is_stored() {
    let fixture = fixture::start().await;
    fixture.place("ada", 0.5).await.unwrap();
    let before = fixture.state().await;

    let whole = || placing(REGION, "danger");
    let deep = ["s"; 17].join("/");
    let nested = format!("{}1{}", "[".repeat(33), "]".repeat(33));
    let payload = |text: &[u8]| PlaceMarkerRequest {
        payload: text.to_vec(),
        ..whole()
    };
    let cases = [
        ("region", placing("", "danger")),
        ("region", placing("A/b", "danger")),
        ("region", placing("a//b", "danger")),
        ("region", placing("a/b/", "danger")),
        ("region", placing(&deep, "danger")),
        ("region", placing(&"x".repeat(65), "danger")),
        ("type", placing(REGION, "")),
        ("type", placing(REGION, "gossip.x")),
        ("type", placing(REGION, "Danger")),
        ("type", placing(REGION, "danger.")),
        ("half_life_s", with_half_life(29)),
        ("half_life_s", with_half_life(2_592_001)),
        ("half_life_s", with_half_life(-1)),
        ("intensity", with_intensity(f64::NAN)),
        ("intensity", with_intensity(f64::INFINITY)),
        ("intensity", with_intensity(-0.1)),
        ("intensity", with_intensity(1.01)),
        ("payload", payload(b"{")),
        ("payload", payload(b"NaN")),
        ("payload", payload(b"\"\xff\"")),
        ("payload", payload(b"\"\\u0000\"")),
        ("payload", payload(b"\"\\ud800\"")),
        ("payload", payload(nested.as_bytes())),
        (
            "request_id",
            PlaceMarkerRequest {
                request_id: "1".to_owned(),
                ..whole()
            },
        ),
        (
            "workspace_id",
            PlaceMarkerRequest {
                workspace_id: String::new(),
                ..whole()
            },
        ),
    ];
    for (name, request) in cases {
        let status = fixture.send("ada", request.clone()).await.unwrap_err();

        assert_eq!(status.code(), Code::InvalidArgument, "{request:?}");
        assert_eq!(field(&status), name, "{request:?}");
    }

    assert_eq!(fixture.state().await, before);
}

fn with_half_life(seconds: i32) -> PlaceMarkerRequest {
    PlaceMarkerRequest {
        half_life_s: Some(seconds),
        ..placing(REGION, "danger")
    }
}

fn with_intensity(intensity: f64) -> PlaceMarkerRequest {
    PlaceMarkerRequest {
        intensity: Some(intensity),
        ..placing(REGION, "danger")
    }
}

#[tokio::test]
async fn a_payload_has_at_most_256_kib() {
    let fixture = fixture::start().await;
    let of_size = |bytes: usize| PlaceMarkerRequest {
        payload: format!("\"{}\"", "x".repeat(bytes - 2)).into_bytes(),
        ..placing(REGION, "knowledge.pattern")
    };
    let before = fixture.state().await;

    for too_large in [256 * 1024 + 1, 3 << 20] {
        let status = fixture.send("ada", of_size(too_large)).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted);
    }
    let status = fixture
        .send("ada", of_size(256 * 1024 + 1))
        .await
        .unwrap_err();
    assert_eq!(refusal(&status).1, "PAYLOAD_TOO_LARGE");
    assert_eq!(field(&status), "payload");
    assert_eq!(fixture.state().await, before);

    let placed = fixture.send("ada", of_size(256 * 1024)).await.unwrap();
    assert_eq!(placed.marker.unwrap().payload.len(), 256 * 1024);
}

#[tokio::test]
async fn a_half_life_is_from_half_a_minute_to_thirty_days() {
    let fixture = fixture::start().await;

    for seconds in [30, 2_592_000] {
        let placed = fixture.send("ada", with_half_life(seconds)).await.unwrap();

        let marker = placed.marker.unwrap();
        assert_eq!(marker.half_life_s, seconds);
        assert!(
            time(marker.fade_time) - time(marker.place_time) > TimeDelta::seconds(seconds.into())
        );
    }
}

#[tokio::test]
async fn a_person_may_leave_a_mark_too() {
    let fixture = fixture::start().await;

    let placed = fixture
        .operator()
        .place_marker(placing(REGION, "danger.wet-paint"))
        .await
        .unwrap();

    let marker = placed.into_inner().marker.unwrap();
    assert_eq!(marker.placed_by, "operator:ada");
    let sensed = fixture.sense(sensing("repo")).await.unwrap();
    assert_eq!(sensed.markers[0].placed_by, "operator:ada");
}

#[tokio::test]
async fn workspaces_do_not_see_one_another() {
    let fixture = fixture::start().await;
    let marker = fixture.place("ada", 0.5).await.unwrap();
    let elsewhere = |mut request: cambium_proto::stigmergy::v1::SenseMarkersRequest| {
        request.workspace_id = "elsewhere".to_owned();
        request
    };

    let sensed = fixture.sense(elsewhere(sensing(""))).await.unwrap();

    assert_eq!(sensed.markers, []);
    let closed = fixture.bearing(&fixture.keys.operator_of(&["elsewhere"]));
    let status = closed.clone().place_marker(placing(REGION, "path")).await;
    assert_eq!(status.unwrap_err().code(), Code::NotFound);
    assert_eq!(marker.version, 1);
    assert_eq!(WORKSPACE, "default");
}

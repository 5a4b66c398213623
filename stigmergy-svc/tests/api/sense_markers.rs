//! Sensing marks.

use cambium_proto::stigmergy::v1::{PlaceMarkerRequest, SenseMarkersRequest, SenseOrder};
use chrono::TimeDelta;
use tonic::Code;

use crate::fixture::{self, Fixture, REGION, field, ids, placing, refusal, sensing, time};

async fn place(fixture: &Fixture, region: &str, kind: &str, intensity: f64) -> String {
    let request = PlaceMarkerRequest {
        intensity: Some(intensity),
        ..placing(region, kind)
    };
    let placed = fixture.send("ada", request).await.unwrap();
    placed.marker.unwrap().marker_id
}

#[tokio::test]
async fn one_half_life_after_it_was_refreshed_half_of_a_mark_is_left() {
    let fixture = fixture::start().await;
    for (name, intensity, half_life_s) in [
        ("ada", 0.8, None),
        ("bob", 0.123_457, Some(30)),
        ("cleo", 0.5, Some(2_592_000)),
    ] {
        let request = PlaceMarkerRequest {
            intensity: Some(intensity),
            half_life_s,
            ..placing(REGION, "knowledge.pattern")
        };
        let placed = fixture.send(name, request).await.unwrap().marker.unwrap();
        let refreshed = time(placed.refresh_time);
        let half_life = TimeDelta::seconds(placed.half_life_s.into());
        fixture.freeze_at(refreshed + half_life).await;

        let sensed = fixture.sense(sensing(REGION)).await.unwrap().markers;

        let sensed = sensed
            .iter()
            .find(|marker| marker.marker_id == placed.marker_id)
            .unwrap();
        assert_eq!(sensed.intensity, placed.intensity);
        assert!((sensed.current_intensity - placed.intensity / 2.0).abs() <= 1e-6);
        // Back to the present for the next one.
        fixture.database.advance(TimeDelta::zero()).await;
    }
}

#[tokio::test]
async fn a_region_is_sensed_alone_or_with_all_below_it() {
    let fixture = fixture::start().await;
    let mut placed = Vec::new();
    for region in ["a", "a/b", "a/b/c", "a/b-c", "a/bc", "b"] {
        placed.push(place(&fixture, region, "danger", 0.5).await);
    }
    let sense = async |region: &str, below| {
        let request = SenseMarkersRequest {
            below,
            order: SenseOrder::Newest.into(),
            ..sensing(region)
        };
        let reply = fixture.sense(request).await.unwrap();
        let found = ids(&reply.markers);
        let mut found: Vec<usize> = found
            .iter()
            .map(|id| placed.iter().position(|p| p == id).unwrap())
            .collect();
        found.sort_unstable();
        found
    };

    assert_eq!(sense("a/b", false).await, [1]);
    assert_eq!(sense("a/b", true).await, [1, 2]);
    assert_eq!(sense("a", false).await, [0]);
    assert_eq!(sense("a", true).await, [0, 1, 2, 3, 4]);
    assert_eq!(sense("", true).await, [0, 1, 2, 3, 4, 5]);
    assert_eq!(sense("nowhere", true).await, [0_usize; 0]);
}

#[tokio::test]
async fn categories_types_loudness_and_payload_narrow_what_is_sensed() {
    let fixture = fixture::start().await;
    let with = |kind: &str, intensity, payload: &str| PlaceMarkerRequest {
        intensity: Some(intensity),
        payload: payload.as_bytes().to_vec(),
        ..placing(REGION, kind)
    };
    let mut placed = Vec::new();
    for request in [
        with(
            "danger.mold",
            0.7,
            r#"{"where":{"room":1},"tags":["wet","old"]}"#,
        ),
        with("danger.ice", 0.6, r#"{"where":{"room":2}}"#),
        with("path.to", 0.04, "{}"),
        with("knowledge.pattern", 0.5, ""),
    ] {
        let reply = fixture.send("ada", request).await.unwrap();
        placed.push(reply.marker.unwrap().marker_id);
    }
    let found = async |request: SenseMarkersRequest| {
        let reply = fixture.sense(request).await.unwrap();
        let found = reply.markers.iter();
        let place = |id: &String| placed.iter().position(|p| p == id).unwrap();
        found.map(|m| place(&m.marker_id)).collect::<Vec<_>>()
    };
    let strings = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();

    assert_eq!(found(sensing("repo")).await, [0, 1, 3]);
    let quiet = SenseMarkersRequest {
        min_intensity: Some(0.0),
        ..sensing("repo")
    };
    assert_eq!(found(quiet).await, [0, 1, 3, 2]);
    let loud = SenseMarkersRequest {
        min_intensity: Some(0.65),
        ..sensing("repo")
    };
    assert_eq!(found(loud).await, [0]);
    let categories = SenseMarkersRequest {
        categories: strings(&["danger", "path"]),
        ..sensing("repo")
    };
    assert_eq!(found(categories).await, [0, 1]);
    let types = SenseMarkersRequest {
        types: strings(&["danger.ice", "knowledge.pattern"]),
        ..sensing("repo")
    };
    assert_eq!(found(types).await, [1, 3]);
    for (filter, expected) in [
        (r#"{"where":{"room":2}}"#, vec![1]),
        (r#"{"where":{}}"#, vec![0, 1]),
        (r#"{"tags":["old"]}"#, vec![0]),
        ("{}", vec![0, 1]),
        (r#"{"tags":["new"]}"#, vec![]),
    ] {
        let request = SenseMarkersRequest {
            payload_filter: filter.as_bytes().to_vec(),
            ..sensing("repo")
        };
        assert_eq!(found(request).await, expected, "{filter}");
    }
}

#[tokio::test]
async fn the_strongest_now_come_first_or_the_newest() {
    let fixture = fixture::start().await;
    let fading = PlaceMarkerRequest {
        intensity: Some(0.8),
        half_life_s: Some(30),
        ..placing(REGION, "path")
    };
    let fading = fixture.send("ada", fading).await.unwrap().marker.unwrap();
    let lasting = PlaceMarkerRequest {
        intensity: Some(0.5),
        half_life_s: Some(3_600),
        ..placing(REGION, "path")
    };
    let lasting = fixture.send("ada", lasting).await.unwrap().marker.unwrap();
    fixture.database.advance(TimeDelta::seconds(60)).await;
    let newest = fixture.place("ada", 0.3).await.unwrap();

    let strongest = fixture.sense(sensing(REGION)).await.unwrap().markers;
    let by_age = SenseMarkersRequest {
        order: SenseOrder::Newest.into(),
        ..sensing(REGION)
    };
    let by_age = fixture.sense(by_age).await.unwrap().markers;

    // 0.8 has halved twice, to 0.2.
    let [fading, lasting, newest] = [fading, lasting, newest].map(|m| m.marker_id);
    assert_eq!(ids(&strongest), [&lasting, &newest, &fading]);
    assert_eq!(ids(&by_age), [&newest, &lasting, &fading]);
}

#[tokio::test]
async fn more_marks_than_the_limit_are_said_to_be_there() {
    let fixture = fixture::start().await;
    for _ in 0..4 {
        fixture.place("ada", 0.5).await.unwrap();
    }
    let limited = |limit| SenseMarkersRequest {
        limit,
        ..sensing(REGION)
    };

    let part = fixture.sense(limited(3)).await.unwrap();
    let whole = fixture.sense(limited(4)).await.unwrap();

    assert_eq!((part.markers.len(), part.more), (3, true));
    assert_eq!((whole.markers.len(), whole.more), (4, false));
}

#[tokio::test]
async fn a_reply_holds_no_more_than_a_client_takes() {
    let fixture = fixture::start().await;
    let large = format!("\"{}\"", "x".repeat(250 * 1024));
    for name in ["ada", "bob"] {
        for _ in 0..8 {
            let request = PlaceMarkerRequest {
                payload: large.clone().into_bytes(),
                ..placing(REGION, "knowledge.pattern")
            };
            fixture.send(name, request).await.unwrap();
        }
    }

    let sensed = fixture.sense(sensing(REGION)).await.unwrap();

    assert!(sensed.more);
    assert_eq!(sensed.markers.len(), 12);
}

#[tokio::test]
async fn what_has_no_form_is_refused() {
    let fixture = fixture::start().await;
    let cases = [
        (
            "limit",
            SenseMarkersRequest {
                limit: 501,
                ..sensing("")
            },
        ),
        (
            "limit",
            SenseMarkersRequest {
                limit: -1,
                ..sensing("")
            },
        ),
        ("region", sensing("A")),
        (
            "region",
            SenseMarkersRequest {
                below: false,
                ..sensing("")
            },
        ),
        (
            "categories",
            SenseMarkersRequest {
                categories: vec!["gossip".to_owned()],
                ..sensing("")
            },
        ),
        (
            "types",
            SenseMarkersRequest {
                types: vec!["gossip.x".to_owned()],
                ..sensing("")
            },
        ),
        (
            "min_intensity",
            SenseMarkersRequest {
                min_intensity: Some(f64::NAN),
                ..sensing("")
            },
        ),
        (
            "min_intensity",
            SenseMarkersRequest {
                min_intensity: Some(0.9),
                ..sensing("")
            },
        ),
        (
            "payload_filter",
            SenseMarkersRequest {
                payload_filter: b"{".to_vec(),
                ..sensing("")
            },
        ),
        (
            "order",
            SenseMarkersRequest {
                order: 9,
                ..sensing("")
            },
        ),
    ];

    for (name, request) in cases {
        let status = fixture.sense(request.clone()).await.unwrap_err();

        assert_eq!(status.code(), Code::InvalidArgument, "{request:?}");
        assert_eq!(field(&status), name, "{request:?}");
    }
    let most = SenseMarkersRequest {
        limit: 500,
        ..sensing("")
    };
    fixture.sense(most).await.unwrap();
}

#[tokio::test]
async fn viewers_see_marks_but_not_what_they_carry_nor_may_they_search_it() {
    let fixture = fixture::start().await;
    let request = PlaceMarkerRequest {
        payload: b"{\"secret\":1}".to_vec(),
        ..placing(REGION, "danger")
    };
    fixture.send("ada", request).await.unwrap();
    let mut viewer = fixture.bearing(&fixture.keys.viewer());

    let seen = viewer
        .sense_markers(sensing(""))
        .await
        .unwrap()
        .into_inner();
    let search = SenseMarkersRequest {
        payload_filter: b"{\"secret\":1}".to_vec(),
        ..sensing("")
    };
    let refused = viewer.sense_markers(search).await.unwrap_err();

    assert_eq!(seen.markers.len(), 1);
    assert!(seen.markers[0].payload.is_empty());
    let expected = (Code::PermissionDenied, "PAYLOAD_HIDDEN".to_owned());
    assert_eq!(refusal(&refused), expected);
}

#[tokio::test]
async fn looking_changes_nothing() {
    let fixture = fixture::start().await;
    fixture.place("ada", 0.5).await.unwrap();
    let before = fixture.state().await;

    for _ in 0..5 {
        fixture.sense(sensing("")).await.unwrap();
    }

    assert_eq!(fixture.state().await, before);
}

/// The database filters and sorts by its own copy of the law.
#[tokio::test]
async fn the_database_and_the_domain_know_the_same_law() {
    use cambium_stigmergy::{HalfLife, Intensity, decay};

    let fixture = fixture::start().await;
    for intensity in [0, 1, 999, 1_001, 123_456, 800_000] {
        for half_life in [30, 61, 1_800, 2_592_000] {
            for micros in [
                -7_200_000_000_i64,
                0,
                1,
                29_999_999,
                1_800_000_000,
                25_920_000_000_000,
            ] {
                let stored: i32 = sqlx::query_scalar(
                    "SELECT round(stigmergy.decayed($1, $2, $3 * interval '1 microsecond'))::int",
                )
                .bind(intensity)
                .bind(half_life)
                .bind(micros)
                .fetch_one(&fixture.database.pool)
                .await
                .unwrap();

                let law = decay(
                    Intensity::from_millionths(intensity).unwrap(),
                    HalfLife::from_seconds(half_life).unwrap(),
                    TimeDelta::microseconds(micros),
                );
                assert!(
                    stored.abs_diff(law.as_millionths()) <= 1,
                    "{intensity} {half_life} {micros}: {stored}, {law:?}"
                );
            }
        }
    }
}

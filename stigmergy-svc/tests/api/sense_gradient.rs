//! What an agent follows: of each region right below, the strongest mark and the sums.

use cambium_proto::stigmergy::v1::{
    CategorySum, PlaceMarkerRequest, SenseGradientRequest, SenseGradientResponse,
};
use tonic::Code;

use crate::fixture::{self, Fixture, WORKSPACE, field, placing};

async fn gradient(fixture: &Fixture, region: &str) -> SenseGradientResponse {
    let request = SenseGradientRequest {
        workspace_id: WORKSPACE.to_owned(),
        region: region.to_owned(),
        include_quarantined: false,
    };
    let reply = fixture.agent("reader").sense_gradient(request).await;
    reply.unwrap().into_inner()
}

async fn place(fixture: &Fixture, name: &str, region: &str, kind: &str, intensity: f64) -> String {
    let request = PlaceMarkerRequest {
        intensity: Some(intensity),
        half_life_s: Some(2_592_000), // so that it does not fade while the test looks
        payload: b"1".to_vec(),
        ..placing(region, kind)
    };
    let placed = fixture.send(name, request).await.unwrap();
    placed.marker.unwrap().marker_id
}

fn sum(category: &str, intensity: f64, markers: i64) -> CategorySum {
    CategorySum {
        category: category.to_owned(),
        intensity,
        markers,
    }
}

#[tokio::test]
async fn each_child_has_its_strongest_mark_and_its_sums_and_what_is_below_counts() {
    let fixture = fixture::start().await;
    place(&fixture, "ada", "a", "danger", 0.8).await;
    place(&fixture, "ada", "a/x", "danger", 0.2).await;
    let deep = place(&fixture, "ada", "a/x/y/z", "danger.mold", 0.3).await;
    place(&fixture, "ada", "a/x", "path", 0.1).await;
    let other = place(&fixture, "ada", "a/w", "quality", 0.8).await;
    place(&fixture, "ada", "a-x/q", "quality", 0.7).await;

    let below = gradient(&fixture, "a").await;
    let top = gradient(&fixture, "").await;

    let names = |reply: &SenseGradientResponse| {
        let regions = reply.regions.iter();
        regions.map(|r| r.region.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&below), ["a/w", "a/x"]);
    assert_eq!(names(&top), ["a", "a-x"]);
    assert!(!below.more);
    let [w, x] = below.regions.try_into().unwrap();
    assert_eq!(w.strongest.unwrap().marker_id, other);
    assert_eq!(w.sums, [sum("quality", 0.8, 1)]);
    let strongest = x.strongest.unwrap();
    assert_eq!((strongest.marker_id, strongest.payload), (deep, Vec::new()));
    assert_eq!(x.sums, [sum("danger", 0.5, 2), sum("path", 0.1, 1)]);
}

#[tokio::test]
async fn what_a_quarantined_agent_left_leads_nobody() {
    let fixture = fixture::start().await;
    place(&fixture, "ada", "a/x", "danger", 0.2).await;
    place(&fixture, "bob", "a/x", "danger", 0.8).await;
    place(&fixture, "bob", "a/y", "danger", 0.8).await;
    fixture.judge("bob", 1, true).await;

    let shown = gradient(&fixture, "a").await;
    let request = SenseGradientRequest {
        workspace_id: WORKSPACE.to_owned(),
        region: "a".to_owned(),
        include_quarantined: true,
    };
    let all = fixture.operator().sense_gradient(request).await.unwrap();

    let [x] = shown.regions.try_into().unwrap();
    assert_eq!(x.sums, [sum("danger", 0.2, 1)]);
    let all = all.into_inner().regions;
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].sums, [sum("danger", 1.0, 2)]);
    assert!(all[0].strongest.as_ref().unwrap().quarantined);
}

#[tokio::test]
async fn where_nothing_is_there_is_no_gradient_and_a_bad_region_is_refused() {
    let fixture = fixture::start().await;

    assert_eq!(gradient(&fixture, "a").await.regions, []);
    let request = SenseGradientRequest {
        workspace_id: WORKSPACE.to_owned(),
        region: "a//b".to_owned(),
        include_quarantined: false,
    };
    let status = fixture
        .operator()
        .sense_gradient(request)
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(field(&status), "region");
}

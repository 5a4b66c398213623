//! Many at once, over two replicas: nothing is lost, and nothing is allowed twice.

use std::collections::BTreeSet;

use cambium_proto::stigmergy::v1::marker_service_client::MarkerServiceClient;
use cambium_proto::stigmergy::v1::{Marker, ReinforceMarkerRequest, SenseMarkersRequest};
use cambium_testkit::with_token;
use futures::future::join_all;
use tonic::Code;
use tonic::transport::Channel;

use crate::fixture::{
    self, Client, Fixture, REGION, WORKSPACE, agent, id, placing, refusal, sensing, transforming,
};

fn client(fixture: &Fixture, channel: &Channel, name: &str) -> Client {
    let token = fixture.keys.agent(agent(name));
    MarkerServiceClient::new(with_token(channel.clone(), &token))
}

fn depth_of(marker: &Marker) -> i32 {
    marker.transformation_depth
}

#[tokio::test(flavor = "multi_thread")]
async fn of_forty_callers_over_two_replicas_exactly_ten_pass_in_a_minute() {
    let fixture = fixture::start().await;
    let channels = [fixture.channel.clone(), fixture.replica().await];
    let placed = fixture.place("bob", 0.5).await.unwrap();

    let calls = (0..40).map(|n| {
        let mut client = client(&fixture, &channels[n % 2], "ada");
        let reinforce = ReinforceMarkerRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: id(),
            marker_id: placed.marker_id.clone(),
        };
        let transform = transforming(&placed, "1");
        async move {
            match n % 3 {
                0 => client.place_marker(placing(REGION, "path")).await.map(drop),
                1 => client.reinforce_marker(reinforce).await.map(drop),
                // Only one of these can be the first; the others are refused for that.
                _ if n == 2 => client.transform_marker(transform).await.map(drop),
                _ => client
                    .place_marker(placing(REGION, "danger"))
                    .await
                    .map(drop),
            }
        }
    });
    let results = join_all(calls).await;

    let passed = results.iter().filter(|result| result.is_ok()).count();
    assert_eq!(passed, 10);
    for status in results.iter().filter_map(|result| result.as_ref().err()) {
        let expected = (Code::ResourceExhausted, "RATE_LIMITED".to_owned());
        assert_eq!(refusal(status), expected);
    }
    assert_eq!(fixture.count("marker_event").await, 11);
    assert_eq!(fixture.count("receipt").await, 11);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_agents_transform_one_mark_at_once_and_none_is_lost() {
    let fixture = fixture::start().await;
    let channels = [fixture.channel.clone(), fixture.replica().await];
    let placed = fixture.place("ada", 0.5).await.unwrap();

    let calls = (0..50).map(|n| {
        let mut client = client(&fixture, &channels[n % 2], &format!("agent-{n}"));
        let request = transforming(&placed, &n.to_string());
        async move { client.transform_marker(request).await.unwrap() }
    });
    let replies: Vec<Marker> = join_all(calls)
        .await
        .into_iter()
        .map(|reply| reply.into_inner().marker.unwrap())
        .collect();

    let marker = fixture.get(&placed).await.unwrap();
    assert_eq!((marker.transformation_depth, marker.version), (50, 51));
    assert_eq!(marker.intensity, 0.8);
    let lineage: BTreeSet<&String> = marker.transformed_by.iter().collect();
    assert_eq!(lineage.len(), 50);
    let depths: BTreeSet<i32> = replies.iter().map(depth_of).collect();
    assert_eq!(depths, (1..=50).collect());
    assert_eq!(fixture.count("payload_version").await, 50);
    // Each depth's author is the one who was told that depth.
    for (name, reply) in (0..50).map(|n| format!("agent-{n}")).zip(&replies) {
        let place = usize::try_from(reply.transformation_depth).unwrap() - 1;
        assert_eq!(marker.transformed_by[place], agent(&name).to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_numbered_without_gaps_whoever_writes_them() {
    let fixture = fixture::start().await;
    let channels = [fixture.channel.clone(), fixture.replica().await];

    let calls = (0..120).map(|n| {
        let mut client = client(&fixture, &channels[n % 2], &format!("agent-{n}"));
        let mut request = placing(&format!("a/r{}", n % 7), "danger");
        if n % 3 == 0 {
            request.workspace_id = "other".to_owned();
        }
        async move { client.place_marker(request).await.unwrap() }
    });
    join_all(calls).await;

    for (workspace, expected) in [("default", 80), ("other", 40)] {
        let seqs: Vec<i64> = sqlx::query_scalar(
            "SELECT seq FROM stigmergy.marker_event WHERE workspace_id = $1 ORDER BY seq",
        )
        .bind(workspace)
        .fetch_all(&fixture.database.owner)
        .await
        .unwrap();
        assert_eq!(seqs, (1..=expected).collect::<Vec<i64>>());
    }
    let all = SenseMarkersRequest {
        limit: 500,
        ..sensing("")
    };
    assert_eq!(fixture.sense(all).await.unwrap().markers.len(), 80);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_call_fails_none_of_those_that_share_its_transaction() {
    let fixture = fixture::start().await;
    let own = fixture.place("ada", 0.5).await.unwrap();

    let calls = (0..60).map(|n| {
        let name = format!("agent-{n}");
        let mut good = client(&fixture, &fixture.channel, &name);
        let mut bad = client(&fixture, &fixture.channel, "ada");
        let request = transforming(&own, "1");
        async move {
            if n % 2 == 0 {
                good.place_marker(placing(REGION, "path")).await.map(drop)
            } else {
                bad.transform_marker(request).await.map(drop)
            }
        }
    });
    let results = join_all(calls).await;

    for (n, result) in results.into_iter().enumerate() {
        match result {
            Ok(()) => assert_eq!(n % 2, 0),
            Err(status) => assert_eq!(refusal(&status).1, "MARKER_IS_OWN"),
        }
    }
    assert_eq!(fixture.count("marker").await, 31);
}

/// A batch that the database itself refuses is tried call by call.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_the_database_refuses_fails_alone() {
    let fixture = fixture::start().await;
    sqlx::query(
        "ALTER TABLE stigmergy.marker ADD CONSTRAINT no_such_place CHECK (region <> 'cursed')",
    )
    .execute(&fixture.database.owner)
    .await
    .unwrap();

    let calls = (0..40).map(|n| {
        let mut client = client(&fixture, &fixture.channel, &format!("agent-{n}"));
        let region = if n == 20 { "cursed" } else { "a" };
        async move { client.place_marker(placing(region, "path")).await }
    });
    let results = join_all(calls).await;

    for (n, result) in results.into_iter().enumerate() {
        let code = result.map_or_else(|status| status.code(), |_| Code::Ok);
        assert_eq!(code, if n == 20 { Code::Internal } else { Code::Ok }, "{n}");
    }
    assert_eq!(fixture.count("marker").await, 39);
    assert_eq!(fixture.count("receipt").await, 39);
}

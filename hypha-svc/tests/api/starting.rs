//! Starting runs: once per key, whatever is repeated.

use std::collections::BTreeSet;

use bytes::Bytes;
use cambium_proto::hypha::v1::{
    GetRunRequest, InitialSignal, ListRunsRequest, ParkRequest, RunState, StartRunRequest,
};
use tonic::Code;

use crate::fixture::{WORKSPACE, graph, reason, refusal, start};

fn wish(key: &str, graph: &str, input: &str) -> StartRunRequest {
    StartRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_key: key.to_owned(),
        graph: graph.to_owned(),
        version: 0,
        input: Bytes::from(input.to_owned()),
        ..StartRunRequest::default()
    }
}

#[tokio::test]
async fn fifty_starts_under_one_key_are_one_run() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    fixture.put(graph("g", &["a"], &[])).await.unwrap();
    let starts = (0..50).map(|_| {
        let mut runs = fixture.runs.clone();
        async move {
            runs.start_run(wish("K", "g", "1"))
                .await
                .unwrap()
                .into_inner()
                .run_id
        }
    });

    let ids: BTreeSet<String> = futures::future::join_all(starts)
        .await
        .into_iter()
        .collect();
    let again = fixture
        .runs
        .clone()
        .start_run(wish("K", "g", "1"))
        .await
        .unwrap();
    let other = fixture
        .runs
        .clone()
        .start_run(wish("K", "g", "2"))
        .await
        .unwrap_err();

    assert_eq!(ids.len(), 1);
    assert!(ids.contains(&again.into_inner().run_id));
    assert_eq!(
        refusal(&other),
        (Code::AlreadyExists, "KEY_TAKEN".to_owned())
    );
    assert!(other.message().contains("used with other input"));
    worker.take_node("a").await;
    assert!(worker.finds_nothing().await, "one run has one task");
}

#[tokio::test]
async fn a_run_is_found_by_its_key() {
    let fixture = start().await;
    fixture.put(graph("g", &["a"], &[])).await.unwrap();
    let started = fixture
        .runs
        .clone()
        .start_run(wish("K", "g", ""))
        .await
        .unwrap()
        .into_inner();
    let by_key = |key: &str| GetRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        run_id: String::new(),
        request_key: key.to_owned(),
    };

    let found = fixture
        .runs
        .clone()
        .get_run(by_key("K"))
        .await
        .unwrap()
        .into_inner();
    let absent = fixture.runs.clone().get_run(by_key("L")).await.unwrap_err();

    assert_eq!(found.run.unwrap().run_id, started.run_id);
    assert_eq!(
        refusal(&absent),
        (Code::NotFound, "RUN_NOT_FOUND".to_owned())
    );
}

#[tokio::test]
async fn a_bad_start_names_its_field_and_starts_nothing() {
    let fixture = start().await;
    fixture.put(graph("g", &["a"], &[])).await.unwrap();
    let big = format!("\"{}\"", "x".repeat(1 << 20));
    let cases = [
        (wish("", "g", "1"), Code::InvalidArgument),
        (wish("k\u{7}", "g", "1"), Code::InvalidArgument),
        (wish("k", "", "1"), Code::InvalidArgument),
        (wish("k", "absent", "1"), Code::NotFound),
        (
            StartRunRequest {
                version: 9,
                ..wish("k", "g", "1")
            },
            Code::NotFound,
        ),
        (wish("k", "g", "{"), Code::InvalidArgument),
        (wish("k", "g", r#""\u0000""#), Code::InvalidArgument),
        (wish("k", "g", &big), Code::ResourceExhausted),
    ];

    for (request, code) in cases {
        let status = fixture.runs.clone().start_run(request).await.unwrap_err();
        assert_eq!(status.code(), code, "{}", status.message());
        assert!(!reason(&status).is_empty());
    }

    let list = ListRunsRequest {
        workspace_id: WORKSPACE.to_owned(),
        ..ListRunsRequest::default()
    };
    let reply = fixture.runs.clone().list_runs(list).await.unwrap();
    assert!(reply.into_inner().runs.is_empty());
}

#[tokio::test]
async fn a_signal_that_comes_with_the_start_is_never_lost() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    fixture.put(graph("g", &["a"], &[])).await.unwrap();
    let mut request = wish("K", "g", "");
    request.signals.push(InitialSignal {
        name: "go".to_owned(),
        payload: Bytes::from_static(b"1"),
    });
    let run = fixture
        .runs
        .clone()
        .start_run(request)
        .await
        .unwrap()
        .into_inner()
        .run_id;
    let attempt = worker.take_node("a").await;
    let park = ParkRequest {
        registration_id: worker.registration.clone(),
        lease: attempt.lease.clone(),
        signal: "go".to_owned(),
        until: None,
        checkpoint: Bytes::new(),
    };

    worker.client.park(park).await.unwrap();
    let resumed = worker.take_node("a").await;

    assert_eq!(&resumed.resumption.clone().unwrap().payload[..], b"1");
    worker.complete(&resumed).await.unwrap();
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn a_run_keeps_its_version_whatever_is_put_later() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    fixture.put(graph("g", &["z"], &[])).await.unwrap();

    worker.work(&[]).await;

    assert_eq!(fixture.states(&run).await.len(), 2);
    let version = fixture.run(&run).await.graph.unwrap();
    assert_eq!((version.version, version.nodes), (1, 2));
}

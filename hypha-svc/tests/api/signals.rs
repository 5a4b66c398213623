//! Signals sent to a key before its run exists.

use bytes::Bytes;
use cambium_proto::hypha::v1::{ParkRequest, RunState, SignalRunRequest, StartRunRequest};
use tonic::Code;

use crate::fixture::{WORKSPACE, graph, id, refusal, start};

fn signal(key: &str) -> SignalRunRequest {
    SignalRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: String::new(),
        request_key: key.to_owned(),
        name: "go".to_owned(),
        payload: Bytes::from_static(b"1"),
    }
}

#[tokio::test]
async fn a_signal_to_a_key_waits_for_its_run() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let version = fixture.put(graph("g", &["a"], &[])).await.unwrap();
    let mut runs = fixture.runs.clone();
    runs.signal_run(signal("K")).await.unwrap();
    let start = StartRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_key: "K".to_owned(),
        graph: version.name,
        ..StartRunRequest::default()
    };
    let run = runs.start_run(start).await.unwrap().into_inner().run_id;
    let attempt = worker.take_node("a").await;
    let park = ParkRequest {
        registration_id: worker.registration.clone(),
        lease: attempt.lease,
        signal: "go".to_owned(),
        until: None,
        checkpoint: Bytes::new(),
    };

    worker.client.park(park).await.unwrap();
    let resumed = worker.take_node("a").await;
    worker.complete(&resumed).await.unwrap();

    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
    let late = runs.signal_run(signal("K")).await.unwrap_err();
    assert_eq!(
        refusal(&late),
        (Code::FailedPrecondition, "RUN_ENDED".to_owned())
    );
}

#[tokio::test]
async fn a_key_without_a_run_holds_a_hundred_signals() {
    let fixture = start().await;
    let mut runs = fixture.runs.clone();
    for _ in 0..100 {
        runs.signal_run(signal("K")).await.unwrap();
    }

    let status = runs.signal_run(signal("K")).await.unwrap_err();

    assert_eq!(
        refusal(&status),
        (Code::ResourceExhausted, "TOO_MANY_SIGNALS".to_owned())
    );
    runs.signal_run(signal("L")).await.unwrap();
}

//! Runs that a task's agent starts: they belong to the task's run, and are stopped with it.

use std::time::Duration;

use bytes::Bytes;
use cambium_proto::hypha::v1::run_service_client::RunServiceClient;
use cambium_proto::hypha::v1::{
    Attempt, CancelRunRequest, LeaseState, RunState, StartRunRequest, StartRunResponse, TaskState,
};
use cambium_testkit::wait_until;
use chrono::TimeDelta;
use tonic::{Code, Status};

use crate::fixture::{Fixture, WORKSPACE, Worker, graph, id, refusal, start};

pub(crate) async fn start_as(
    fixture: &Fixture,
    token: &str,
    key: &str,
    graph: &str,
) -> Result<StartRunResponse, Status> {
    let request = StartRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_key: key.to_owned(),
        graph: graph.to_owned(),
        input: Bytes::from_static(b"null"),
        ..StartRunRequest::default()
    };
    let mut runs = RunServiceClient::new(fixture.as_token(token));
    Ok(runs.start_run(request).await?.into_inner())
}

async fn cancel(fixture: &Fixture, run: &str) {
    let request = CancelRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.to_owned(),
        ..CancelRunRequest::default()
    };
    fixture.runs.clone().cancel_run(request).await.unwrap();
}

async fn ends(fixture: &Fixture, run: &str) {
    wait_until(Duration::from_secs(10), "the run ends", async || {
        fixture.state(run).await > RunState::Cancelling
    })
    .await;
}

/// A run whose task T is held by the worker, and the token of its agent.
async fn holding(fixture: &Fixture, worker: &mut Worker) -> (String, Attempt, String) {
    fixture.put(graph("child", &["C"], &[])).await.unwrap();
    let run = fixture.start(graph("parent", &["T"], &[])).await;
    let attempt = worker.take_node("T").await;
    let token = worker.token(&attempt).await.unwrap();
    (run, attempt, token)
}

#[tokio::test]
async fn a_run_started_for_an_attempt_names_its_parent_and_is_one_however_often_it_is_asked_for() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let (run, attempt, token) = holding(&fixture, &mut worker).await;

    let child = start_as(&fixture, &token, "k", "child").await.unwrap();
    let again = start_as(&fixture, &token, "k", "child").await.unwrap();

    assert_eq!(child, again);
    let child = fixture.run(&child.run_id).await;
    assert_eq!(child.parent_run_id, run);
    assert_eq!(child.parent_task_id, format!("{run}/T"));
    let task = worker.take_node("C").await;
    worker.complete(&task).await.unwrap();
    worker.complete(&attempt).await.unwrap();
    assert_eq!(fixture.state(&child.run_id).await, RunState::Succeeded);
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn children_and_their_children_are_cancelled_with_their_parent() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let (run, _, token_of_t) = holding(&fixture, &mut worker).await;
    let child = start_as(&fixture, &token_of_t, "c", "child")
        .await
        .unwrap()
        .run_id;
    let task = worker.take_node("C").await;
    let token_of_c = worker.token(&task).await.unwrap();
    let grandchild = start_as(&fixture, &token_of_c, "g", "child")
        .await
        .unwrap()
        .run_id;

    cancel(&fixture, &run).await;
    ends(&fixture, &grandchild).await;

    assert_eq!(fixture.state(&grandchild).await, RunState::Cancelled);
    assert_eq!(
        fixture.state(&child).await,
        RunState::Cancelling,
        "its task still runs"
    );
    assert_eq!(worker.heartbeat(&task).await, LeaseState::Cancel);
    worker.fail(&task, "CANCELLED", false).await.unwrap();
    assert_eq!(fixture.state(&child).await, RunState::Cancelled);
}

#[tokio::test]
async fn who_lost_the_lease_or_whose_run_is_closing_starts_nothing() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let (run, _, token) = holding(&fixture, &mut worker).await;
    let known = start_as(&fixture, &token, "before", "child").await.unwrap();
    cancel(&fixture, &run).await;

    let closing = start_as(&fixture, &token, "closing", "child")
        .await
        .unwrap_err();
    fixture.advance(TimeDelta::seconds(31)).await;
    ends(&fixture, &run).await;
    let over = start_as(&fixture, &token, "over", "child")
        .await
        .unwrap_err();
    let repeated = start_as(&fixture, &token, "before", "child").await.unwrap();

    for refused in [&closing, &over] {
        let expected = (Code::FailedPrecondition, "RUN_ENDED".to_owned());
        assert_eq!(refusal(refused), expected);
    }
    assert_eq!(
        repeated, known,
        "what was started before is answered as it was"
    );
}

#[tokio::test]
async fn a_token_of_a_lease_that_ran_out_starts_nothing() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let (run, attempt, old) = holding(&fixture, &mut worker).await;
    fixture.advance(TimeDelta::seconds(11)).await;
    wait_until(
        Duration::from_secs(10),
        "the lease is taken back",
        async || fixture.states(&run).await["T"] == TaskState::Ready,
    )
    .await;

    let refused = start_as(&fixture, &old, "k", "child").await.unwrap_err();
    let no_token = worker.token(&attempt).await.unwrap_err();

    for refused in [&refused, &no_token] {
        assert_eq!(refusal(refused), (Code::Aborted, "LEASE_LOST".to_owned()));
    }
}

#[tokio::test]
async fn nobody_mints_a_token_for_anothers_lease() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut thief = fixture.worker("thief", &[]).await;
    let (_, attempt, _) = holding(&fixture, &mut worker).await;

    let refused = thief.token(&attempt).await.unwrap_err();

    let expected = (Code::PermissionDenied, "LEASE_NOT_YOURS".to_owned());
    assert_eq!(refusal(&refused), expected);
}

#[tokio::test]
async fn a_child_whose_parent_fails_fast_is_stopped_too() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    fixture.put(graph("child", &["C"], &[])).await.unwrap();
    let run = fixture.start(graph("parent", &["T", "U"], &[])).await;
    let (mut first, mut second) = (worker.take().await, worker.take().await);
    if first.node == "U" {
        std::mem::swap(&mut first, &mut second);
    }
    let token = worker.token(&first).await.unwrap();
    let child = start_as(&fixture, &token, "k", "child")
        .await
        .unwrap()
        .run_id;

    worker.fail(&second, "BROKEN", false).await.unwrap();
    ends(&fixture, &child).await;

    assert_eq!(fixture.state(&child).await, RunState::Cancelled);
    assert_eq!(worker.heartbeat(&first).await, LeaseState::Cancel);
    worker.fail(&first, "CANCELLED", false).await.unwrap();
    assert_eq!(fixture.state(&run).await, RunState::Failed);
}

//! Runs that end early, or stand still for a while.

use std::time::Duration;

use cambium_proto::hypha::v1::{
    CancelRunRequest, LeaseState, PauseRunRequest, ResumeRunRequest, Retry, RunState, TaskState,
};
use cambium_testkit::wait_until;
use chrono::TimeDelta;
use tonic::Code;

use crate::fixture::{Fixture, WORKSPACE, change, graph, id, refusal, start};

fn cancel(run: &str) -> CancelRunRequest {
    CancelRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.to_owned(),
        reason: "no longer needed".to_owned(),
        grace_ms: Some(5_000),
        ..CancelRunRequest::default()
    }
}

async fn ended(fixture: &Fixture, run: &str) {
    wait_until(Duration::from_secs(10), "the run ends", async || {
        fixture.state(run).await > RunState::Cancelling
    })
    .await;
}

#[tokio::test]
async fn a_cancel_ends_what_waits_and_tells_what_runs() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph(
        "cancel",
        &["runs", "backs", "queued", "later"],
        &["runs->later"],
    );
    change(&mut graph, "queued").requires = vec!["nobody".to_owned()];
    change(&mut graph, "backs").retry = Some(Retry {
        initial_ms: Some(60_000),
        ..Retry::default()
    });
    let run = fixture.start(graph).await;
    let mut running = None;
    for _ in 0..2 {
        let attempt = worker.take().await;
        if attempt.node == "backs" {
            worker.fail(&attempt, "FLAKY", true).await.unwrap();
        } else {
            running = Some(attempt);
        }
    }
    let running = running.unwrap();

    let reply = fixture.runs.clone().cancel_run(cancel(&run)).await.unwrap();

    assert_eq!(reply.into_inner().state(), RunState::Cancelling);
    let states = fixture.states(&run).await;
    for key in ["backs", "queued", "later"] {
        assert_eq!(states[key], TaskState::Cancelled, "{key}");
    }
    assert_eq!(worker.heartbeat(&running).await, LeaseState::Cancel);
    fixture.advance(TimeDelta::seconds(6)).await;
    ended(&fixture, &run).await;
    let status = worker.complete(&running).await.unwrap_err();
    assert_eq!(refusal(&status), (Code::Aborted, "LEASE_LOST".to_owned()));
    let run_now = fixture.run(&run).await;
    assert_eq!(
        (run_now.state(), run_now.dead_ends),
        (RunState::Cancelled, 0)
    );
}

#[tokio::test]
async fn a_success_within_the_grace_stays() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("grace", &["A", "B"], &["A->B"])).await;
    let attempt = worker.take_node("A").await;
    fixture.runs.clone().cancel_run(cancel(&run)).await.unwrap();

    worker.complete(&attempt).await.unwrap();

    let states = fixture.states(&run).await;
    assert_eq!(
        (states["A"], states["B"]),
        (TaskState::Succeeded, TaskState::Cancelled)
    );
    assert_eq!(fixture.state(&run).await, RunState::Cancelled);
    assert!(worker.finds_nothing().await);
}

#[tokio::test]
async fn an_applied_cancel_may_be_repeated_and_an_ended_run_not_cancelled() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let cancelled = fixture.start(graph("one", &["A"], &[])).await;
    let request = cancel(&cancelled);
    let mut runs = fixture.runs.clone();
    runs.cancel_run(request.clone()).await.unwrap();

    let same = runs.cancel_run(request).await.unwrap().into_inner();
    let other = runs
        .cancel_run(cancel(&cancelled))
        .await
        .unwrap()
        .into_inner();

    assert_eq!(
        (same.state(), other.state()),
        (RunState::Cancelled, RunState::Cancelled)
    );
    let done = fixture.start(graph("one", &["A"], &[])).await;
    worker.work(&[]).await;
    let status = runs.cancel_run(cancel(&done)).await.unwrap_err();
    assert_eq!(
        refusal(&status),
        (Code::FailedPrecondition, "RUN_ENDED".to_owned())
    );
}

#[tokio::test]
async fn an_unhandled_failure_ends_a_run_that_fails_fast() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let edges = ["A->after", "after->last", "B->late"];
    let run = fixture
        .start(graph("fast", &["A", "B", "after", "last", "late"], &edges))
        .await;
    let mut both = worker.poll(2, 10_000).await.unwrap();
    if both.len() < 2 {
        both.push(worker.take().await);
    }
    let fails = both.iter().find(|attempt| attempt.node == "A").unwrap();
    let runs = both.iter().find(|attempt| attempt.node == "B").unwrap();

    worker.fail(fails, "BROKEN", false).await.unwrap();

    let states = fixture.states(&run).await;
    // The cascade of the failed task comes first; only what it leaves is cancelled.
    assert_eq!(
        (states["after"], states["last"]),
        (TaskState::Omitted, TaskState::Omitted)
    );
    assert_eq!(states["late"], TaskState::Cancelled);
    assert_eq!(fixture.tasks(&run).await["late"].code, "FAIL_FAST");
    assert_eq!(worker.heartbeat(runs).await, LeaseState::Cancel);
    worker.fail(runs, "STOPPED", true).await.unwrap();
    assert_eq!(fixture.states(&run).await["B"], TaskState::Cancelled);
    assert_eq!(fixture.state(&run).await, RunState::Failed);
}

#[tokio::test]
async fn a_paused_run_starts_nothing_new_until_it_is_resumed() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("pause", &["A", "B"], &["A->B"])).await;
    let running = worker.take_node("A").await;
    let mut runs = fixture.runs.clone();
    let pause = PauseRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.clone(),
    };
    runs.pause_run(pause).await.unwrap();

    worker.complete(&running).await.unwrap();

    assert!(worker.finds_nothing().await);
    assert!(fixture.run(&run).await.paused);
    let resume = ResumeRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.clone(),
    };
    runs.resume_run(resume).await.unwrap();
    let next = worker.take_node("B").await;
    worker.complete(&next).await.unwrap();
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn ready_work_of_a_paused_run_is_held() {
    let fixture = start().await;
    let run = fixture.start(graph("held", &["A"], &[])).await;
    let pause = PauseRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.clone(),
    };
    fixture.runs.clone().pause_run(pause).await.unwrap();

    let mut worker = fixture.worker("w", &[]).await;

    assert!(worker.finds_nothing().await);
    let resume = ResumeRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.clone(),
    };
    fixture.runs.clone().resume_run(resume).await.unwrap();
    worker.take_node("A").await;
}

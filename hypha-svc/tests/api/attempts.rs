//! What ends an attempt, and what a stale worker may still do: nothing.

use std::time::Duration;

use bytes::Bytes;
use cambium_proto::hypha::v1::{
    CompleteRequest, LeaseState, ParkRequest, ReleaseRequest, Retry, RunState, SignalRunRequest,
    TaskState, Timeouts,
};
use cambium_testkit::wait_until;
use chrono::TimeDelta;
use tonic::Code;

use crate::fixture::{Fixture, WORKSPACE, Worker, change, graph, id, refusal, start};

/// Lets a lease of ten seconds run out, and the sweep notice.
async fn lapse(fixture: &Fixture, run: &str, node: &str) {
    fixture.advance(TimeDelta::seconds(11)).await;
    wait_until(
        Duration::from_secs(10),
        "the sweep takes the lease back",
        async || fixture.states(run).await[node] == TaskState::Ready,
    )
    .await;
}

#[tokio::test]
async fn a_stale_worker_changes_nothing() {
    let fixture = start().await;
    let mut first = fixture.worker("w1", &[]).await;
    let mut second = fixture.worker("w2", &[]).await;
    let run = fixture.start(graph("stale", &["T"], &[])).await;
    let stale = first.take_node("T").await;
    lapse(&fixture, &run, "T").await;
    let current = second.take_node("T").await;
    second.complete_with(&current, r#""second""#).await.unwrap();

    let completed = first.complete_with(&stale, r#""first""#).await.unwrap_err();
    let failed = first.fail(&stale, "LATE", true).await.unwrap_err();
    let released = first.client.release(ReleaseRequest {
        registration_id: first.registration.clone(),
        lease: stale.lease.clone(),
    });
    let released = released.await.unwrap_err();

    for status in [&completed, &failed, &released] {
        assert_eq!(refusal(status), (Code::Aborted, "LEASE_LOST".to_owned()));
    }
    assert_eq!(first.heartbeat(&stale).await, LeaseState::Lost);
    let task = &fixture.tasks(&run).await["T"];
    assert_eq!(
        (task.state(), task.epoch, task.lease_losses),
        (TaskState::Succeeded, 2, 1)
    );
    assert_eq!(task.agent_id, second.agent);
    assert_eq!(task.failures, 0, "a lost lease is no attempt");
}

#[tokio::test]
async fn an_expired_lease_is_lost_though_nobody_took_the_task_yet() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("expired", &["T"], &[])).await;
    let attempt = worker.take_node("T").await;
    fixture.advance(TimeDelta::seconds(11)).await;

    let status = worker.complete(&attempt).await.unwrap_err();

    assert_eq!(refusal(&status), (Code::Aborted, "LEASE_LOST".to_owned()));
    assert_ne!(fixture.states(&run).await["T"], TaskState::Succeeded);
}

#[tokio::test]
async fn a_heartbeat_keeps_the_lease() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("kept", &["T"], &[])).await;
    let attempt = worker.take_node("T").await;

    for _ in 0..5 {
        fixture.advance(TimeDelta::seconds(6)).await;
        assert_eq!(worker.heartbeat(&attempt).await, LeaseState::Ok);
    }
    worker.complete(&attempt).await.unwrap();

    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn the_same_completion_again_is_answered_and_another_body_is_not() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("repeat", &["A", "B"], &["A->B"])).await;
    let attempt = worker.take_node("A").await;
    worker.complete_with(&attempt, "1").await.unwrap();

    let again = worker.complete_with(&attempt, "1").await.unwrap();
    let other = worker.complete_with(&attempt, "2").await.unwrap_err();

    assert!(again.next.is_empty());
    assert_eq!(refusal(&other), (Code::Aborted, "LEASE_LOST".to_owned()));
    let next = worker.take_node("B").await;
    worker.complete(&next).await.unwrap();
    assert_eq!(fixture.run(&run).await.gratitude, 1);
}

#[tokio::test]
async fn a_completion_brings_the_next_attempts() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture
        .start(graph("next", &["A", "B", "C"], &["A->B", "A->C"]))
        .await;
    let first = worker.take_node("A").await;
    let request = |lease, next| CompleteRequest {
        registration_id: worker.registration.clone(),
        lease,
        output: Bytes::from_static(b"7"),
        usage: None,
        next,
    };

    let reply = worker
        .client
        .clone()
        .complete(request(first.lease, 5))
        .await
        .unwrap();
    let next = reply.into_inner().next;

    assert_eq!(next.len(), 2);
    for attempt in &next {
        assert_eq!(attempt.inputs[0].key, "A");
        worker.complete(attempt).await.unwrap();
    }
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn a_failure_is_tried_again_until_its_attempts_are_used_up() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("retry", &["T"], &[]);
    change(&mut graph, "T").retry = Some(Retry {
        max_attempts: Some(2),
        initial_ms: Some(60_000),
        ..Retry::default()
    });
    let run = fixture.start(graph).await;
    let attempt = worker.take_node("T").await;
    let went = worker.fail(&attempt, "FLAKY", true).await.unwrap();
    assert_eq!(went.state(), TaskState::BackingOff);
    assert!(worker.finds_nothing().await);

    fixture.advance(TimeDelta::seconds(61)).await;
    let second = worker.take_node("T").await;
    let went = worker.fail(&second, "FLAKY", true).await.unwrap();

    assert_eq!((second.attempt, went.state()), (2, TaskState::Failed));
    let task = &fixture.tasks(&run).await["T"];
    assert_eq!((task.failures, task.code.as_str()), (2, "FLAKY"));
    assert_eq!(fixture.state(&run).await, RunState::Failed);
}

#[tokio::test]
async fn a_failure_that_is_not_retryable_ends_the_task() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("never", &["A", "B"], &[]);
    graph.fail_fast = Some(false);
    change(&mut graph, "B").retry = Some(Retry {
        non_retryable: vec!["POISON".to_owned()],
        ..Retry::default()
    });
    let run = fixture.start(graph).await;

    for _ in 0..2 {
        let attempt = worker.take().await;
        let retryable = attempt.node == "B";
        let went = worker.fail(&attempt, "POISON", retryable).await.unwrap();
        assert_eq!(went.state(), TaskState::Failed);
    }

    assert_eq!(fixture.state(&run).await, RunState::Failed);
}

#[tokio::test]
async fn five_lost_leases_fail_the_task() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("losses", &["T"], &[])).await;

    for loss in 1..=5 {
        worker.take_node("T").await;
        fixture.advance(TimeDelta::seconds(11)).await;
        wait_until(Duration::from_secs(10), "the loss is seen", async || {
            fixture.tasks(&run).await["T"].lease_losses == loss
        })
        .await;
    }

    let task = &fixture.tasks(&run).await["T"];
    assert_eq!(
        (task.state(), task.code.as_str()),
        (TaskState::Failed, "LEASE_LOSSES")
    );
}

#[tokio::test]
async fn an_unstorable_output_fails_the_task_and_the_worker_lives_on() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let deep = format!("{}1{}", "[".repeat(70), "]".repeat(70));
    let big = format!("\"{}\"", "x".repeat(1 << 20));
    let cases = [
        (r#""\u0000""#, Code::InvalidArgument, "INVALID_OUTPUT"),
        (r#""\ud800""#, Code::InvalidArgument, "INVALID_OUTPUT"),
        ("not json", Code::InvalidArgument, "INVALID_OUTPUT"),
        (deep.as_str(), Code::InvalidArgument, "INVALID_OUTPUT"),
        (big.as_str(), Code::ResourceExhausted, "OUTPUT_TOO_LARGE"),
    ];

    for (output, code, reason) in cases {
        let run = fixture.start(graph("bad", &["T"], &[])).await;
        let attempt = worker.take_node("T").await;
        let status = worker.complete_with(&attempt, output).await.unwrap_err();

        assert_eq!(refusal(&status), (code, reason.to_owned()));
        let task = &fixture.tasks(&run).await["T"];
        assert_eq!(
            (task.state(), task.code.as_str()),
            (TaskState::Failed, reason)
        );
    }
    let run = fixture.start(graph("bad", &["T"], &[])).await;
    let attempt = worker.take_node("T").await;
    worker.complete(&attempt).await.unwrap();
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

async fn park(worker: &mut Worker, attempt: &cambium_proto::hypha::v1::Attempt) {
    let request = ParkRequest {
        registration_id: worker.registration.clone(),
        lease: attempt.lease.clone(),
        signal: "approved".to_owned(),
        until: None,
        checkpoint: Bytes::from_static(br#"{"step":2}"#),
    };
    worker.client.park(request).await.unwrap();
}

async fn signal(fixture: &Fixture, run: &str) -> bool {
    let request = SignalRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.to_owned(),
        request_key: String::new(),
        name: "approved".to_owned(),
        payload: Bytes::from_static(b"42"),
    };
    let reply = fixture.runs.clone().signal_run(request).await.unwrap();
    reply.into_inner().delivered
}

#[tokio::test]
async fn a_parked_task_outlives_its_run_timeout_and_resumes_once() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("r15", &["T"], &[]);
    change(&mut graph, "T").timeouts = Some(Timeouts {
        run_ms: Some(5_000),
        ..Timeouts::default()
    });
    let run = fixture.start(graph).await;
    let attempt = worker.take_node("T").await;
    park(&mut worker, &attempt).await;
    fixture.advance(TimeDelta::seconds(15)).await;
    assert!(worker.finds_nothing().await);
    assert_eq!(fixture.states(&run).await["T"], TaskState::Parked);

    let delivered = signal(&fixture, &run).await;
    let resumed = worker.take_node("T").await;

    assert!(delivered);
    let resumption = resumed.resumption.clone().unwrap();
    assert_eq!(&resumption.payload[..], b"42");
    assert_eq!(&resumption.checkpoint[..], br#"{"step":2}"#);
    assert!(!resumption.timed_out);
    assert!(worker.finds_nothing().await, "it resumes once");
    worker.complete(&resumed).await.unwrap();
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn the_total_timeout_counts_while_a_task_is_parked() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("total", &["T"], &[]);
    change(&mut graph, "T").timeouts = Some(Timeouts {
        total_ms: Some(20_000),
        ..Timeouts::default()
    });
    let run = fixture.start(graph).await;
    let attempt = worker.take_node("T").await;
    park(&mut worker, &attempt).await;

    fixture.advance(TimeDelta::seconds(21)).await;

    wait_until(Duration::from_secs(10), "the task fails", async || {
        fixture.states(&run).await["T"] == TaskState::Failed
    })
    .await;
    assert_eq!(fixture.tasks(&run).await["T"].code, "TOTAL_TIMEOUT");
}

#[tokio::test]
async fn a_signal_that_came_before_the_park_is_found() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("early", &["T"], &[])).await;
    let attempt = worker.take_node("T").await;
    assert!(!signal(&fixture, &run).await);

    park(&mut worker, &attempt).await;
    let resumed = worker.take_node("T").await;

    assert_eq!(&resumed.resumption.unwrap().payload[..], b"42");
}

#[tokio::test]
async fn a_park_that_nobody_ends_times_out() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("until", &["T"], &[])).await;
    let attempt = worker.take_node("T").await;
    let soon = attempt.deadline.unwrap();
    let request = ParkRequest {
        registration_id: worker.registration.clone(),
        lease: attempt.lease.clone(),
        signal: "never".to_owned(),
        until: Some(soon),
        checkpoint: Bytes::new(),
    };
    worker.client.park(request).await.unwrap();

    fixture.advance(TimeDelta::seconds(30)).await;
    let resumed = worker.take_node("T").await;

    assert!(resumed.resumption.unwrap().timed_out);
    assert_eq!(fixture.states(&run).await["T"], TaskState::Running);
}

#[tokio::test]
async fn a_task_that_nobody_takes_in_time_fails() {
    let fixture = start().await;
    let mut graph = graph("queue", &["T"], &[]);
    change(&mut graph, "T").timeouts = Some(Timeouts {
        queue_ms: Some(1_000),
        ..Timeouts::default()
    });
    let run = fixture.start(graph).await;

    fixture.advance(TimeDelta::seconds(2)).await;

    wait_until(Duration::from_secs(10), "the task fails", async || {
        fixture.states(&run).await["T"] == TaskState::Failed
    })
    .await;
    assert_eq!(fixture.tasks(&run).await["T"].code, "QUEUE_TIMEOUT");
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_counts_as_failed() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("run", &["T"], &[]);
    let node = change(&mut graph, "T");
    node.timeouts = Some(Timeouts {
        run_ms: Some(2_000),
        ..Timeouts::default()
    });
    node.retry = Some(Retry {
        max_attempts: Some(1),
        ..Retry::default()
    });
    let run = fixture.start(graph).await;
    let attempt = worker.take_node("T").await;

    fixture.advance(TimeDelta::seconds(3)).await;

    wait_until(Duration::from_secs(10), "the task fails", async || {
        fixture.states(&run).await["T"] == TaskState::Failed
    })
    .await;
    assert_eq!(fixture.tasks(&run).await["T"].code, "RUN_TIMEOUT");
    assert_eq!(worker.heartbeat(&attempt).await, LeaseState::Lost);
}

#[tokio::test]
async fn a_released_attempt_counts_for_nothing() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("release", &["T"], &[])).await;
    let attempt = worker.take_node("T").await;
    let request = ReleaseRequest {
        registration_id: worker.registration.clone(),
        lease: attempt.lease.clone(),
    };

    worker.client.release(request).await.unwrap();
    let again = worker.take_node("T").await;

    assert_eq!((again.attempt, again.lease.unwrap().epoch), (1, 2));
    assert_eq!(fixture.tasks(&run).await["T"].failures, 0);
}

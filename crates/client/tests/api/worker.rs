use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cambium_client::worker::{Ended, Outcome, Simulate, Task, Why};
use cambium_proto::hypha::v1::LeaseState;
use tokio::sync::Semaphore;
use tonic::{Code, Status};

use crate::fixture::{self, Service, refusal};

fn done() -> Outcome {
    Outcome::Completed {
        output: Bytes::new(),
        usage: None,
    }
}

/// Work that ends when the test says so, or when it is told to stop.
fn held(
    gate: &Arc<Semaphore>,
) -> impl Fn(Task) -> std::pin::Pin<Box<dyn Future<Output = Outcome> + Send>> + use<> {
    let gate = Arc::clone(gate);
    move |mut task: Task| {
        let gate = Arc::clone(&gate);
        Box::pin(async move {
            tokio::select! {
                _ = gate.acquire() => done(),
                _ = task.orders.stopped() => Outcome::Stopped,
            }
        })
    }
}

#[tokio::test]
async fn everything_ready_is_done_once_and_freed_slots_are_filled_by_the_reports() {
    let service = Service::default();
    let names: Vec<String> = (0..200).map(|n| format!("t{n}")).collect();
    service.add(&names.iter().map(String::as_str).collect::<Vec<_>>());

    let worker = fixture::start(&service, 8, Simulate::default()).await;
    service.hears("complete", 200).await;
    let ended = worker.stop().await.unwrap();

    let mut completed = service.heard("complete");
    completed.sort();
    completed.dedup();
    assert_eq!((completed.len(), ended), (200, Ended::Drained));
    assert!(
        service.heard("poll").len() < 20,
        "{}",
        service.heard("poll").len()
    );
}

#[tokio::test]
async fn a_poll_offers_every_idle_slot() {
    let service = Service::default();

    let worker = fixture::start(&service, 7, Simulate::default()).await;
    service.hears("poll", 1).await;
    worker.stop().await.unwrap();

    assert_eq!(service.script().most_offered, 7);
}

#[tokio::test]
async fn an_agent_not_heard_of_yet_is_announced_again() {
    let service = Service::default();
    let unknown = || refusal(Code::FailedPrecondition, "AGENT_UNKNOWN", Some(1));
    service.refuse("register", unknown());
    service.refuse("register", unknown());

    let worker = fixture::start(&service, 1, Simulate::default()).await;
    service.hears("poll", 1).await;

    assert_eq!(service.heard("register").len(), 3);
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn a_worker_that_is_not_allowed_ends_and_says_so() {
    let service = Service::default();
    service.refuse(
        "register",
        refusal(Code::PermissionDenied, "NOT_PERMITTED", None),
    );

    let worker = fixture::start(&service, 1, Simulate::default()).await;

    let error = worker.ends().await.unwrap_err();
    assert_eq!(error.status().code(), Code::PermissionDenied);
}

#[tokio::test]
async fn a_forgotten_registration_is_made_again() {
    let service = Service::default();
    service.refuse(
        "poll",
        refusal(Code::NotFound, "REGISTRATION_UNKNOWN", None),
    );
    service.add(&["a"]);

    let worker = fixture::start(&service, 1, Simulate::default()).await;
    service.hears("complete", 1).await;

    assert_eq!(service.heard("register").len(), 2);
    worker.stop().await.unwrap();
}

#[tokio::test]
async fn a_report_is_repeated_until_it_is_heard() {
    let service = Service::default();
    for _ in 0..3 {
        service.refuse("complete", Status::unavailable("restarting"));
    }
    service.add(&["a"]);

    let worker = fixture::start(&service, 1, Simulate::default()).await;
    service.hears("complete", 4).await;

    assert_eq!(worker.stop().await.unwrap(), Ended::Drained);
    assert_eq!(service.heard("complete"), ["a"; 4]);
}

#[tokio::test]
async fn a_report_on_a_lost_lease_is_dropped() {
    let service = Service::default();
    service.refuse("complete", refusal(Code::Aborted, "LEASE_LOST", None));
    service.add(&["a", "b"]);

    let worker = fixture::start(&service, 1, Simulate::default()).await;
    service.hears("complete", 2).await;
    worker.stop().await.unwrap();

    assert_eq!(service.heard("complete"), ["a", "b"]);
}

#[tokio::test]
async fn a_bad_output_fails_its_task_and_the_worker_lives_on() {
    let service = Service::default();
    service.add(&["bad", "good"]);
    let work = |task: Task| async move {
        let output: &[u8] = if task.node == "bad" { b"{" } else { b"{}" };
        Outcome::Completed {
            output: Bytes::from_static(output),
            usage: None,
        }
    };

    let worker = fixture::start(&service, 1, work).await;
    service.hears("complete", 1).await;
    worker.stop().await.unwrap();

    assert_eq!(service.heard("fail"), ["bad INVALID_OUTPUT"]);
    assert_eq!(service.heard("complete"), ["good"]);
}

#[tokio::test]
async fn a_panic_fails_its_task_and_the_worker_lives_on() {
    let service = Service::default();
    service.add(&["bad", "good"]);
    let work = |task: Task| async move {
        assert_ne!(task.node, "bad");
        done()
    };

    let worker = fixture::start(&service, 1, work).await;
    service.hears("complete", 1).await;
    worker.stop().await.unwrap();

    assert_eq!(service.heard("fail"), ["bad WORKER_PANIC"]);
}

#[tokio::test]
async fn long_work_keeps_its_lease_and_a_cancel_stops_it() {
    let service = Service::default();
    service.script().answers = LeaseState::Ok;
    service.add(&["long"]);

    let worker = fixture::start(&service, 1, held(&Arc::new(Semaphore::new(0)))).await;
    service.hears("heartbeat", 5).await;
    service.script().answers = LeaseState::Cancel;
    service.hears("fail", 1).await;
    worker.stop().await.unwrap();

    assert_eq!(service.heard("fail"), ["long CANCELLED"]);
}

#[tokio::test]
async fn a_lost_lease_stops_the_work_and_nothing_is_said_of_it() {
    let service = Service::default();
    service.script().answers = LeaseState::Lost;
    service.add(&["lost"]);
    let (sender, mut stopped) = tokio::sync::mpsc::channel(1);
    let work = move |mut task: Task| {
        let sender = sender.clone();
        async move {
            let why = task.orders.stopped().await;
            sender.send(why).await.unwrap();
            Outcome::Stopped
        }
    };

    let worker = fixture::start(&service, 1, work).await;
    let why = stopped.recv().await;
    worker.stop().await.unwrap();

    assert_eq!(why, Some(Why::LeaseLost));
    assert!(service.heard("fail").is_empty() && service.heard("release").is_empty());
}

#[tokio::test]
async fn a_drain_finishes_what_is_held() {
    let service = Service::default();
    service.script().answers = LeaseState::Ok;
    service.add(&["a", "b"]);
    let gate = Arc::new(Semaphore::new(0));

    let worker = fixture::start(&service, 2, held(&gate)).await;
    service.hears("heartbeat", 1).await;
    let ended = worker.ask_to_stop();
    service.add(&["later"]);
    gate.add_permits(2);

    assert_eq!(ended.await.unwrap(), Ended::Drained);
    let mut completed = service.heard("complete");
    completed.sort();
    assert_eq!(completed, ["a", "b"]);
    assert_eq!(service.script().ready.len(), 1);
}

#[tokio::test]
async fn a_drain_gives_back_what_it_has_not_started() {
    let service = Service::default();
    let gate = Arc::new(Semaphore::new(0));
    service.script().answer_when = Some(Arc::clone(&gate));
    service.add(&["a", "b"]);

    let worker = fixture::start(&service, 1, Simulate::default()).await;
    service.hears("complete", 1).await;
    let ended = worker.ask_to_stop();
    tokio::task::yield_now().await;
    service.script().answer_when = None;
    gate.add_permits(1);

    assert_eq!(ended.await.unwrap(), Ended::Drained);
    assert_eq!(service.heard("complete"), ["a"]);
    assert_eq!(service.heard("release"), ["b"]);
}

#[tokio::test]
async fn a_drain_gives_back_what_its_last_poll_still_brings() {
    let service = Service::default();

    let worker = fixture::start(&service, 1, Simulate::default()).await;
    service.hears("poll", 1).await;
    let ended = worker.ask_to_stop();
    tokio::task::yield_now().await;
    service.add(&["late"]);

    assert_eq!(ended.await.unwrap(), Ended::Drained);
    assert_eq!(service.heard("complete"), Vec::<String>::new());
    assert_eq!(service.heard("release"), ["late"]);
    assert_eq!(service.heard("poll").len(), 1);
}

#[tokio::test]
async fn a_replaced_worker_ends() {
    let service = Service::default();
    service.refuse("poll", refusal(Code::FailedPrecondition, "DRAINING", None));

    let worker = fixture::start(&service, 1, Simulate::default()).await;

    assert_eq!(worker.ends().await.unwrap(), Ended::Replaced);
}

#[tokio::test]
async fn a_renewed_token_is_used_and_dropped_when_it_is_refused() {
    let service = Service::default();
    service.script().renewed_token = "second".to_owned();
    service.refuse(
        "poll",
        refusal(Code::Unauthenticated, "TOKEN_EXPIRED", None),
    );

    let worker = fixture::start(&service, 1, Simulate::default()).await;
    service.hears("poll", 2).await;
    worker.stop().await.unwrap();

    assert_eq!(service.heard("register"), ["Bearer first"]);
    assert_eq!(service.heard("poll"), ["Bearer second", "Bearer first"]);
}

#[tokio::test]
async fn a_token_that_stays_refused_ends_the_worker() {
    let service = Service::default();
    for _ in 0..9 {
        service.refuse(
            "poll",
            refusal(Code::Unauthenticated, "TOKEN_EXPIRED", None),
        );
    }

    let worker = fixture::start(&service, 1, Simulate::default()).await;
    let ended = tokio::time::timeout(Duration::from_secs(30), worker.ends())
        .await
        .unwrap();

    assert_eq!(ended.unwrap_err().status().code(), Code::Unauthenticated);
}

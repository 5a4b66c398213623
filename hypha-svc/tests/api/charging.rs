//! What the runs under a turn cost together: told to swarm once, and bounded by the turn's cap.

use std::time::Duration;

use cambium_proto::hypha::v1::{LeaseState, RunState, StartRunRequest, TaskState};
use cambium_proto::signal::v1::RunSettled;
use cambium_proto::signal::v1::signal::Payload;
use cambium_testkit::{SignalSink, wait_until};
use chrono::TimeDelta;

use crate::children::start_as;
use crate::fixture::{Fixture, Wish, graph, id, start, start_with, turn};

const BOUND: Duration = Duration::from_secs(10);

async fn telling(swarm: &SignalSink) -> Fixture {
    let wish = Wish {
        swarm: Some(swarm.url()),
        ..Wish::default()
    };
    start_with(wish).await
}

fn settled(swarm: &SignalSink) -> Vec<RunSettled> {
    let received = swarm.received().into_iter();
    let settled = received.filter_map(|signal| match signal.payload {
        Some(Payload::RunSettled(settled)) => Some(settled),
        _ => None,
    });
    settled.collect()
}

async fn first_settled(swarm: &SignalSink) -> RunSettled {
    let come = async || !settled(swarm).is_empty();
    wait_until(BOUND, "the turn has settled", come).await;
    settled(swarm).remove(0)
}

#[tokio::test]
async fn a_turn_settles_once_with_what_its_run_and_its_child_cost_together() {
    let sink = SignalSink::start().await;
    let fixture = telling(&sink).await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let (swarm, key) = (fixture.swarm(), id());
    let run = swarm.start(turn(&key, "g")).await.unwrap();
    let attempt = worker.take().await;
    let token = worker.token(&attempt).await.unwrap();
    start_as(&fixture, &token, "child", "g").await.unwrap();
    let child = worker.take().await;

    worker.complete_at(&attempt, 30, true).await;
    let meanwhile = swarm.progress(&[&key]).await.remove(0);
    worker.complete_at(&child, 12, true).await;

    let told = first_settled(&sink).await;
    let expected = RunSettled {
        turn_id: key.clone(),
        run_id: run,
        cost_micro_usd: Some(42),
        declared_micro_usd: 0,
        outcome: "succeeded".to_owned(),
    };
    assert_eq!(told, expected);
    assert_eq!(meanwhile.state(), RunState::Succeeded);
    assert!(!meanwhile.turn_ended, "its child goes on");
    let now = swarm.progress(&[&key]).await.remove(0);
    assert_eq!((now.turn_ended, now.cost_micro_usd), (true, Some(42)));
    fixture.start(graph("other", &["a"], &[])).await;
    let task = worker.take_node("a").await;
    worker.complete(&task).await.unwrap();
    assert_eq!(
        settled(&sink).len(),
        1,
        "and a run without a turn tells nothing"
    );
}

#[tokio::test]
async fn what_was_not_metered_leaves_the_turn_without_a_cost() {
    let sink = SignalSink::start().await;
    let fixture = telling(&sink).await;
    fixture.put(graph("g", &["a", "b"], &[])).await.unwrap();
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let key = id();
    fixture.swarm().start(turn(&key, "g")).await.unwrap();
    let (first, second) = (worker.take().await, worker.take().await);

    worker.complete_at(&first, 30, true).await;
    worker.complete_at(&second, 12, false).await;

    let told = first_settled(&sink).await;
    assert_eq!((told.cost_micro_usd, told.declared_micro_usd), (None, 12));
    let progress = fixture.swarm().progress(&[&key]).await.remove(0);
    assert_eq!((progress.turn_ended, progress.cost_micro_usd), (true, None));
}

#[tokio::test]
async fn a_turn_that_failed_says_so_and_a_lost_lease_is_not_measured() {
    let sink = SignalSink::start().await;
    let fixture = telling(&sink).await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let key = id();
    fixture.swarm().start(turn(&key, "g")).await.unwrap();
    worker.take().await;
    fixture.advance(TimeDelta::seconds(11)).await;
    let again = worker.take().await;

    worker.fail(&again, "BROKEN", false).await.unwrap();

    let told = first_settled(&sink).await;
    assert_eq!(
        (told.outcome.as_str(), told.cost_micro_usd),
        ("failed", None)
    );
}

#[tokio::test]
async fn at_its_cap_the_rest_of_a_turns_tasks_is_cancelled() {
    let sink = SignalSink::start().await;
    let fixture = telling(&sink).await;
    let nodes = ["a", "b", "c"];
    fixture.put(graph("g", &nodes, &["a->c"])).await.unwrap();
    fixture
        .put(graph("child", &["C", "D"], &["C->D"]))
        .await
        .unwrap();
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let request = StartRunRequest {
        cap_micro_usd: 100,
        ..turn(&id(), "g")
    };
    let run = fixture.swarm().start(request).await.unwrap();
    let (mut a, mut b) = (worker.take().await, worker.take().await);
    if a.node == "b" {
        std::mem::swap(&mut a, &mut b);
    }
    let token = worker.token(&b).await.unwrap();
    let child = start_as(&fixture, &token, "child", "child")
        .await
        .unwrap()
        .run_id;
    let c = worker.take_node("C").await;

    worker.complete_at(&a, 99, true).await;
    assert_eq!(fixture.state(&run).await, RunState::Running);
    let more = worker.take_node("c").await;
    worker.complete_at(&more, 1, true).await;

    assert_eq!(fixture.state(&run).await, RunState::Cancelling);
    assert_eq!(worker.heartbeat(&b).await, LeaseState::Cancel);
    let told = async || fixture.state(&child).await == RunState::Cancelling;
    wait_until(BOUND, "the child is told too", told).await;
    let tasks = fixture.tasks(&child).await;
    assert_eq!(tasks["D"].state(), TaskState::Cancelled);
    assert_eq!(tasks["D"].code, "BUDGET");
    worker.complete_at(&c, 7, true).await;
    worker.complete_at(&b, 3, true).await;
    assert_eq!(fixture.state(&run).await, RunState::Cancelled);
    let told = first_settled(&sink).await;
    assert_eq!(
        (told.cost_micro_usd, told.outcome.as_str()),
        (Some(110), "cancelled")
    );
}

#[tokio::test]
async fn only_what_was_metered_counts_towards_the_cap() {
    let fixture = start().await;
    fixture
        .put(graph("g", &["a", "b"], &["a->b"]))
        .await
        .unwrap();
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let request = StartRunRequest {
        cap_micro_usd: 100,
        ..turn(&id(), "g")
    };
    let run = fixture.swarm().start(request).await.unwrap();
    let a = worker.take_node("a").await;

    worker.complete_at(&a, 1_000, false).await;

    worker.take_node("b").await;
    assert_eq!(fixture.state(&run).await, RunState::Running);
}

#[tokio::test]
async fn many_runs_are_asked_after_at_once_and_unknown_keys_are_left_out() {
    let fixture = start().await;
    fixture.put(graph("g", &["T"], &[])).await.unwrap();
    let mut worker = fixture.serving("w", &[], &["weksa"]).await;
    let (swarm, over, running) = (fixture.swarm(), id(), id());
    swarm.start(turn(&over, "g")).await.unwrap();
    let attempt = worker.take().await;
    worker.complete_at(&attempt, 5, true).await;
    let run = swarm.start(turn(&running, "g")).await.unwrap();
    let plain = fixture
        .run(&fixture.start(graph("p", &["a"], &[])).await)
        .await;

    let known = swarm
        .progress(&[&over, &running, &id(), &plain.request_key])
        .await;

    let find = |key: &str| known.iter().find(|one| one.request_key == key).unwrap();
    assert_eq!(known.len(), 3);
    assert_eq!(find(&over).state(), RunState::Succeeded);
    assert_eq!(
        (find(&over).turn_ended, find(&over).cost_micro_usd),
        (true, Some(5))
    );
    assert_eq!(
        (find(&running).run_id.as_str(), find(&running).turn_ended),
        (run.as_str(), false)
    );
    assert_eq!(find(&plain.request_key).run_id, plain.run_id);
    assert!(!find(&plain.request_key).turn_ended);
}

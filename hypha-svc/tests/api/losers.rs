//! Losers of a join: what nobody waits for any more is cancelled, and nothing else.

use std::time::Duration;

use cambium_proto::hypha::v1::{Attempt, Graph, Join, JoinKind, LeaseState, RunState, TaskState};
use cambium_testkit::wait_until;
use chrono::TimeDelta;

use crate::fixture::{Worker, change, graph, start};

/// The node takes the first answer and lets go of the others.
fn first_answer(graph: &mut Graph, node: &str) {
    change(graph, node).join = Some(Join {
        kind: JoinKind::Any.into(),
        cancel_losers: true,
        ..Join::default()
    });
}

async fn take_all(worker: &mut Worker, nodes: &[&str]) -> Vec<Attempt> {
    let mut taken = Vec::new();
    for _ in nodes {
        taken.push(worker.take().await);
    }
    taken.sort_by(|a, b| a.node.cmp(&b.node));
    let names: Vec<&str> = taken.iter().map(|attempt| attempt.node.as_str()).collect();
    assert_eq!(names, nodes);
    taken
}

#[tokio::test]
async fn a_running_loser_is_told_to_stop_and_is_no_failure() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut wanted = graph("g", &["a", "b", "j"], &["a->j", "b->j"]);
    first_answer(&mut wanted, "j");
    let run = fixture.start(wanted).await;
    let taken = take_all(&mut worker, &["a", "b"]).await;

    worker.complete(&taken[0]).await.unwrap();
    assert_eq!(worker.heartbeat(&taken[1]).await, LeaseState::Cancel);
    worker.fail(&taken[1], "STOPPED", true).await.unwrap();
    let j = worker.take_node("j").await;
    worker.complete(&j).await.unwrap();

    assert_eq!(fixture.states(&run).await["b"], TaskState::Cancelled);
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn what_led_to_a_loser_alone_is_cancelled_with_it() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let edges = [
        "fast->j",
        "slow->mid",
        "mid->last",
        "last->j",
        "both->mid",
        "both->k",
    ];
    let mut wanted = graph(
        "g",
        &["fast", "slow", "both", "mid", "last", "j", "k"],
        &edges,
    );
    first_answer(&mut wanted, "j");
    let run = fixture.start(wanted).await;
    let taken = take_all(&mut worker, &["both", "fast", "slow"]).await;

    worker.complete(&taken[1]).await.unwrap();
    assert_eq!(
        worker.heartbeat(&taken[0]).await,
        LeaseState::Ok,
        "k still waits for it"
    );
    assert_eq!(worker.heartbeat(&taken[2]).await, LeaseState::Cancel);
    worker.complete(&taken[2]).await.unwrap();
    worker.complete(&taken[0]).await.unwrap();
    worker.work(&[]).await;

    let states = fixture.states(&run).await;
    assert_eq!(
        states["slow"],
        TaskState::Succeeded,
        "it was done before it stopped"
    );
    assert_eq!(
        (states["mid"], states["last"]),
        (TaskState::Cancelled, TaskState::Cancelled)
    );
    assert_eq!(
        (states["j"], states["k"]),
        (TaskState::Succeeded, TaskState::Succeeded)
    );
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn a_queued_loser_ends_at_once() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut wanted = graph("g", &["a", "b", "j"], &["a->j", "b->j"]);
    change(&mut wanted, "b").requires = vec!["rare".to_owned()];
    first_answer(&mut wanted, "j");
    let run = fixture.start(wanted).await;

    let a = worker.take_node("a").await;
    worker.complete(&a).await.unwrap();
    let j = worker.take_node("j").await;
    worker.complete(&j).await.unwrap();

    assert_eq!(fixture.states(&run).await["b"], TaskState::Cancelled);
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn a_loser_that_does_not_stop_is_revoked_after_its_grace() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut wanted = graph("g", &["a", "b", "j"], &["a->j", "b->j"]);
    first_answer(&mut wanted, "j");
    let run = fixture.start(wanted).await;
    let taken = take_all(&mut worker, &["a", "b"]).await;
    worker.complete(&taken[0]).await.unwrap();
    let j = worker.take_node("j").await;
    worker.complete(&j).await.unwrap();

    for _ in 0..4 {
        fixture.advance(TimeDelta::seconds(8)).await;
        worker.heartbeat(&taken[1]).await;
    }
    wait_until(Duration::from_secs(10), "it is revoked", async || {
        fixture.state(&run).await == RunState::Succeeded
    })
    .await;

    assert_eq!(fixture.states(&run).await["b"], TaskState::Cancelled);
    assert!(worker.complete(&taken[1]).await.is_err());
}

#[tokio::test]
async fn a_quorum_lets_go_of_the_rest_once_it_is_met() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut wanted = graph("g", &["a", "b", "c", "j"], &["a->j", "b->j", "c->j"]);
    change(&mut wanted, "j").join = Some(Join {
        kind: JoinKind::Quorum.into(),
        needed: 2,
        cancel_losers: true,
        ..Join::default()
    });
    let run = fixture.start(wanted).await;
    let taken = take_all(&mut worker, &["a", "b", "c"]).await;

    worker.complete(&taken[0]).await.unwrap();
    assert_eq!(worker.heartbeat(&taken[2]).await, LeaseState::Ok);
    worker.complete(&taken[1]).await.unwrap();
    assert_eq!(worker.heartbeat(&taken[2]).await, LeaseState::Cancel);
    worker.fail(&taken[2], "STOPPED", true).await.unwrap();
    worker.work(&[]).await;

    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn without_the_flag_nobody_is_stopped() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut wanted = graph("g", &["a", "b", "j"], &["a->j", "b->j"]);
    first_answer(&mut wanted, "j");
    change(&mut wanted, "j")
        .join
        .as_mut()
        .unwrap()
        .cancel_losers = false;
    let run = fixture.start(wanted).await;
    let taken = take_all(&mut worker, &["a", "b"]).await;

    worker.complete(&taken[0]).await.unwrap();
    assert_eq!(worker.heartbeat(&taken[1]).await, LeaseState::Ok);
    worker.complete(&taken[1]).await.unwrap();
    worker.work(&[]).await;

    assert_eq!(fixture.states(&run).await["b"], TaskState::Succeeded);
}

#[tokio::test]
async fn the_flag_beside_another_join_is_refused() {
    let fixture = start().await;
    let mut wanted = graph("g", &["a", "b", "j"], &["a->j", "b->j"]);
    first_answer(&mut wanted, "j");
    change(&mut wanted, "j").join.as_mut().unwrap().kind = JoinKind::All.into();

    let refused = fixture.put(wanted).await.unwrap_err();

    assert_eq!(crate::fixture::reason(&refused), "CANCEL_LOSERS_INVALID");
}

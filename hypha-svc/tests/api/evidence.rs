//! What hypha says of how attempts ended, to a service that listens in immune's place.

use std::time::Duration;

use cambium_proto::hypha::v1::CancelRunRequest;
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{
    AgentDrained, AgentRetired, AgentSpawned, TaskOutcome, TaskSettled,
};
use cambium_testkit::{SignalSink, wait_until};
use chrono::TimeDelta;

use crate::fixture::{Fixture, WORKSPACE, Wish, change, graph, id, start_with};

const BOUND: Duration = Duration::from_secs(10);

#[tokio::test]
async fn an_agent_that_leaves_has_drained_once_it_holds_nothing() {
    let genesis = SignalSink::start().await;
    let wish = Wish {
        genesis: Some(genesis.url()),
        ..Wish::default()
    };
    let fixture = start_with(wish).await;
    let mut worker = fixture.worker("w", &[]).await;
    fixture.start(graph("g", &["a", "b"], &[])).await;
    let first = worker.take().await;
    worker.complete(&first).await.unwrap();
    let held = worker.take().await;
    let leaves = Payload::AgentRetired(AgentRetired {
        agent_id: worker.agent.clone(),
        draining: true,
    });

    fixture
        .deliver("genesis", "coord.agent_retired", leaves)
        .await;
    assert_eq!(drained(&genesis), []);
    worker.complete(&held).await.unwrap();

    let come = async || !drained(&genesis).is_empty();
    wait_until(BOUND, "it has drained", come).await;
    let all = AgentDrained {
        agent_id: worker.agent.clone(),
        settled_count: 2,
    };
    assert_eq!(drained(&genesis), [all]);
}

fn drained(genesis: &SignalSink) -> Vec<AgentDrained> {
    let received = genesis.received().into_iter();
    let drained = received.filter_map(|signal| match signal.payload {
        Some(Payload::AgentDrained(drained)) => Some(drained),
        _ => None,
    });
    drained.collect()
}

#[tokio::test]
async fn what_an_agent_inherited_goes_with_every_attempt() {
    let fixture = start_with(Wish::default()).await;
    let learned = br#"[{"pattern":"cite sources"}]"#.to_vec();
    let mut worker = fixture.worker("w", &[]).await;
    let spawned = Payload::AgentSpawned(AgentSpawned {
        agent_id: worker.agent.clone(),
        name: "w".to_owned(),
        inherited_learnings: learned.clone(),
        ..AgentSpawned::default()
    });
    fixture
        .deliver("genesis", "coord.agent_spawned", spawned)
        .await;
    fixture.start(graph("g", &["a", "b"], &["a->b"])).await;

    let first = worker.take().await;
    worker.complete(&first).await.unwrap();
    let second = worker.take().await;

    assert_eq!(
        [first, second].map(|one| one.inherited_learnings),
        [learned.clone(), learned]
    );
}

async fn listening() -> (SignalSink, Fixture) {
    let immune = SignalSink::start().await;
    let wish = Wish {
        immune: Some(immune.url()),
        ..Wish::default()
    };
    let fixture = start_with(wish).await;
    (immune, fixture)
}

fn settled(immune: &SignalSink) -> Vec<TaskSettled> {
    let received = immune.received().into_iter();
    let settled = received.filter_map(|signal| match signal.payload {
        Some(Payload::TaskSettled(settled)) => Some(settled),
        _ => None,
    });
    settled.collect()
}

/// Waits until as much evidence has come, in the order of its tasks.
async fn evidence(immune: &SignalSink, count: usize) -> Vec<TaskSettled> {
    let come = async || settled(immune).len() >= count;
    wait_until(BOUND, "the evidence has come", come).await;
    let mut all = settled(immune);
    all.sort_by(|one, other| (&one.task_id, one.epoch).cmp(&(&other.task_id, other.epoch)));
    assert_eq!(all.len(), count);
    all
}

#[tokio::test]
async fn each_end_of_an_attempt_is_told_with_what_it_took() {
    let (immune, fixture) = listening().await;
    let mut worker = fixture.worker("w", &["write"]).await;
    let mut graph = graph("g", &["a", "b"], &["a->b"]);
    change(&mut graph, "b").requires = vec!["write".to_owned()];
    let run = fixture.start(graph).await;

    let first = worker.take_node("a").await;
    fixture.advance(TimeDelta::seconds(3)).await;
    worker.complete(&first).await.unwrap();
    let second = worker.take_node("b").await;
    worker.fail(&second, "BROKEN", false).await.unwrap();

    let [a, b] = evidence(&immune, 2).await.try_into().unwrap();
    assert_eq!(a.task_id, format!("{run}/a"));
    assert_eq!(a.outcome(), TaskOutcome::Succeeded);
    assert_eq!(a.agent_id, worker.agent);
    assert!((3..10).contains(&a.duration.unwrap().seconds), "{a:?}");
    assert_eq!((a.slots, a.busy), (100, 1));
    assert_eq!(b.outcome(), TaskOutcome::Failed);
    assert_eq!(b.failure_code, "BROKEN");
    assert_eq!(
        (b.requires, b.upstream),
        (vec!["write".to_owned()], vec!["a".to_owned()])
    );
}

#[tokio::test]
async fn an_output_that_is_none_is_told_as_such() {
    let (immune, fixture) = listening().await;
    let mut worker = fixture.worker("w", &[]).await;
    fixture.start(graph("g", &["a"], &[])).await;
    let attempt = worker.take().await;

    worker
        .complete_with(&attempt, "not json")
        .await
        .unwrap_err();

    let told = evidence(&immune, 1).await;
    assert_eq!(told[0].outcome(), TaskOutcome::InvalidOutput);
    assert_eq!(told[0].failure_code, "INVALID_OUTPUT");
}

#[tokio::test]
async fn a_lost_lease_is_told_and_so_is_the_completion_that_comes_too_late() {
    let (immune, fixture) = listening().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    let lost = worker.take().await;
    fixture.advance(TimeDelta::seconds(11)).await;
    let again = worker.take().await;

    worker.complete(&lost).await.unwrap_err();
    worker.complete(&lost).await.unwrap_err();
    worker.complete(&again).await.unwrap();

    let told = evidence(&immune, 4).await;
    let outcomes: Vec<_> = told.iter().map(|one| (one.epoch, one.outcome())).collect();
    let of = |outcome| outcomes.iter().filter(|one| **one == outcome).count();
    assert_eq!(of((1, TaskOutcome::LeaseLost)), 1);
    assert_eq!(of((1, TaskOutcome::Stale)), 2);
    assert_eq!(of((2, TaskOutcome::Succeeded)), 1);
    assert!(
        told.iter()
            .all(|one| one.task_id == format!("{run}/a") && one.agent_id == worker.agent)
    );
}

#[tokio::test]
async fn nothing_is_held_against_an_agent_whose_run_was_cancelled() {
    let (immune, fixture) = listening().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    let attempt = worker.take().await;
    let request = CancelRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run,
        ..CancelRunRequest::default()
    };
    fixture.runs.clone().cancel_run(request).await.unwrap();

    worker.fail(&attempt, "STOPPED", true).await.unwrap();
    fixture.start(graph("h", &["b"], &[])).await;
    let other = worker.take().await;
    worker.complete(&other).await.unwrap();

    let told = evidence(&immune, 1).await;
    assert_eq!(told[0].outcome(), TaskOutcome::Succeeded);
}

//! Conditions: what they may look at, and what becomes of those without an answer.

use std::time::Duration;

use cambium_proto::hypha::v1::{RunState, TaskState};
use cambium_testkit::wait_until;

use crate::fixture::{Fixture, change, edge, graph, start};

async fn state(fixture: &Fixture, run: &str, key: &str, expected: TaskState) {
    wait_until(Duration::from_secs(10), "the node is decided", async || {
        fixture.states(run).await[key] == expected
    })
    .await;
}

#[tokio::test]
async fn a_condition_reads_inputs_and_the_runs_input() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("g", &["a", "yes", "no"], &["a->yes", "a->no"]);
    change(&mut graph, "yes").when = "inputs.a.score + 1 > 4 && input.mode == 'full'".to_owned();
    change(&mut graph, "no").when = "inputs.a.score < 0".to_owned();
    let run = fixture.start_on(graph, r#"{"mode":"full"}"#).await;
    let attempt = worker.take_node("a").await;

    worker
        .complete_with(&attempt, r#"{"score":4}"#)
        .await
        .unwrap();

    let next = worker.take_node("yes").await;
    worker.complete(&next).await.unwrap();
    state(&fixture, &run, "no", TaskState::Skipped).await;
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn a_condition_without_an_answer_fails_its_node_and_is_never_false() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("g", &["a", "b"], &["a->b"]);
    graph.fail_fast = Some(false);
    change(&mut graph, "b").when = "inputs.a.missing > 1".to_owned();
    let run = fixture.start(graph).await;
    let attempt = worker.take_node("a").await;

    worker.complete_with(&attempt, "{}").await.unwrap();

    state(&fixture, &run, "b", TaskState::Failed).await;
    assert_eq!(fixture.tasks(&run).await["b"].code, "CONDITION_ERROR");
    assert_eq!(fixture.state(&run).await, RunState::Failed);
}

#[tokio::test]
async fn an_edge_condition_without_an_answer_fails_its_target_whatever_comes_later() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("g", &["a", "b", "j"], &["b->j"]);
    graph.fail_fast = Some(false);
    let mut faulty = edge("a", "j");
    faulty.when = "output.missing".to_owned();
    graph.edges.push(faulty);
    change(&mut graph, "j").join = Some(cambium_proto::hypha::v1::Join {
        kind: cambium_proto::hypha::v1::JoinKind::Any.into(),
        ..Default::default()
    });
    let run = fixture.start(graph).await;
    let mut both = worker.poll(2, 10_000).await.unwrap();
    if both.len() < 2 {
        both.push(worker.take().await);
    }
    both.sort_by(|one, other| one.node.cmp(&other.node));

    worker.complete_with(&both[0], "{}").await.unwrap();
    worker.complete_with(&both[1], "{}").await.unwrap();

    assert!(
        worker.finds_nothing().await,
        "a later edge does not start what has failed"
    );
    let task = &fixture.tasks(&run).await["j"];
    assert_eq!(
        (task.state(), task.code.as_str()),
        (TaskState::Failed, "CONDITION_ERROR")
    );
    assert_eq!(fixture.state(&run).await, RunState::Failed);
}

//! Asking genesis for agents: whose work, when, and what is told of it. What genesis then makes is a story of the whole house.

use std::time::Duration;

use cambium_proto::hypha::v1::{ExplainTaskRequest, Graph, RunState};
use cambium_testkit::wait_until;
use chrono::TimeDelta;
use tokio::net::TcpListener;

use crate::fixture::{Fixture, WORKSPACE, Wish, change, graph, start_with};

const BOUND: Duration = Duration::from_secs(20);

/// With genesis where nobody answers.
async fn started() -> Fixture {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let wish = Wish {
        genesis: Some(address),
        ..Wish::default()
    };
    start_with(wish).await
}

/// A single node that needs what nobody has.
fn wanting(name: &str, spawn: bool) -> Graph {
    let mut graph = graph(name, &["a"], &[]);
    change(&mut graph, "a").requires = vec!["skill:rare".to_owned()];
    Graph { spawn, ..graph }
}

async fn why(fixture: &Fixture, run: &str) -> String {
    let request = ExplainTaskRequest {
        workspace_id: WORKSPACE.to_owned(),
        task_id: format!("{run}/a"),
    };
    let reply = fixture.tasks.clone().explain_task(request).await.unwrap();
    reply.into_inner().reasons.remove(0).text
}

async fn until_why(fixture: &Fixture, run: &str, what: &str) {
    wait_until(BOUND, what, async || why(fixture, run).await.contains(what)).await;
}

#[tokio::test]
async fn work_that_nobody_can_do_is_asked_for_once_it_has_waited() {
    let fixture = started().await;
    let run = fixture.start(wanting("rare", true)).await;

    until_why(&fixture, &run, "an agent will be spawned for it soon").await;
    fixture.advance(TimeDelta::seconds(6)).await;
    until_why(&fixture, &run, "GENESIS_UNREACHABLE").await;

    let asks = "SELECT count(*) FROM hypha.spawn_ask";
    assert_eq!(fixture.count(asks).await, 1);
}

#[tokio::test]
async fn only_graphs_that_say_so_are_asked_for() {
    let fixture = started().await;
    let shy = fixture.start(wanting("shy", false)).await;
    let bold = fixture.start(wanting("bold", true)).await;

    until_why(&fixture, &bold, "will be spawned").await;

    assert!(!why(&fixture, &shy).await.contains("spawned"));
    let spawning = "SELECT count(*) FROM hypha.spawning";
    assert_eq!(fixture.count(spawning).await, 1);
}

#[tokio::test]
async fn a_run_that_has_ended_is_looked_through_no_more() {
    let fixture = started().await;
    let run = fixture.start(wanting("rare", true)).await;
    until_why(&fixture, &run, "will be spawned").await;

    let mut worker = fixture.worker("late", &["skill:rare"]).await;
    let attempt = worker.take().await;
    worker.complete(&attempt).await.unwrap();

    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
    let spawning = "SELECT count(*) FROM hypha.spawning";
    wait_until(BOUND, "the run is left out", async || {
        fixture.count(spawning).await == 0
    })
    .await;
}

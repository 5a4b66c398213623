//! Where a run stands as a whole.

use std::time::Instant;

use cambium_proto::hypha::v1::{FanOut, ReasonKind, Retry, RunState, TaskState};

use super::{assert_says, in_state, overview_of, park, pause};
use crate::fixture::{change, graph, start};

#[tokio::test]
async fn the_most_important_reasons_come_first_one_for_tasks_alike() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let keys = [
        "bad1", "bad2", "parks1", "parks2", "backs", "runs1", "runs2", "quiet1", "quiet2",
    ];
    let mut graph = graph("g", &keys, &[]);
    graph.fail_fast = Some(false);
    for n in 0..3 {
        let mut node = crate::fixture::node(&format!("never{n}"));
        node.requires = vec!["magic".to_owned()];
        graph.nodes.push(node);
    }
    graph.nodes.push(crate::fixture::node("after"));
    graph.edges.push(crate::fixture::edge("runs1", "after"));
    change(&mut graph, "backs").retry = Some(Retry {
        initial_ms: Some(600_000),
        cap_ms: Some(600_000),
        ..Retry::default()
    });
    let run = fixture.start(graph).await;
    for key in &keys[..7] {
        let attempt = worker.take_node(key).await;
        match *key {
            "bad1" | "bad2" => {
                worker.fail(&attempt, "BROKEN", false).await.unwrap();
            }
            "parks1" | "parks2" => park(&mut worker, &attempt, "go", None).await,
            "backs" => {
                worker.fail(&attempt, "FLAKY", true).await.unwrap();
            }
            _ => {}
        }
    }

    let reply = overview_of(&fixture, &run).await;

    assert_eq!(reply.state(), RunState::Running);
    assert_eq!(
        reply.summary,
        "2 of 13 tasks have ended: 2 failed; 2 running, 5 ready, 1 backing off, 2 parked and 1 waiting"
    );
    let told: Vec<_> = reply
        .reasons
        .iter()
        .map(|why| (why.kind(), why.task.as_str()))
        .collect();
    let expected = [
        (ReasonKind::Ended, "bad1"),
        (ReasonKind::NoEligibleAgent, "never0"),
        (ReasonKind::Parked, "parks1"),
        (ReasonKind::AllBusy, "quiet1"),
        (ReasonKind::BackingOff, "backs"),
        (ReasonKind::Running, "runs1"),
    ];
    assert_eq!(told, expected);
    assert_says(&reply.reasons[0], &["it and 1 more failed with BROKEN"]);
    assert_says(
        &reply.reasons[1],
        &["it and 2 more are ready", "lacks `magic`"],
    );
    assert_says(
        &reply.reasons[2],
        &["it and 1 more have parked until the signal `go`"],
    );
    assert_says(&reply.reasons[5], &["it and 1 more run at worker `w`"]);
    assert_eq!(reply.more, 0);
}

#[tokio::test]
async fn at_most_twenty_reasons_are_listed_and_the_rest_is_counted() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let keys: Vec<String> = (0..25).map(|n| format!("n{n:02}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let run = fixture.start(graph("g", &keys, &[])).await;
    for key in &keys {
        let attempt = worker.take_node(key).await;
        park(&mut worker, &attempt, &format!("for {key}"), None).await;
    }
    pause(&fixture, &run).await;

    let reply = overview_of(&fixture, &run).await;

    assert_eq!(reply.reasons.len(), 20);
    assert!(
        reply
            .reasons
            .iter()
            .all(|why| why.kind() == ReasonKind::Parked)
    );
    assert_eq!(reply.more, 5);
}

#[tokio::test]
async fn an_ended_run_says_how_and_why() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let good = fixture.start(graph("good", &["a"], &[])).await;
    worker.work(&[]).await;
    let bad = fixture.start(graph("bad", &["a", "b"], &["a->b"])).await;
    worker.work(&["a"]).await;
    let stopped = fixture.start(graph("stopped", &["a"], &[])).await;
    super::cancel(&fixture, &stopped, 0).await;

    let good = overview_of(&fixture, &good).await;
    let bad = overview_of(&fixture, &bad).await;
    let stopped = overview_of(&fixture, &stopped).await;

    assert_eq!(good.reasons.len(), 1);
    assert_says(&good.reasons[0], &["the run has succeeded"]);
    assert_eq!(good.summary, "1 of 1 tasks have ended: 1 succeeded");
    assert_says(
        &bad.reasons[0],
        &["the run has failed: `a` failed (BROKEN)", "RerunFrom"],
    );
    assert_eq!(bad.reasons[1].task, "a");
    assert_eq!(bad.state(), RunState::Failed);
    assert_says(&stopped.reasons[0], &["the run was cancelled"]);
    for reply in [good, bad, stopped] {
        assert_eq!(
            (reply.reasons[0].kind(), reply.more),
            (ReasonKind::Ended, 0)
        );
    }
}

#[tokio::test]
async fn a_run_of_fifty_thousand_tasks_is_explained_without_loading_them() {
    let fixture = start().await;
    let mut graph = graph("g", &["each"], &[]);
    change(&mut graph, "each").fan_out = Some(FanOut {
        over: "input".to_owned(),
    });
    let run = fixture.start_on(graph, "[1]").await;
    in_state(&fixture, &run, "each[0]", TaskState::Ready).await;
    for statement in [
        "INSERT INTO hypha.hot (run_id, n, i, state, prio, queue, turn, epoch, failures, losses)
         SELECT run_id, n, m, 0, prio, queue, turn + m, 0, 0, 0 FROM hypha.hot, generate_series(2, 50000) m",
        "UPDATE hypha.run SET total = 50000, open = 50001",
    ] {
        sqlx::query(statement)
            .execute(&fixture.database.owner)
            .await
            .unwrap();
    }

    let asked = Instant::now();
    let reply = overview_of(&fixture, &run).await;
    let took = asked.elapsed();

    assert_eq!(reply.reasons.len(), 1);
    assert_says(&reply.reasons[0], &["it and 49999 more are ready"]);
    assert_eq!(reply.summary, "0 of 50000 tasks have ended; 50000 ready");
    assert_eq!(reply.more, 0);
    println!("took {took:?}");
}

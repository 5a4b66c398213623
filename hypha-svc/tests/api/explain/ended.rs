//! Why a task ended as it did.

use cambium_proto::hypha::v1::{
    FanOut, Join, JoinKind, Reason, ReasonKind, RerunFromRequest, Retry, TaskState,
};

use super::{assert_says, cancel, in_state, join, overview_of, why};
use crate::fixture::{Fixture, WORKSPACE, Worker, change, edge, edge_on, graph, start};

async fn ended(fixture: &Fixture, run: &str, key: &str) -> Reason {
    let why = why(fixture, run, key).await;
    assert_eq!(why.kind(), ReasonKind::Ended, "{}", why.text);
    why
}

/// Completes what comes, with an output each, except for nodes that are to fail.
async fn work(worker: &mut Worker, output: &str, failing: &[&str]) {
    loop {
        let attempts = worker.poll(100, 300).await.unwrap();
        if attempts.is_empty() {
            return;
        }
        for attempt in attempts {
            if failing.contains(&attempt.node.as_str()) {
                worker.fail(&attempt, "BROKEN", false).await.unwrap();
            } else {
                worker.complete_with(&attempt, output).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_success_says_whose_it_is() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    work(&mut worker, "1", &[]).await;

    let why = ended(&fixture, &run, "a").await;

    assert_says(&why, &["it succeeded at 20", "done by agent `w`"]);
}

#[tokio::test]
async fn a_failure_says_why_how_often_and_what_follows() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("g", &["final", "used", "handled", "next"], &[]);
    graph.fail_fast = Some(false);
    change(&mut graph, "used").retry = Some(Retry {
        max_attempts: Some(1),
        ..Retry::default()
    });
    graph
        .edges
        .push(edge_on("handled", "next", &[TaskState::Failed]));
    let run = fixture.start(graph).await;
    work(&mut worker, "1", &["final", "used", "handled"]).await;

    let last = ended(&fixture, &run, "final").await;
    let used = ended(&fixture, &run, "used").await;
    let handled = ended(&fixture, &run, "handled").await;

    assert_says(
        &last,
        &["failed with BROKEN in attempt 1 of 3, and such a failure is not tried again"],
    );
    assert_says(&last, &["no edge leads on", "RerunFrom"]);
    assert_eq!(last.subjects, ["BROKEN"]);
    assert_says(&used, &["failed with BROKEN after 1 of 1 attempts"]);
    assert_says(&handled, &["an edge leads on from that"]);
}

#[tokio::test]
async fn a_condition_without_an_answer_says_which() {
    let fixture = start().await;
    let mut graph = graph("g", &["a"], &[]);
    change(&mut graph, "a").when = "input.missing > 1".to_owned();
    let run = fixture.start_on(graph, "{}").await;
    in_state(&fixture, &run, "a", TaskState::Failed).await;

    let why = ended(&fixture, &run, "a").await;

    assert_says(
        &why,
        &["failed with CONDITION_ERROR", "`input.missing > 1`"],
    );
}

#[tokio::test]
async fn a_failed_fan_out_names_its_failed_members() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("g", &["each"], &[]);
    graph.fail_fast = Some(false);
    change(&mut graph, "each").fan_out = Some(FanOut {
        over: "input".to_owned(),
    });
    let run = fixture.start_on(graph, "[1,2,3]").await;
    for attempt in [
        worker.take().await,
        worker.take().await,
        worker.take().await,
    ] {
        if attempt.index == Some(1) {
            worker.fail(&attempt, "BROKEN", false).await.unwrap();
        } else {
            worker.complete(&attempt).await.unwrap();
        }
    }

    let group = ended(&fixture, &run, "each").await;
    let member = ended(&fixture, &run, "each[1]").await;

    assert_says(&group, &["1 of its 3 members did: `each[1]`"]);
    assert_eq!(group.subjects, ["each[1]"]);
    assert_says(
        &member,
        &["failed with BROKEN", "so the fan-out it belongs to fails"],
    );
}

#[tokio::test]
async fn what_was_skipped_says_by_what() {
    let fixture = start().await;
    let mut graph = graph("g", &["by_condition", "by_list", "by_either"], &[]);
    change(&mut graph, "by_condition").when = "input.go".to_owned();
    let over = || {
        Some(FanOut {
            over: "input.list".to_owned(),
        })
    };
    change(&mut graph, "by_list").fan_out = over();
    let either = change(&mut graph, "by_either");
    either.when = "!input.go".to_owned();
    either.fan_out = over();
    let run = fixture.start_on(graph, r#"{"go":false,"list":[]}"#).await;
    for key in ["by_condition", "by_list", "by_either"] {
        in_state(&fixture, &run, key, TaskState::Skipped).await;
    }

    let by_condition = ended(&fixture, &run, "by_condition").await;
    let by_list = ended(&fixture, &run, "by_list").await;
    let by_either = ended(&fixture, &run, "by_either").await;

    assert_says(&by_condition, &["its condition `input.go` was false"]);
    assert_says(
        &by_list,
        &["the list `input[\"list\"]` that it fans out over was empty"],
    );
    assert_says(
        &by_either,
        &["the list `input[\"list\"]` that it fans out over was empty"],
    );
}

#[tokio::test]
async fn what_was_omitted_says_which_edges_died_and_why() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph(
        "g",
        &["bad", "good", "all", "behind", "when", "any", "two", "expr"],
        &[
            "bad->all",
            "good->all",
            "all->behind",
            "bad->two",
            "good->two",
        ],
    );
    graph.fail_fast = Some(false);
    let mut conditional = edge("good", "when");
    conditional.when = "output.score > 3".to_owned();
    graph.edges.push(conditional);
    let on_failure = [TaskState::Failed];
    graph.edges.push(edge("bad", "any"));
    graph.edges.push(edge_on("good", "any", &on_failure));
    graph.edges.push(edge("bad", "expr"));
    graph.edges.push(edge("good", "expr"));
    change(&mut graph, "any").join = join(JoinKind::Any);
    change(&mut graph, "two").join = Some(Join {
        kind: JoinKind::Quorum.into(),
        needed: 2,
        ..Join::default()
    });
    change(&mut graph, "expr").join = Some(Join {
        kind: JoinKind::Expr.into(),
        expr: "state.bad == 'succeeded'".to_owned(),
        ..Join::default()
    });
    let run = fixture.start(graph).await;
    work(&mut worker, r#"{"score":1}"#, &["bad"]).await;
    in_state(&fixture, &run, "expr", TaskState::Omitted).await;

    let expected: [(&str, &[&str], &[&str]); 6] = [
        (
            "all",
            &["bad"],
            &[
                "one of its edges could not fire",
                "`bad` failed, and the edge from it fires on succeeded",
            ],
        ),
        ("behind", &["all"], &["`all` was omitted, and the edge"]),
        (
            "when",
            &["good"],
            &["the condition `output.score > 3` on the edge from `good` was false"],
        ),
        (
            "any",
            &["bad", "good"],
            &[
                "none of its edges fired",
                "`good` succeeded, and the edge from it fires on failed",
            ],
        ),
        ("two", &["bad"], &["fewer than 2 of its edges could fire"]),
        (
            "expr",
            &["bad", "good"],
            &[
                "`state.bad == 'succeeded'` did not hold over `bad`, which failed and `good`, which succeeded",
            ],
        ),
    ];
    for (key, subjects, parts) in expected {
        let why = ended(&fixture, &run, key).await;
        assert_says(&why, parts);
        assert_eq!(why.subjects, subjects, "{key}");
    }
}

#[tokio::test]
async fn what_a_cancel_ended_says_so() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture
        .start(graph("g", &["a", "b", "c", "d"], &["a->d"]))
        .await;
    let a = worker.take_node("a").await;
    let b = worker.take_node("b").await;
    worker.take_node("c").await;
    cancel(&fixture, &run, 0).await;
    worker.fail(&a, "INTERRUPTED", true).await.ok();
    worker.complete(&b).await.ok();
    in_state(&fixture, &run, "c", TaskState::Cancelled).await;

    let never_began = ended(&fixture, &run, "d").await;
    let revoked = ended(&fixture, &run, "c").await;

    assert_says(
        &never_began,
        &["cancelled with the run before it could start"],
    );
    assert_says(
        &revoked,
        &["revoked when its grace was over, since the run was cancelled"],
    );
}

#[tokio::test]
async fn an_attempt_that_fails_or_goes_back_in_a_closing_run_says_so() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a", "b"], &[])).await;
    let a = worker.take_node("a").await;
    let b = worker.take_node("b").await;
    cancel(&fixture, &run, 60_000).await;
    worker.fail(&a, "INTERRUPTED", true).await.unwrap();
    let release = cambium_proto::hypha::v1::ReleaseRequest {
        registration_id: worker.registration.clone(),
        lease: b.lease,
    };
    worker.client.release(release).await.unwrap();

    let failed = ended(&fixture, &run, "a").await;
    let released = ended(&fixture, &run, "b").await;

    assert_says(
        &failed,
        &["failed with INTERRUPTED and was not tried again, since the run was cancelled"],
    );
    assert_says(
        &released,
        &["given up when nothing new could start, since the run was cancelled"],
    );
}

#[tokio::test]
async fn what_failed_fast_took_along_names_the_task_that_failed() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("g", &["handled", "bad", "next", "later"], &["bad->later"]);
    graph
        .edges
        .push(edge_on("handled", "next", &[TaskState::Failed]));
    change(&mut graph, "next").requires = vec!["nobody".to_owned()];
    let run = fixture.start(graph).await;
    let handled = worker.take_node("handled").await;
    worker.fail(&handled, "HARMLESS", false).await.unwrap();
    let bad = worker.take_node("bad").await;
    worker.fail(&bad, "BROKEN", false).await.unwrap();

    let queued = ended(&fixture, &run, "next").await;
    let waiting = ended(&fixture, &run, "later").await;

    assert_says(
        &queued,
        &["since `bad` failed (BROKEN) and the run fails fast"],
    );
    assert_eq!(queued.subjects, ["bad"]);
    assert_says(&waiting, &["was omitted", "`bad` failed"]);
}

#[tokio::test]
async fn a_loser_names_the_join_that_was_decided_without_it() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("g", &["a", "b", "c", "j"], &["a->j", "b->j", "c->j"]);
    change(&mut graph, "c").requires = vec!["nobody".to_owned()];
    change(&mut graph, "j").join = Some(Join {
        kind: JoinKind::Any.into(),
        cancel_losers: true,
        ..Join::default()
    });
    let run = fixture.start(graph).await;
    let a = worker.take_node("a").await;
    let b = worker.take_node("b").await;
    worker.complete(&a).await.unwrap();

    let told_to_stop = why(&fixture, &run, "b").await;
    worker.fail(&b, "STOPPED", true).await.unwrap();
    let stopped = ended(&fixture, &run, "b").await;
    let never_began = ended(&fixture, &run, "c").await;

    assert_eq!(told_to_stop.kind(), ReasonKind::Cancelling);
    assert_says(
        &told_to_stop,
        &[
            "no node waits for its output any more",
            "it is revoked at 20",
        ],
    );
    for loser in [stopped, never_began] {
        assert_says(
            &loser,
            &["it was cancelled, since `j` was decided without it"],
        );
        assert_eq!(loser.subjects, ["j"]);
    }
}

#[tokio::test]
async fn what_was_taken_over_says_from_where() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let first = fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    work(&mut worker, "1", &[]).await;
    let again = RerunFromRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_key: "again".to_owned(),
        run_id: first.clone(),
        nodes: vec!["b".to_owned()],
        dry_run: false,
    };
    let again = fixture.runs.clone().rerun_from(again).await.unwrap();
    let again = again.into_inner().run_id;
    work(&mut worker, "1", &[]).await;

    let taken = ended(&fixture, &again, "a").await;
    let done = ended(&fixture, &again, "b").await;
    let whole = overview_of(&fixture, &again).await;

    assert_says(
        &taken,
        &[
            &format!("taken over from run {first}"),
            "there it succeeded at",
        ],
    );
    assert!(!done.text.contains("taken over"));
    assert_eq!(
        whole.summary,
        "2 of 2 tasks have ended: 2 succeeded (1 taken over from the run that this one repeats)"
    );
}

//! Joins, end states and their cascades (design: hypha, section 2), with cases that broke neighbouring systems.

use std::collections::BTreeMap;

use cambium_proto::hypha::v1::{FanOut, Join, JoinKind, RunState, TaskState};

use crate::fixture::{Fixture, Wish, change, edge, edge_on, graph, start, start_with};
use cambium_testkit::{SignalSink, wait_until};
use std::time::Duration;

fn states(list: &[(&str, TaskState)]) -> BTreeMap<String, TaskState> {
    list.iter()
        .map(|(key, state)| ((*key).to_owned(), *state))
        .collect()
}

async fn done(fixture: &Fixture, run: &str) {
    wait_until(Duration::from_secs(10), "the run ends", async || {
        fixture.state(run).await > RunState::Cancelling
    })
    .await;
}

use TaskState::{Failed, Omitted, Skipped, Succeeded};

#[tokio::test]
async fn an_edge_may_name_what_a_skip_leaves_behind() {
    let sink = SignalSink::start().await;
    let fixture = start_with(Wish {
        immune: Some(sink.url()),
        ..Wish::default()
    })
    .await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph(
        "r1",
        &["O", "A", "B", "C", "D", "E"],
        &["O->A", "O->B", "A->C", "B->D", "C->E"],
    );
    graph
        .edges
        .push(edge_on("D", "E", &[Succeeded, Skipped, Omitted]));
    change(&mut graph, "B").when = "false".to_owned();
    let run = fixture.start(graph).await;

    worker.work(&[]).await;
    done(&fixture, &run).await;

    let expected = [
        ("O", Succeeded),
        ("A", Succeeded),
        ("B", Skipped),
        ("C", Succeeded),
        ("D", Omitted),
        ("E", Succeeded),
    ];
    assert_eq!(fixture.states(&run).await, states(&expected));
    let run = fixture.run(&run).await;
    assert_eq!((run.state(), run.gratitude), (RunState::Succeeded, 3));
    wait_until(Duration::from_secs(10), "gratitude arrives", async || {
        sink.received().len() >= 3
    })
    .await;
    let mut thanked: Vec<(String, String)> = sink
        .received()
        .into_iter()
        .filter_map(|signal| match signal.payload {
            Some(cambium_proto::signal::v1::signal::Payload::Gratitude(thanks)) => {
                let key = |id: &str| id.rsplit('/').next().unwrap().to_owned();
                Some((key(&thanks.from_task_id), key(&thanks.to_task_id)))
            }
            _ => None,
        })
        .collect();
    thanked.sort();
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(thanked, [pair("A", "C"), pair("C", "E"), pair("O", "A")]);
}

#[tokio::test]
async fn a_skipped_parent_and_an_omitted_parent_are_no_different() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("r2", &["A", "B", "C"], &["A->B", "B->C"]);
    change(&mut graph, "A").when = "1 > 2".to_owned();
    let run = fixture.start(graph).await;

    done(&fixture, &run).await;

    assert!(worker.finds_nothing().await);
    let expected = [("A", Skipped), ("B", Omitted), ("C", Omitted)];
    assert_eq!(fixture.states(&run).await, states(&expected));
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn a_settled_join_runs_once_with_the_branch_that_was_taken() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("r4", &["S", "T", "F", "J"], &["T->J", "F->J"]);
    for (to, when) in [("T", "output.b"), ("F", "!output.b")] {
        let mut branch = edge("S", to);
        branch.when = when.to_owned();
        graph.edges.push(branch);
    }
    change(&mut graph, "J").join = Some(Join {
        kind: JoinKind::Settled.into(),
        ..Join::default()
    });
    let run = fixture.start(graph).await;

    let first = worker.take_node("S").await;
    worker.complete_with(&first, r#"{"b":true}"#).await.unwrap();
    let taken = worker.take_node("T").await;
    worker.complete(&taken).await.unwrap();
    let join = worker.take_node("J").await;
    worker.complete(&join).await.unwrap();

    assert_eq!(join.inputs.len(), 1);
    assert_eq!(join.inputs[0].key, "T");
    assert!(worker.finds_nothing().await);
    let expected = [
        ("S", Succeeded),
        ("T", Succeeded),
        ("F", Omitted),
        ("J", Succeeded),
    ];
    assert_eq!(fixture.states(&run).await, states(&expected));
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn a_fast_branch_does_not_wait_for_a_slow_one() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let graph = graph(
        "r7",
        &["S", "fast", "slow", "after_fast"],
        &["S->fast", "S->slow", "fast->after_fast"],
    );
    let run = fixture.start(graph).await;
    let start = worker.take_node("S").await;
    worker.complete(&start).await.unwrap();
    let mut both = worker.poll(2, 10_000).await.unwrap();
    if both.len() < 2 {
        both.push(worker.take().await);
    }
    let fast = both.iter().find(|attempt| attempt.node == "fast").unwrap();
    let slow = both.iter().find(|attempt| attempt.node == "slow").unwrap();

    worker.complete(fast).await.unwrap();
    let after = worker.take_node("after_fast").await;
    worker.complete(&after).await.unwrap();

    assert_eq!(fixture.states(&run).await["slow"], TaskState::Running);
    worker.complete(slow).await.unwrap();
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
}

#[tokio::test]
async fn any_runs_once_and_what_fires_later_is_no_input() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("any", &["A", "B", "J"], &["A->J", "B->J"]);
    change(&mut graph, "J").join = Some(Join {
        kind: JoinKind::Any.into(),
        ..Join::default()
    });
    let run = fixture.start(graph).await;
    let mut both = worker.poll(2, 10_000).await.unwrap();
    if both.len() < 2 {
        both.push(worker.take().await);
    }

    worker.complete(&both[0]).await.unwrap();
    let join = worker.take_node("J").await;
    worker.complete(&both[1]).await.unwrap();
    worker.complete(&join).await.unwrap();

    assert_eq!(join.inputs.len(), 1);
    assert_eq!(join.inputs[0].key, both[0].node);
    assert!(worker.finds_nothing().await);
    let run = fixture.run(&run).await;
    assert_eq!((run.state(), run.gratitude), (RunState::Succeeded, 1));
}

#[tokio::test]
async fn a_quorum_that_can_no_longer_be_reached_is_omitted() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("quorum", &["A", "B", "C", "J"], &["A->J", "B->J", "C->J"]);
    graph.fail_fast = Some(false);
    change(&mut graph, "J").join = Some(Join {
        kind: JoinKind::Quorum.into(),
        needed: 2,
        ..Join::default()
    });
    let run = fixture.start(graph).await;

    worker.work(&["A", "C"]).await;

    let expected = [
        ("A", Failed),
        ("B", Succeeded),
        ("C", Failed),
        ("J", Omitted),
    ];
    assert_eq!(fixture.states(&run).await, states(&expected));
    assert_eq!(fixture.state(&run).await, RunState::Failed);
}

#[tokio::test]
async fn an_expression_join_reads_end_states() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("expr", &["A", "B", "J"], &["A->J", "B->J"]);
    graph.fail_fast = Some(false);
    change(&mut graph, "J").join = Some(Join {
        kind: JoinKind::Expr.into(),
        expr: r#"state.A == "succeeded" && state.B == "failed""#.to_owned(),
        ..Join::default()
    });
    let run = fixture.start(graph).await;

    worker.work(&["B"]).await;
    done(&fixture, &run).await;

    let expected = [("A", Succeeded), ("B", Failed), ("J", Succeeded)];
    assert_eq!(fixture.states(&run).await, states(&expected));
    let sources = &fixture.tasks(&run).await["J"].input_source_task_ids;
    assert_eq!(sources, &[format!("{run}/A")]);
}

#[tokio::test]
async fn a_failure_that_an_edge_names_is_handled() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph("handled", &["A", "mend"], &[]);
    graph.edges.push(edge_on("A", "mend", &[Failed]));
    let run = fixture.start(graph).await;

    worker.work(&["A"]).await;

    assert_eq!(
        fixture.states(&run).await,
        states(&[("A", Failed), ("mend", Succeeded)])
    );
    let run = fixture.run(&run).await;
    assert_eq!((run.state(), run.gratitude), (RunState::Succeeded, 0));
}

#[tokio::test]
async fn a_long_chain_behind_a_failure_is_omitted_to_its_end() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let keys: Vec<String> = (0..200).map(|n| format!("n{n}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let mut graph = graph("chain", &keys, &[]);
    graph.fail_fast = Some(false);
    for pair in keys.windows(2) {
        graph.edges.push(edge(pair[0], pair[1]));
    }
    // Two parents each, so that every level needs its tally.
    for trio in keys.windows(3) {
        graph.edges.push(edge(trio[0], trio[2]));
    }
    let run = fixture.start(graph).await;

    worker.work(&["n0"]).await;

    let run = fixture.run(&run).await;
    let tasks = run.tasks.unwrap();
    assert_eq!((tasks.failed, tasks.omitted, tasks.open), (1, 199, 0));
    assert_eq!(run.state, i32::from(RunState::Failed));
}

#[tokio::test]
async fn members_of_a_fan_out_keep_the_lists_order() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph(
        "fan",
        &["plan", "each", "sum"],
        &["plan->each", "each->sum"],
    );
    change(&mut graph, "each").fan_out = Some(FanOut {
        over: "inputs.plan.items".to_owned(),
    });
    let run = fixture.start(graph).await;

    let plan = worker.take_node("plan").await;
    worker
        .complete_with(&plan, r#"{"items":["x","y","z"]}"#)
        .await
        .unwrap();
    let mut members = Vec::new();
    while members.len() < 3 {
        members.extend(worker.poll(3, 10_000).await.unwrap());
    }
    members.reverse();
    for member in &members {
        let output = format!(
            r#"{{"item":{}}}"#,
            std::str::from_utf8(&member.item).unwrap()
        );
        worker.complete_with(member, &output).await.unwrap();
    }
    let sum = worker.take_node("sum").await;
    worker.complete(&sum).await.unwrap();

    let Some(cambium_proto::hypha::v1::input::Content::Inline(list)) = &sum.inputs[0].content
    else {
        panic!("the list is small");
    };
    assert_eq!(list, &br#"[{"item":"x"},{"item":"y"},{"item":"z"}]"#[..]);
    let run_now = fixture.run(&run).await;
    let gift = run_now.gift.unwrap();
    assert_eq!(run_now.state, i32::from(RunState::Succeeded));
    // plan to each of three members, and each member to sum.
    assert_eq!(
        (gift.chain_length, gift.chain_breadth, gift.total_handoffs),
        (2, 3, 6)
    );
    assert_eq!(
        (gift.consumed_outputs, gift.total_outputs, run_now.gratitude),
        (4, 5, 6)
    );
    let tasks = fixture.tasks(&run).await;
    assert_eq!(tasks["sum"].input_source_task_ids.len(), 3);
}

#[tokio::test]
async fn an_empty_fan_out_is_skipped_and_what_is_no_list_fails() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut graph = graph(
        "empty",
        &["plan", "none", "bad"],
        &["plan->none", "plan->bad"],
    );
    graph.fail_fast = Some(false);
    for (key, over) in [("none", "inputs.plan.items"), ("bad", "inputs.plan.word")] {
        change(&mut graph, key).fan_out = Some(FanOut {
            over: over.to_owned(),
        });
    }
    let run = fixture.start(graph).await;

    let plan = worker.take_node("plan").await;
    worker
        .complete_with(&plan, r#"{"items":[],"word":"no"}"#)
        .await
        .unwrap();
    done(&fixture, &run).await;

    let tasks = fixture.tasks(&run).await;
    assert_eq!(tasks["none"].state(), Skipped);
    assert_eq!(tasks["bad"].state(), Failed);
    assert_eq!(tasks["bad"].code, "FAN_OUT_NOT_A_LIST");
}

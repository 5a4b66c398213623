//! Repeating part of an ended run: what is reused is neither done nor thanked again.

use cambium_proto::hypha::v1::{
    CancelRunRequest, FanOut, GetOutputRequest, Join, JoinKind, RerunFromRequest,
    RerunFromResponse, RunState, TaskState, WatchRunRequest,
};
use tonic::{Code, Status};

use crate::fixture::{Fixture, WORKSPACE, change, edge_on, graph, id, refusal, start};

fn request(run: &str, nodes: &[&str]) -> RerunFromRequest {
    RerunFromRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_key: id(),
        run_id: run.to_owned(),
        nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
        dry_run: false,
    }
}

async fn rerun(fixture: &Fixture, request: RerunFromRequest) -> Result<RerunFromResponse, Status> {
    Ok(fixture.runs.clone().rerun_from(request).await?.into_inner())
}

#[tokio::test]
async fn only_what_the_named_nodes_reach_is_done_again() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let edges = ["a->b", "a->c", "b->d", "c->d"];
    let first = fixture
        .start(graph("g", &["a", "b", "c", "d"], &edges))
        .await;
    worker.work(&[]).await;

    let plan = RerunFromRequest {
        dry_run: true,
        request_key: String::new(),
        ..request(&first, &["b"])
    };
    let plan = rerun(&fixture, plan).await.unwrap();
    let reply = rerun(&fixture, request(&first, &["b"])).await.unwrap();
    assert_eq!(
        (plan.reused, plan.rerun, plan.run_id),
        (reply.reused.clone(), reply.rerun.clone(), String::new())
    );
    assert_eq!(reply.reused, ["a", "c"]);
    assert_eq!(reply.rerun, ["b", "d"]);

    let b = worker.take_node("b").await;
    assert_eq!(b.inputs[0].key, "a");
    worker.complete(&b).await.unwrap();
    let d = worker.take_node("d").await;
    let keys: Vec<&str> = d.inputs.iter().map(|input| input.key.as_str()).collect();
    assert_eq!(keys, ["b", "c"]);
    worker.complete(&d).await.unwrap();

    let run = fixture.run(&reply.run_id).await;
    assert_eq!(run.state(), RunState::Succeeded);
    assert_eq!(run.rerun_of_run_id, first);
    let tasks = run.tasks.unwrap();
    assert_eq!(
        (tasks.total, tasks.succeeded, tasks.reused, tasks.open),
        (4, 4, 2, 0)
    );
    let gift = run.gift.unwrap();
    assert_eq!(
        gift,
        fixture.run(&first).await.gift.unwrap(),
        "the lineage is the same"
    );
    assert_eq!(
        run.gratitude, 1,
        "b to d alone: a and c were thanked before"
    );
}

#[tokio::test]
async fn a_failed_run_is_repeated_from_its_failure_without_naming_it() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let first = fixture
        .start(graph("g", &["a", "b", "c"], &["a->b", "b->c"]))
        .await;
    worker.work(&["b"]).await;
    assert_eq!(fixture.state(&first).await, RunState::Failed);

    let reply = rerun(&fixture, request(&first, &[])).await.unwrap();
    worker.work(&[]).await;

    assert_eq!(reply.reused, ["a"]);
    assert_eq!(fixture.state(&reply.run_id).await, RunState::Succeeded);
}

#[tokio::test]
async fn the_same_key_is_one_run_and_with_other_nodes_it_is_refused() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let first = fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    worker.work(&[]).await;
    let wish = request(&first, &["b"]);

    let one = rerun(&fixture, wish.clone()).await.unwrap();
    let same = rerun(&fixture, wish.clone()).await.unwrap();
    let other = RerunFromRequest {
        nodes: vec!["a".to_owned()],
        ..wish
    };
    let refused = rerun(&fixture, other).await.unwrap_err();

    assert_eq!(one, same);
    assert_eq!(
        refusal(&refused),
        (Code::AlreadyExists, "KEY_TAKEN".to_owned())
    );
}

#[tokio::test]
async fn what_cannot_be_repeated_is_refused_with_the_reason() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a"], &[])).await;

    let running = rerun(&fixture, request(&run, &["a"])).await.unwrap_err();
    worker.work(&[]).await;
    let unknown = rerun(&fixture, request(&run, &["z"])).await.unwrap_err();
    let nothing = rerun(&fixture, request(&run, &[])).await.unwrap_err();

    assert_eq!(
        refusal(&running),
        (Code::FailedPrecondition, "RUN_NOT_ENDED".to_owned())
    );
    assert_eq!(unknown.code(), Code::InvalidArgument);
    assert!(unknown.message().contains("z"), "{unknown:?}");
    assert_eq!(nothing.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn skipped_ends_handled_failures_and_fan_outs_are_taken_over() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut wanted = graph(
        "g",
        &["list", "each", "skip", "bad", "mend", "end"],
        &["list->each", "skip->end", "each->end"],
    );
    wanted
        .edges
        .push(edge_on("bad", "mend", &[TaskState::Failed]));
    wanted
        .edges
        .push(edge_on("mend", "end", &[TaskState::Succeeded]));
    wanted.edges[1].on = vec![TaskState::Succeeded.into(), TaskState::Skipped.into()];
    change(&mut wanted, "each").fan_out = Some(FanOut {
        over: "input.items".to_owned(),
    });
    change(&mut wanted, "skip").when = "false".to_owned();
    let first = fixture.start_on(wanted, r#"{"items":[1,2,3]}"#).await;
    worker.work(&["bad"]).await;
    assert_eq!(fixture.state(&first).await, RunState::Succeeded);

    let reply = rerun(&fixture, request(&first, &["end"])).await.unwrap();
    assert_eq!(reply.rerun, ["end"]);
    let end = worker.take_node("end").await;
    let keys: Vec<&str> = end.inputs.iter().map(|input| input.key.as_str()).collect();
    assert_eq!(keys, ["each", "mend"]);
    worker.complete(&end).await.unwrap();

    let before = fixture.tasks(&first).await;
    let after = fixture.tasks(&reply.run_id).await;
    let shape = |tasks: &std::collections::BTreeMap<String, cambium_proto::hypha::v1::Task>| {
        tasks
            .iter()
            .map(|(key, task)| (key.clone(), task.state()))
            .collect::<Vec<_>>()
    };
    assert_eq!(shape(&before), shape(&after));
    let output = GetOutputRequest {
        workspace_id: WORKSPACE.to_owned(),
        task_id: format!("{}/each", reply.run_id),
    };
    let output = fixture
        .runs
        .clone()
        .get_output(output)
        .await
        .unwrap()
        .into_inner()
        .output;
    assert_eq!(output.as_ref(), br#"[{"ok":true},{"ok":true},{"ok":true}]"#);
    let (old, new) = (fixture.run(&first).await, fixture.run(&reply.run_id).await);
    assert_eq!(new.tasks.unwrap().total, old.tasks.unwrap().total);
    assert_eq!(new.gift, old.gift);
}

#[tokio::test]
async fn a_cancelled_run_goes_on_where_it_was_stopped() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let first = fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    let attempt = worker.take_node("a").await;
    worker.complete(&attempt).await.unwrap();
    let cancel = CancelRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: first.clone(),
        ..CancelRunRequest::default()
    };
    fixture.runs.clone().cancel_run(cancel).await.unwrap();

    let reply = rerun(&fixture, request(&first, &[])).await.unwrap();
    worker.work(&[]).await;

    assert_eq!(reply.reused, ["a"]);
    assert_eq!(fixture.state(&reply.run_id).await, RunState::Succeeded);
}

#[tokio::test]
async fn a_rerun_that_has_nothing_left_to_run_ends_at_once_with_its_history() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut wanted = graph("g", &["a", "b"], &[]);
    // b runs only after a failure of a, and there was none.
    wanted.edges.push(edge_on("a", "b", &[TaskState::Failed]));
    let first = fixture.start(wanted).await;
    worker.work(&[]).await;

    let reply = rerun(&fixture, request(&first, &["b"])).await.unwrap();

    let run = fixture.run(&reply.run_id).await;
    assert_eq!(run.state(), RunState::Succeeded);
    assert!(run.gift.is_some());
    let watch = WatchRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        run_id: reply.run_id,
        after_seq: 0,
    };
    let mut events = fixture
        .runs
        .clone()
        .watch_run(watch)
        .await
        .unwrap()
        .into_inner();
    let mut seqs = Vec::new();
    while let Some(item) = events.message().await.unwrap() {
        if let Some(cambium_proto::hypha::v1::watch_run_response::Item::Event(event)) = item.item {
            seqs.push(event.seq);
        }
    }
    assert_eq!(seqs, (1..=run.seq).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_input_fixed_by_the_first_answer_stays_out_of_a_rerun_below_it() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let mut wanted = graph("g", &["a", "b", "j", "k"], &["a->j", "b->j", "j->k"]);
    change(&mut wanted, "j").join = Some(Join {
        kind: JoinKind::Any.into(),
        cancel_losers: true,
        ..Join::default()
    });
    let first = fixture.start(wanted).await;
    let (a, b) = (worker.take().await, worker.take().await);
    let (a, b) = if a.node == "a" { (a, b) } else { (b, a) };
    worker.complete(&a).await.unwrap();
    worker.fail(&b, "STOPPED", false).await.unwrap();
    worker.work(&[]).await;
    assert_eq!(fixture.state(&first).await, RunState::Succeeded);

    let reply = rerun(&fixture, request(&first, &["j"])).await.unwrap();

    assert_eq!(reply.reused, ["a", "b"], "a loser is taken over as one");
    let j = worker.take_node("j").await;
    assert_eq!(j.inputs.len(), 1);
    worker.complete(&j).await.unwrap();
    worker.work(&[]).await;
    assert_eq!(fixture.state(&reply.run_id).await, RunState::Succeeded);
}

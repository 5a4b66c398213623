//! How long runs and their events are kept, and what is left of a run that was deleted: nothing.

use std::time::Duration;

use bytes::Bytes;
use cambium_proto::hypha::v1::run_service_client::RunServiceClient;
use cambium_proto::hypha::v1::task_service_client::TaskServiceClient;
use cambium_proto::hypha::v1::watch_run_response::Item;
use cambium_proto::hypha::v1::{
    CancelRunRequest, ExplainRunRequest, ExplainTaskRequest, GetOutputRequest, GetRunRequest,
    GetTaskRequest, Graph, LeaseState, ListTasksRequest, RerunFromRequest, RunEvent, RunEventKind,
    RunState, SignalRunRequest, StartRunRequest, WatchRunRequest,
};
use cambium_testkit::wait_until;
use chrono::TimeDelta;
use hypha_svc::Retention;
use sqlx::AssertSqlSafe;
use tonic::{Code, Status};
use uuid::Uuid;

use crate::fixture::{Authenticated, Fixture, WORKSPACE, Wish, graph, id, start, start_with};

type Runs = RunServiceClient<Authenticated>;
type Tasks = TaskServiceClient<Authenticated>;

const PATIENCE: Duration = Duration::from_secs(20);

/// A service that looks for what is past its time all the while.
fn eager() -> Wish {
    keeping(Retention {
        every: Duration::from_millis(100),
        ..Retention::default()
    })
}

fn keeping(retention: Retention) -> Wish {
    Wish {
        retention,
        ..Wish::default()
    }
}

fn watch(run: &str, after_seq: i64) -> WatchRunRequest {
    WatchRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        run_id: run.to_owned(),
        after_seq,
    }
}

/// What a watch brings until it ends, and how it ended.
async fn watched(runs: &mut Runs, run: &str, after_seq: i64) -> (Vec<RunEvent>, Option<Status>) {
    let mut stream = match runs.watch_run(watch(run, after_seq)).await {
        Ok(reply) => reply.into_inner(),
        Err(status) => return (Vec::new(), Some(status)),
    };
    let mut events = Vec::new();
    loop {
        match stream.message().await {
            Ok(Some(item)) => {
                if let Some(Item::Event(event)) = item.item {
                    events.push(event);
                }
            }
            Ok(None) => return (events, None),
            Err(status) => return (events, Some(status)),
        }
    }
}

fn numbers(events: &[RunEvent]) -> Vec<i64> {
    events.iter().map(|event| event.seq).collect()
}

/// The stored batches of a run: how many transitions, up to which.
async fn batches(fixture: &Fixture, run: &str) -> Vec<(i32, i32)> {
    sqlx::query_as("SELECT k, seq FROM hypha.event WHERE run_id = $1::uuid ORDER BY seq")
        .bind(run)
        .fetch_all(&fixture.database.owner)
        .await
        .unwrap()
}

/// Rows of a run in every table that has any.
async fn rows(fixture: &Fixture, run: &str) -> i64 {
    let tables: Vec<(String,)> = sqlx::query_as(
        "SELECT table_name::text FROM information_schema.columns
         WHERE table_schema = 'hypha' AND column_name = 'run_id'",
    )
    .fetch_all(&fixture.database.owner)
    .await
    .unwrap();
    let mut all = 0;
    for (table,) in tables {
        let count = format!("SELECT count(*) FROM hypha.{table} WHERE run_id = $1::uuid");
        let (rows,): (i64,) = sqlx::query_as(AssertSqlSafe(count))
            .bind(run)
            .fetch_one(&fixture.database.owner)
            .await
            .unwrap();
        all += rows;
    }
    all
}

async fn until_gone(fixture: &Fixture, run: &str) {
    let gone = async || rows(fixture, run).await == 0;
    wait_until(PATIENCE, "the run is gone", gone).await;
}

/// Waits until a round that began after this call is over: a run that is past its time when this is called is gone then.
async fn a_round(fixture: &Fixture) {
    let old = Uuid::now_v7();
    let plant = "INSERT INTO hypha.gone (run_id) VALUES ($1)";
    for _ in 0..2 {
        sqlx::query(plant)
            .bind(old)
            .execute(&fixture.database.owner)
            .await
            .unwrap();
        let taken = async || rows(fixture, &old.to_string()).await == 0;
        wait_until(PATIENCE, "a round has begun", taken).await;
    }
}

async fn ended(fixture: &Fixture, graph: Graph) -> String {
    let mut worker = fixture.worker(&id(), &[]).await;
    let run = fixture.start(graph).await;
    worker.work(&[]).await;
    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
    run
}

#[tokio::test]
async fn a_run_keeps_its_newest_events_in_whole_batches() {
    let wish = keeping(Retention {
        event_limit: 3,
        ..Retention::default()
    });
    let fixture = start_with(wish).await;
    let mut runs = fixture.runs.clone();
    // The first batch has four transitions, so that a batch lies across the limit.
    let run = fixture
        .start(graph("g", &["a", "b", "c", "d"], &["a->d"]))
        .await;
    let before = batches(&fixture, &run).await;
    let mut worker = fixture.worker("w", &[]).await;
    let first = worker.take().await;

    let across = batches(&fixture, &run).await;
    worker.complete(&first).await.unwrap();
    worker.work(&[]).await;
    let after = batches(&fixture, &run).await;

    assert_eq!(before, [(4, 4)]);
    assert_eq!(
        across[0],
        (4, 4),
        "its last transitions are among the newest three"
    );
    let last = fixture.run(&run).await.seq;
    let kept: i64 = after.iter().map(|(k, _)| i64::from(*k)).sum();
    let lowest = last - kept + 1;
    let (k, seq) = after[0];
    assert!(
        i64::from(seq) > last - 3,
        "no batch lies below the newest three: {after:?}"
    );
    assert!(kept >= 3, "the newest three are there: {after:?}");
    assert_eq!(
        i64::from(seq - k) + 1,
        lowest,
        "no batch is missing between"
    );
    let (all, end) = watched(&mut runs, &run, lowest - 1).await;
    assert_eq!(numbers(&all), (lowest..=last).collect::<Vec<_>>());
    assert_eq!(all.last().unwrap().kind(), RunEventKind::RunEnded);
    assert!(end.is_none());
    let (none, refused) = watched(&mut runs, &run, lowest - 2).await;
    let refused = refused.unwrap();
    assert_eq!((none.len(), refused.code()), (0, Code::OutOfRange));
    assert!(
        refused
            .message()
            .ends_with(&format!("the lowest is {lowest}"))
    );
}

#[tokio::test]
async fn a_watch_may_begin_within_a_batch() {
    let wish = keeping(Retention {
        event_limit: 1,
        ..Retention::default()
    });
    let fixture = start_with(wish).await;
    let run = fixture.start(graph("g", &["a", "b", "c"], &[])).await;

    let mut stream = fixture
        .runs
        .clone()
        .watch_run(watch(&run, 2))
        .await
        .unwrap()
        .into_inner();

    let mut seen = Vec::new();
    while seen.len() < 2 {
        if let Some(Item::Event(event)) = stream.message().await.unwrap().unwrap().item {
            seen.push(event.seq);
        }
    }
    assert_eq!(seen, [3, 4]);
}

#[tokio::test]
async fn a_watcher_that_fell_behind_what_is_kept_is_told_and_sees_no_gap() {
    let fixture = start().await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    let mut stream = fixture
        .runs
        .clone()
        .watch_run(watch(&run, 0))
        .await
        .unwrap()
        .into_inner();
    for _ in 0..2 {
        stream.message().await.unwrap();
    }
    let jump = "UPDATE hypha.event SET seq = 9 WHERE run_id = $1::uuid";

    sqlx::query(jump)
        .bind(&run)
        .execute(&fixture.database.owner)
        .await
        .unwrap();
    let told = stream.message().await.unwrap_err();

    assert_eq!(told.code(), Code::OutOfRange);
    assert!(told.message().contains("the lowest is 8"), "{told}");
}

#[tokio::test]
async fn events_are_kept_a_week_past_the_end_and_the_run_a_month() {
    let fixture = start_with(eager()).await;
    let run = ended(&fixture, graph("g", &["a", "b"], &["a->b"])).await;
    let mut runs = fixture.runs.clone();
    let last = fixture.run(&run).await.seq;

    fixture.database.advance(TimeDelta::hours(7 * 24 - 1)).await;
    a_round(&fixture).await;
    let (history, _) = watched(&mut runs, &run, 0).await;
    fixture.database.advance(TimeDelta::hours(2)).await;
    let gone = async || batches(&fixture, &run).await.is_empty();
    wait_until(PATIENCE, "the events are gone", gone).await;
    let (_, refused) = watched(&mut runs, &run, last - 1).await;
    let (rest, end) = watched(&mut runs, &run, last).await;
    fixture.database.advance(TimeDelta::days(22)).await;
    a_round(&fixture).await;
    let tasks = fixture.tasks(&run).await;
    fixture.database.advance(TimeDelta::days(1)).await;
    until_gone(&fixture, &run).await;

    assert_eq!(numbers(&history), (1..=last).collect::<Vec<_>>());
    let refused = refused.unwrap();
    assert_eq!(refused.code(), Code::OutOfRange);
    assert!(
        refused
            .message()
            .ends_with(&format!("the lowest is {}", last + 1))
    );
    assert!(rest.is_empty() && end.is_none(), "nothing is left to send");
    assert_eq!(tasks.len(), 2);
}

#[tokio::test]
async fn a_graph_says_how_long_its_runs_are_kept() {
    let fixture = start_with(eager()).await;
    let plain = graph("plain", &["a"], &[]);
    let short = Graph {
        retain_days: Some(2),
        ..graph("short", &["a"], &[])
    };
    let long = Graph {
        retain_days: Some(400),
        ..graph("long", &["a"], &[])
    };
    let plain = ended(&fixture, plain).await;
    let short = ended(&fixture, short).await;
    let long = ended(&fixture, long).await;

    fixture.database.advance(TimeDelta::days(3)).await;
    until_gone(&fixture, &short).await;
    let after_three_days = fixture.state(&plain).await;
    fixture.database.advance(TimeDelta::days(30)).await;
    until_gone(&fixture, &plain).await;

    assert_eq!(after_three_days, RunState::Succeeded);
    assert_eq!(fixture.state(&long).await, RunState::Succeeded);
}

#[tokio::test]
async fn an_open_run_is_kept_however_old() {
    let fixture = start_with(eager()).await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a"], &[])).await;

    fixture.database.advance(TimeDelta::days(1_000)).await;
    a_round(&fixture).await;
    worker.work(&[]).await;

    assert_eq!(fixture.state(&run).await, RunState::Succeeded);
    let (events, _) = watched(&mut fixture.runs.clone(), &run, 0).await;
    assert_eq!(events.last().unwrap().kind(), RunEventKind::RunEnded);
}

#[tokio::test]
async fn the_key_of_a_deleted_run_is_free_again() {
    let fixture = start_with(eager()).await;
    let version = fixture.put(graph("g", &["a"], &[])).await.unwrap();
    let wish = |input: &str| StartRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_key: "nightly".to_owned(),
        graph: version.name.clone(),
        input: Bytes::from(input.to_owned()),
        ..StartRunRequest::default()
    };
    let mut runs = fixture.runs.clone();
    let first = runs.start_run(wish("1")).await.unwrap().into_inner().run_id;
    let mut worker = fixture.worker("w", &[]).await;
    worker.work(&[]).await;
    let taken = runs.start_run(wish("2")).await.unwrap_err();

    fixture.database.advance(TimeDelta::days(31)).await;
    until_gone(&fixture, &first).await;
    let second = runs.start_run(wish("2")).await.unwrap().into_inner().run_id;

    assert_eq!(taken.code(), Code::AlreadyExists);
    assert_ne!(first, second);
    worker.work(&[]).await;
    assert_eq!(fixture.state(&second).await, RunState::Succeeded);
}

/// How every call that names the run is answered.
async fn answers(mut runs: Runs, mut tasks: Tasks, run: &str) -> Vec<(&'static str, Option<Code>)> {
    let workspace_id = WORKSPACE.to_owned();
    let run_id = run.to_owned();
    let task_id = format!("{run}/a");
    let get_run = GetRunRequest {
        workspace_id: workspace_id.clone(),
        run_id: run_id.clone(),
        ..GetRunRequest::default()
    };
    let explain_run = ExplainRunRequest {
        workspace_id: workspace_id.clone(),
        run_id: run_id.clone(),
    };
    let get_output = GetOutputRequest {
        workspace_id: workspace_id.clone(),
        task_id: task_id.clone(),
    };
    let list_tasks = ListTasksRequest {
        workspace_id: workspace_id.clone(),
        run_id: run_id.clone(),
        ..ListTasksRequest::default()
    };
    let get_task = GetTaskRequest {
        workspace_id: workspace_id.clone(),
        task_id: task_id.clone(),
    };
    let explain_task = ExplainTaskRequest {
        workspace_id,
        task_id,
    };
    let code = |status: Status| status.code();
    vec![
        ("GetRun", runs.get_run(get_run).await.err().map(code)),
        (
            "ExplainRun",
            runs.explain_run(explain_run).await.err().map(code),
        ),
        (
            "GetOutput",
            runs.get_output(get_output).await.err().map(code),
        ),
        (
            "WatchRun",
            runs.watch_run(watch(run, 0)).await.err().map(code),
        ),
        (
            "ListTasks",
            tasks.list_tasks(list_tasks).await.err().map(code),
        ),
        ("GetTask", tasks.get_task(get_task).await.err().map(code)),
        (
            "ExplainTask",
            tasks.explain_task(explain_task).await.err().map(code),
        ),
    ]
}

async fn steered(runs: &mut Runs, run: &str) -> [Code; 2] {
    let cancel = CancelRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.to_owned(),
        ..CancelRunRequest::default()
    };
    let signal = SignalRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.to_owned(),
        name: "go".to_owned(),
        ..SignalRunRequest::default()
    };
    let cancelled = runs.cancel_run(cancel).await.unwrap_err();
    let signalled = runs.signal_run(signal).await.unwrap_err();
    [cancelled.code(), signalled.code()]
}

#[tokio::test]
async fn no_replica_remembers_a_deleted_run() {
    let fixture = start_with(eager()).await;
    let other = fixture.replica().await;
    let (other_runs, other_tasks) = other.reader();
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    let attempt = worker.take_node("a").await;
    worker.complete(&attempt).await.unwrap();
    let before = answers(other_runs.clone(), other_tasks.clone(), &run).await;

    fixture.database.advance(TimeDelta::days(31)).await;
    until_gone(&fixture, &run).await;

    assert!(before.iter().all(|(_, code)| code.is_none()), "{before:?}");
    let readers = [
        (fixture.runs.clone(), fixture.tasks.clone()),
        (other_runs, other_tasks),
    ];
    for (mut runs, tasks) in readers {
        for (call, code) in answers(runs.clone(), tasks, &run).await {
            assert_eq!(code, Some(Code::NotFound), "{call}");
        }
        assert_eq!(steered(&mut runs, &run).await, [Code::NotFound; 2]);
    }
    let mut there = other.same_worker(&worker);
    let late = [
        worker.heartbeat(&attempt).await,
        there.heartbeat(&attempt).await,
    ];
    assert_eq!(late, [LeaseState::NotFound, LeaseState::Lost]);
    let late = [
        worker.complete(&attempt).await.unwrap_err().code(),
        there.complete(&attempt).await.unwrap_err().code(),
    ];
    assert_eq!(late, [Code::NotFound, Code::Aborted]);
    assert_eq!(rows(&fixture, &run).await, 0, "late calls wrote nothing");
}

#[tokio::test]
async fn a_watcher_of_a_run_that_is_deleted_hears_so() {
    let fixture = start().await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    let mut stream = fixture
        .runs
        .clone()
        .watch_run(watch(&run, 0))
        .await
        .unwrap()
        .into_inner();
    for _ in 0..2 {
        stream.message().await.unwrap();
    }

    for table in ["hot", "event", "run"] {
        let delete = format!("DELETE FROM hypha.{table}");
        sqlx::query(AssertSqlSafe(delete))
            .execute(&fixture.database.owner)
            .await
            .unwrap();
    }
    let told = stream.message().await.unwrap_err();

    assert_eq!(told.code(), Code::NotFound);
}

/// Rows of an ended run in every table, many more than one batch takes.
async fn plant_rows(fixture: &Fixture, run: &str, most: i32) {
    let statements = [
        "INSERT INTO hypha.task_end (run_id, n, i, state, epoch, failures, losses, at, output)
         SELECT $1::uuid, n, 1, 6, 1, 0, 0, now(), 'x' FROM generate_series(1, $2::int) n",
        "INSERT INTO hypha.attempt (run_id, n, i, epoch, lease_id, agent_id, ended_as, went, consumed, at)
         SELECT $1::uuid, n, 1, 1, gen_random_uuid(), gen_random_uuid(), 'failed', 2, false, now()
         FROM generate_series(1, $2::int) n",
        "INSERT INTO hypha.event (run_id, seq, k, at, body)
         SELECT $1::uuid, n + 1000, 1, now(), '' FROM generate_series(1, $2::int) n",
        "INSERT INTO hypha.fan (run_id, n, total, ended, failed, cancelled)
         SELECT $1::uuid, n, 1, 1, 0, 0 FROM generate_series(1, $2::int) n",
        "INSERT INTO hypha.fan_item (run_id, n, i, item)
         SELECT $1::uuid, n, 1, 'x' FROM generate_series(1, $2::int) n",
        "INSERT INTO hypha.tally (run_id, n, fired, dead)
         SELECT $1::uuid, n, 1, 0 FROM generate_series(1, $2::int) n",
        "INSERT INTO hypha.arrival (run_id, n, edge, succeeded)
         SELECT $1::uuid, n, 1, true FROM generate_series(1, $2::int) n",
        "INSERT INTO hypha.park (run_id, n, i, signal, checkpoint)
         SELECT $1::uuid, n, 1, 's', 'x' FROM generate_series(1, $2::int) n",
        "INSERT INTO hypha.signal (workspace_id, run_id, request_key, name, payload, at)
         SELECT 'default', $1::uuid, '', 's', 'x', now() FROM generate_series(1, $2::int) n",
    ];
    for statement in statements {
        sqlx::query(statement)
            .bind(run)
            .bind(most)
            .execute(&fixture.database.owner)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn large_runs_go_in_many_batches_at_two_replicas_and_leave_their_neighbours_alone() {
    let fixture = start_with(eager()).await;
    let _other = fixture.replica_with(eager()).await;
    let short = || Graph {
        retain_days: Some(1),
        ..graph("short", &["a"], &[])
    };
    let mut dying = Vec::new();
    for _ in 0..3 {
        let run = ended(&fixture, short()).await;
        plant_rows(&fixture, &run, 1_300).await;
        dying.push(run);
    }
    let neighbour = ended(&fixture, graph("long", &["a"], &[])).await;
    plant_rows(&fixture, &neighbour, 700).await;

    fixture.database.advance(TimeDelta::days(2)).await;
    for run in &dying {
        until_gone(&fixture, run).await;
    }

    let (left,): (i64,) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM hypha.task_end) + (SELECT count(*) FROM hypha.event WHERE seq > 1000)",
    )
    .fetch_one(&fixture.database.owner)
    .await
    .unwrap();
    assert_eq!(left, 701 + 700);
    assert_eq!(fixture.state(&neighbour).await, RunState::Succeeded);
}

#[tokio::test]
async fn a_deletion_that_was_cut_short_is_brought_to_its_end() {
    let fixture = start_with(eager()).await;
    let run = id();
    plant_rows(&fixture, &run, 800).await;

    sqlx::query("INSERT INTO hypha.gone (run_id) VALUES ($1::uuid)")
        .bind(&run)
        .execute(&fixture.database.owner)
        .await
        .unwrap();

    until_gone(&fixture, &run).await;
}

#[tokio::test]
async fn a_child_outlives_its_parent() {
    let fixture = start_with(eager()).await;
    let parent = Graph {
        retain_days: Some(1),
        ..graph("parent", &["a"], &[])
    };
    let parent = ended(&fixture, parent).await;
    let child = fixture.start(graph("child", &["a"], &[])).await;
    let adopt = "UPDATE hypha.run SET parent_run_id = $1::uuid, parent_n = 0, parent_i = 0
                 WHERE run_id = $2::uuid";
    sqlx::query(adopt)
        .bind(&parent)
        .bind(&child)
        .execute(&fixture.database.owner)
        .await
        .unwrap();

    fixture.database.advance(TimeDelta::days(2)).await;
    until_gone(&fixture, &parent).await;
    let read = fixture.run(&child).await;
    let mut worker = fixture.worker("w", &[]).await;
    worker.work(&[]).await;

    assert_eq!(read.parent_run_id, parent);
    assert_eq!(fixture.state(&child).await, RunState::Succeeded);
}

async fn rerun(fixture: &Fixture, run: &str, key: &str) -> Result<String, Status> {
    let request = RerunFromRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_key: key.to_owned(),
        run_id: run.to_owned(),
        nodes: vec!["b".to_owned()],
        dry_run: false,
    };
    let reply = fixture.runs.clone().rerun_from(request).await?;
    Ok(reply.into_inner().run_id)
}

#[tokio::test]
async fn a_rerun_outlives_the_run_that_it_repeats() {
    let fixture = start_with(eager()).await;
    let short = Graph {
        retain_days: Some(1),
        ..graph("g", &["a", "b"], &["a->b"])
    };
    let first = ended(&fixture, short).await;
    fixture.database.advance(TimeDelta::hours(23)).await;
    let again = rerun(&fixture, &first, "again").await.unwrap();

    fixture.database.advance(TimeDelta::hours(2)).await;
    until_gone(&fixture, &first).await;
    let mut worker = fixture.worker("w", &[]).await;
    let b = worker.take_node("b").await;
    worker.complete(&b).await.unwrap();

    assert_eq!(&b.inputs[0].key, "a", "it has an output of its own to read");
    let run = fixture.run(&again).await;
    assert_eq!(run.state(), RunState::Succeeded);
    assert_eq!(run.rerun_of_run_id, first);
    assert!(fixture.tasks(&again).await.contains_key("a"));
    let refused = rerun(&fixture, &first, "once more").await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
}

#[tokio::test]
async fn a_rerun_of_a_run_that_is_being_deleted_takes_nothing_over() {
    let fixture = start().await;
    let first = ended(&fixture, graph("g", &["a", "b"], &["a->b"])).await;
    let mut deleting = fixture.database.owner.begin().await.unwrap();
    sqlx::query("DELETE FROM hypha.run WHERE run_id = $1::uuid")
        .bind(&first)
        .execute(&mut *deleting)
        .await
        .unwrap();

    let waits = "SELECT count(*) FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let (refused, ()) = futures::future::join(rerun(&fixture, &first, "late"), async {
        let waiting = async || fixture.count(waits).await > 0;
        wait_until(PATIENCE, "the rerun waits", waiting).await;
        deleting.commit().await.unwrap();
    })
    .await;

    assert_eq!(refused.unwrap_err().code(), Code::NotFound);
    assert_eq!(fixture.count("SELECT count(*) FROM hypha.run").await, 0);
}

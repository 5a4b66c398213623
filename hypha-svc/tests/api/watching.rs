//! Watching runs: history, then live, then the end, from any sequence.

use cambium_proto::hypha::v1::watch_run_response::Item;
use cambium_proto::hypha::v1::{RunEvent, RunEventKind, RunState, WatchRunRequest};
use std::time::Duration;

use cambium_testkit::wait_until;
use tonic::Code;

use crate::fixture::{Fixture, WORKSPACE, graph, start};

fn watch(run: &str, after_seq: i64) -> WatchRunRequest {
    WatchRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        run_id: run.to_owned(),
        after_seq,
    }
}

async fn to_the_end(fixture: &Fixture, run: &str, after_seq: i64) -> Vec<RunEvent> {
    let mut runs = fixture.runs.clone();
    let mut stream = runs
        .watch_run(watch(run, after_seq))
        .await
        .unwrap()
        .into_inner();
    let mut events = Vec::new();
    while let Some(item) = stream.message().await.unwrap() {
        if let Some(Item::Event(event)) = item.item {
            events.push(event);
        }
    }
    events
}

#[tokio::test]
async fn a_watcher_sees_every_event_once_and_then_the_end() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture
        .start(graph("g", &["a", "b", "c"], &["a->b", "b->c"]))
        .await;
    let live = async { to_the_end(&fixture, &run, 0).await };
    let work = async { worker.work(&[]).await };

    let (live, ()) = futures::future::join(live, work).await;
    let history = to_the_end(&fixture, &run, 0).await;
    let rest = to_the_end(&fixture, &run, 3).await;

    let numbers: Vec<i64> = live.iter().map(|event| event.seq).collect();
    let expected: Vec<i64> = (1..=i64::try_from(live.len()).unwrap()).collect();
    assert_eq!(numbers, expected, "no gap and no repetition");
    assert_eq!(live, history);
    assert_eq!(rest, history[3..]);
    let last = history.last().unwrap();
    assert_eq!(
        (last.kind(), last.run_state()),
        (RunEventKind::RunEnded, RunState::Succeeded)
    );
    assert_eq!(history[0].kind(), RunEventKind::RunStarted);
    let place = |kind, task: &str| {
        history
            .iter()
            .position(|event| event.kind() == kind && event.task == task)
            .unwrap()
    };
    let a_done = place(RunEventKind::TaskSucceeded, "a");
    assert!(
        a_done < place(RunEventKind::TaskLeased, "b"),
        "what feeds a task ends before it starts"
    );
}

#[tokio::test]
async fn a_watch_of_nothing_is_refused() {
    let fixture = start().await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    let mut runs = fixture.runs.clone();
    let absent = crate::fixture::id();

    let unknown = runs.watch_run(watch(&absent, 0)).await.unwrap_err();
    let negative = runs.watch_run(watch(&run, -1)).await.unwrap_err();

    assert_eq!(unknown.code(), Code::NotFound);
    assert_eq!(negative.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_cursor_before_what_is_kept_is_told_the_lowest() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    worker.work(&[]).await;
    let forgotten = "DELETE FROM hypha.event WHERE seq < (SELECT max(seq) FROM hypha.event)";
    sqlx::query(forgotten)
        .execute(&fixture.database.owner)
        .await
        .unwrap();

    let status = fixture
        .runs
        .clone()
        .watch_run(watch(&run, 1))
        .await
        .unwrap_err();

    assert_eq!(status.code(), Code::OutOfRange);
    assert!(status.message().contains("lowest"));
}

#[tokio::test]
async fn a_principal_holds_sixteen_watches() {
    let fixture = start().await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    let mut runs = fixture.runs.clone();
    let mut open = Vec::new();
    for _ in 0..16 {
        open.push(runs.watch_run(watch(&run, 0)).await.unwrap());
    }

    let refused = runs.watch_run(watch(&run, 0)).await.unwrap_err();

    assert_eq!(refused.code(), Code::ResourceExhausted);
    open.pop();
    wait_until(Duration::from_secs(10), "a place is free", async || {
        fixture.runs.clone().watch_run(watch(&run, 0)).await.is_ok()
    })
    .await;
}

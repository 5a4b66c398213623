//! Why is this not running?

use cambium_proto::hypha::v1::{
    ExplainRunRequest, ExplainTaskRequest, PauseRunRequest, Reason, ReasonKind,
};
use tonic::Code;

use crate::fixture::{Fixture, WORKSPACE, change, graph, id, start};

async fn why(fixture: &Fixture, run: &str, key: &str) -> Reason {
    let request = ExplainTaskRequest {
        workspace_id: WORKSPACE.to_owned(),
        task_id: format!("{run}/{key}"),
    };
    let reply = fixture.tasks.clone().explain_task(request).await.unwrap();
    reply.into_inner().reasons.remove(0)
}

#[tokio::test]
async fn each_task_says_what_it_waits_for() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &["write"]).await;
    let mut graph = graph("g", &["a", "b", "c", "d"], &["a->b", "c->b"]);
    change(&mut graph, "a").requires = vec!["write".to_owned()];
    change(&mut graph, "c").requires = vec!["write".to_owned(), "translate:is".to_owned()];
    change(&mut graph, "d").requires = vec!["write".to_owned()];
    let run = fixture.start(graph).await;
    let attempt = worker.take_node("a").await;

    let running = why(&fixture, &run, "a").await;
    let waiting = why(&fixture, &run, "b").await;
    let impossible = why(&fixture, &run, "c").await;
    let next = why(&fixture, &run, "d").await;

    assert_eq!(running.kind(), ReasonKind::Running);
    assert_eq!(waiting.kind(), ReasonKind::WaitingOnEdges);
    assert_eq!(waiting.subjects, ["a", "c"]);
    assert_eq!(impossible.kind(), ReasonKind::NoEligibleAgent);
    assert_eq!(impossible.subjects, ["translate:is"]);
    assert_eq!(next.kind(), ReasonKind::AllBusy);
    worker.complete(&attempt).await.unwrap();
    assert_eq!(why(&fixture, &run, "a").await.kind(), ReasonKind::Ended);
}

#[tokio::test]
async fn a_paused_run_says_so() {
    let fixture = start().await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    let pause = PauseRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        run_id: run.clone(),
    };
    fixture.runs.clone().pause_run(pause).await.unwrap();
    let request = ExplainRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        run_id: run.clone(),
    };

    let reply = fixture
        .runs
        .clone()
        .explain_run(request)
        .await
        .unwrap()
        .into_inner();

    assert_eq!(reply.reasons[0].kind(), ReasonKind::Paused);
    assert_eq!(why(&fixture, &run, "a").await.kind(), ReasonKind::Paused);
}

#[tokio::test]
async fn a_task_that_is_not_there_is_not_found() {
    let fixture = start().await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    let ask = |task: String| ExplainTaskRequest {
        workspace_id: WORKSPACE.to_owned(),
        task_id: task,
    };
    let mut tasks = fixture.tasks.clone();

    let absent = tasks
        .explain_task(ask(format!("{run}/ghost")))
        .await
        .unwrap_err();
    let member = tasks
        .explain_task(ask(format!("{run}/a[3]")))
        .await
        .unwrap_err();
    let broken = tasks
        .explain_task(ask("no task".to_owned()))
        .await
        .unwrap_err();

    assert_eq!(
        (absent.code(), member.code()),
        (Code::NotFound, Code::NotFound)
    );
    assert_eq!(broken.code(), Code::InvalidArgument);
}

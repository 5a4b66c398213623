//! Reading runs and tasks, page by page and only what is one's own.

use cambium_proto::hypha::v1::run_service_client::RunServiceClient;
use cambium_proto::hypha::v1::{
    GetOutputRequest, GetTaskRequest, ListRunsRequest, ListTasksRequest, RunState, TaskState,
};
use tonic::Code;

use crate::fixture::{WORKSPACE, graph, refusal, start};

#[tokio::test]
async fn pages_of_tasks_hold_each_once_in_the_graphs_order() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let keys = ["e", "d", "c", "b", "a"];
    let run = fixture.start(graph("g", &keys, &["e->a", "d->a"])).await;
    let attempt = worker.take_node("e").await;
    worker.complete(&attempt).await.unwrap();
    let mut seen = Vec::new();
    let mut token = String::new();
    loop {
        let request = ListTasksRequest {
            workspace_id: WORKSPACE.to_owned(),
            run_id: run.clone(),
            page_size: 2,
            page_token: token,
            state: 0,
        };
        let reply = fixture
            .tasks
            .clone()
            .list_tasks(request)
            .await
            .unwrap()
            .into_inner();
        seen.extend(reply.tasks.into_iter().map(|task| task.key));
        token = reply.next_page_token;
        if token.is_empty() {
            break;
        }
    }

    assert_eq!(seen, keys);
    let succeeded = ListTasksRequest {
        workspace_id: WORKSPACE.to_owned(),
        run_id: run,
        state: TaskState::Succeeded.into(),
        ..ListTasksRequest::default()
    };
    let reply = fixture
        .tasks
        .clone()
        .list_tasks(succeeded)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(reply.tasks.len(), 1);
}

#[tokio::test]
async fn runs_are_listed_newest_first_and_by_state() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let first = fixture.start(graph("g", &["a"], &[])).await;
    worker.work(&[]).await;
    let second = fixture.start(graph("g", &["a"], &[])).await;
    let list = |state: RunState| ListRunsRequest {
        workspace_id: WORKSPACE.to_owned(),
        state: state.into(),
        ..ListRunsRequest::default()
    };
    let mut runs = fixture.runs.clone();

    let all = runs
        .list_runs(list(RunState::Unspecified))
        .await
        .unwrap()
        .into_inner()
        .runs;
    let done = runs
        .list_runs(list(RunState::Succeeded))
        .await
        .unwrap()
        .into_inner()
        .runs;

    let ids: Vec<String> = all.into_iter().map(|run| run.run_id).collect();
    assert_eq!(ids, [second, first.clone()]);
    assert_eq!(done.len(), 1);
    assert_eq!(done[0].run_id, first);
}

#[tokio::test]
async fn an_output_is_read_by_its_task_and_only_once_it_is_there() {
    let fixture = start().await;
    let mut worker = fixture.worker("w", &[]).await;
    let run = fixture.start(graph("g", &["a", "b"], &["a->b"])).await;
    let attempt = worker.take_node("a").await;
    worker
        .complete_with(&attempt, r#"{ "n": 1 }"#)
        .await
        .unwrap();
    let read = |key: &str| GetOutputRequest {
        workspace_id: WORKSPACE.to_owned(),
        task_id: format!("{run}/{key}"),
    };
    let mut runs = fixture.runs.clone();

    let output = runs
        .get_output(read("a"))
        .await
        .unwrap()
        .into_inner()
        .output;
    let open = runs.get_output(read("b")).await.unwrap_err();

    assert_eq!(&output[..], br#"{ "n": 1 }"#, "stored as given");
    assert_eq!(
        refusal(&open),
        (Code::NotFound, "OUTPUT_NOT_FOUND".to_owned())
    );
}

#[tokio::test]
async fn strangers_find_nothing_and_viewers_change_nothing() {
    let fixture = start().await;
    let run = fixture.start(graph("g", &["a"], &[])).await;
    let stranger = fixture.as_token(&fixture.keys.operator_of(&["elsewhere"]));
    let request = GetTaskRequest {
        workspace_id: "elsewhere".to_owned(),
        task_id: format!("{run}/a"),
    };
    let mut tasks = cambium_proto::hypha::v1::task_service_client::TaskServiceClient::new(stranger);

    let hidden = tasks.get_task(request).await.unwrap_err();

    assert_eq!(
        refusal(&hidden),
        (Code::NotFound, "TASK_NOT_FOUND".to_owned())
    );
    let viewer = fixture.as_token(&fixture.keys.viewer());
    let start = cambium_proto::hypha::v1::StartRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_key: "K".to_owned(),
        graph: "g".to_owned(),
        ..Default::default()
    };
    let refused = RunServiceClient::new(viewer)
        .start_run(start)
        .await
        .unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
}

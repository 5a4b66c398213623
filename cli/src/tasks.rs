//! The tasks of a run, by their state.

use cambium_client::Connection;
use cambium_proto::hypha::v1::{ListTasksRequest, Run, Task, TaskState};

const PAGE: usize = 1_000;

/// The first tasks in that state, in the graph's order, and no more than `most`.
pub(crate) async fn in_state(
    connection: &Connection,
    run: &Run,
    state: TaskState,
    most: usize,
) -> anyhow::Result<Vec<Task>> {
    let mut request = ListTasksRequest {
        workspace_id: run.workspace_id.clone(),
        run_id: run.run_id.clone(),
        page_size: i32::try_from(most.min(PAGE))?,
        page_token: String::new(),
        state: state.into(),
    };
    let mut found = Vec::new();
    loop {
        let reply = connection.retrying(|| {
            let (mut tasks, request) = (connection.tasks(), request.clone());
            async move { tasks.list_tasks(request).await }
        });
        let reply = reply.await?;
        found.extend(reply.tasks);
        if reply.next_page_token.is_empty() || found.len() >= most {
            found.truncate(most);
            return Ok(found);
        }
        request.page_token = reply.next_page_token;
    }
}

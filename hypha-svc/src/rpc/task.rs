//! `TaskService`.

use cambium_proto::hypha::v1::task_service_server::TaskService;
use cambium_proto::hypha::v1::{
    ExplainTaskRequest, ExplainTaskResponse, GetTaskRequest, GetTaskResponse, ListTasksRequest,
    ListTasksResponse, TaskState,
};
use tonic::{Request, Response, Status};

use super::entered;
use crate::app::App;
use crate::convert::id;
use crate::convert::page::Page;
use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct TaskRpc(pub(crate) App);

#[tonic::async_trait]
impl TaskService for TaskRpc {
    async fn get_task(
        &self,
        request: Request<GetTaskRequest>,
    ) -> Result<Response<GetTaskResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let text = &request.get_ref().task_id;
        let named = id::parse_task("task_id", text)?;
        let task = self.0.get_task(&workspace, named, text).await?;
        Ok(Response::new(GetTaskResponse { task: Some(task) }))
    }

    async fn list_tasks(
        &self,
        request: Request<ListTasksRequest>,
    ) -> Result<Response<ListTasksResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let run = id::run("run_id", &request.run_id)?;
        let state =
            TaskState::try_from(request.state).map_err(|_| Error::field("state", "is unknown"))?;
        let list = [
            "tasks",
            workspace.as_str(),
            &request.run_id,
            state.as_str_name(),
        ];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let state = (state != TaskState::Unspecified).then_some(state);
        let reply = self.0.list_tasks(&workspace, run, &page, state);
        Ok(Response::new(reply.await?))
    }

    async fn explain_task(
        &self,
        request: Request<ExplainTaskRequest>,
    ) -> Result<Response<ExplainTaskResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let text = &request.get_ref().task_id;
        let named = id::parse_task("task_id", text)?;
        let reply = self.0.explain_task(&workspace, named, text);
        Ok(Response::new(reply.await?))
    }
}

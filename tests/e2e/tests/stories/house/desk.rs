//! An operator's calls at one replica, as stories need them.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use cambium_client::Connection;
use cambium_e2e::hand::WORKSPACE;
use cambium_proto::hypha::v1::watch_run_response::Item;
use cambium_proto::hypha::v1::{
    CancelRunRequest, GetOutputRequest, GetRunRequest, Graph, ListTasksRequest, PutGraphRequest,
    Run, RunEvent, RunState, StartRunRequest, Task, TaskState, WatchRunRequest, WatchRunResponse,
};
use cambium_testkit::wait_until;
use serde_json::Value;
use tokio::time::sleep;
use tonic::{Code, Status, Streaming};
use uuid::Uuid;

#[derive(Clone, Debug)]
pub(crate) struct Desk(Connection);

impl Desk {
    pub(crate) const fn new(connection: Connection) -> Self {
        Self(connection)
    }

    /// Whether the replica answers calls.
    pub(crate) async fn answers(&self) -> bool {
        let unknown = self.run(&Uuid::now_v7().to_string()).await;
        unknown.is_err_and(|status| status.code() == Code::NotFound)
    }

    pub(crate) async fn put(&self, graph: &Graph) {
        let put = PutGraphRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: Uuid::now_v7().to_string(),
            graph: Some(graph.clone()),
        };
        self.0.graphs().put_graph(put).await.unwrap();
    }

    /// Stores the graph and starts a run of it.
    pub(crate) async fn start(&self, graph: &Graph, input: &str) -> String {
        self.put(graph).await;
        let key = Uuid::now_v7().to_string();
        self.start_keyed(&graph.name, &key, input).await.unwrap()
    }

    /// Starts a run of the newest version of a graph.
    pub(crate) async fn start_keyed(
        &self,
        graph: &str,
        key: &str,
        input: &str,
    ) -> Result<String, Status> {
        let start = StartRunRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_key: key.to_owned(),
            graph: graph.to_owned(),
            input: Bytes::from(input.to_owned()),
            ..StartRunRequest::default()
        };
        let reply = self.0.runs().start_run(start).await?;
        Ok(reply.into_inner().run_id)
    }

    pub(crate) async fn run(&self, run: &str) -> Result<Run, Status> {
        self.find(run, "").await
    }

    pub(crate) async fn run_of_key(&self, key: &str) -> Result<Run, Status> {
        self.find("", key).await
    }

    async fn find(&self, run: &str, key: &str) -> Result<Run, Status> {
        let request = GetRunRequest {
            workspace_id: WORKSPACE.to_owned(),
            run_id: run.to_owned(),
            request_key: key.to_owned(),
        };
        let reply = self.0.runs().get_run(request).await?;
        Ok(reply.into_inner().run.unwrap())
    }

    /// Waits until the run is as asked; a replica that is away is asked again.
    pub(crate) async fn until(
        &self,
        run: &str,
        bound: Duration,
        what: &str,
        is_so: impl Fn(&Run) -> bool,
    ) -> Run {
        let mut found = None;
        wait_until(bound, what, async || {
            found = self.run(run).await.ok().filter(|run| is_so(run));
            found.is_some() || not_yet().await
        })
        .await;
        found.unwrap()
    }

    pub(crate) async fn ended(&self, run: &str, bound: Duration) -> Run {
        let is_over = |run: &Run| run.state() > RunState::Cancelling;
        self.until(run, bound, "the run ends", is_over).await
    }

    /// Waits until the run's tasks are as asked.
    pub(crate) async fn until_tasks(
        &self,
        run: &str,
        bound: Duration,
        what: &str,
        is_so: impl Fn(&BTreeMap<String, Task>) -> bool,
    ) {
        wait_until(bound, what, async || {
            let tasks = self.list(run).await;
            tasks.is_ok_and(|tasks| is_so(&tasks)) || not_yet().await
        })
        .await;
    }

    /// Waits until so many tasks behind the gate are being done.
    pub(crate) async fn until_gated(&self, run: &str, tasks: usize) {
        let is_held = |(key, task): &(&String, &Task)| {
            key.starts_with('t') && task.state() == TaskState::Running
        };
        let all_are = |now: &BTreeMap<_, _>| now.iter().filter(is_held).count() == tasks;
        let bound = Duration::from_secs(30);
        self.until_tasks(run, bound, "tasks wait at the gate", all_are)
            .await;
    }

    /// All tasks by key.
    pub(crate) async fn tasks(&self, run: &str) -> BTreeMap<String, Task> {
        self.list(run).await.unwrap()
    }

    async fn list(&self, run: &str) -> Result<BTreeMap<String, Task>, Status> {
        let mut request = ListTasksRequest {
            workspace_id: WORKSPACE.to_owned(),
            run_id: run.to_owned(),
            page_size: 1_000,
            ..ListTasksRequest::default()
        };
        let mut tasks = BTreeMap::new();
        loop {
            let reply = self.0.tasks().list_tasks(request.clone()).await?;
            let reply = reply.into_inner();
            tasks.extend(reply.tasks.into_iter().map(|task| (task.key.clone(), task)));
            if reply.next_page_token.is_empty() {
                return Ok(tasks);
            }
            request.page_token = reply.next_page_token;
        }
    }

    pub(crate) async fn watch(&self, run: &str, after_seq: i64) -> Result<Watch, Status> {
        let request = WatchRunRequest {
            workspace_id: WORKSPACE.to_owned(),
            run_id: run.to_owned(),
            after_seq,
        };
        let stream = self.0.runs().watch_run(request).await?;
        Ok(Watch(stream.into_inner()))
    }

    /// The events of an ended run, from the first to the last.
    pub(crate) async fn events(&self, run: &str) -> Vec<RunEvent> {
        self.watch(run, 0).await.unwrap().rest().await
    }

    pub(crate) async fn output(&self, run: &str, key: &str) -> Value {
        let request = GetOutputRequest {
            workspace_id: WORKSPACE.to_owned(),
            task_id: format!("{run}/{key}"),
        };
        let reply = self.0.runs().get_output(request).await.unwrap();
        serde_json::from_slice(&reply.into_inner().output).unwrap()
    }

    pub(crate) async fn cancel(&self, run: &str, grace: Duration) -> RunState {
        let request = CancelRunRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: Uuid::now_v7().to_string(),
            run_id: run.to_owned(),
            reason: "asked by a story".to_owned(),
            grace_ms: Some(u32::try_from(grace.as_millis()).unwrap()),
            ..CancelRunRequest::default()
        };
        let reply = self.0.runs().cancel_run(request).await.unwrap();
        reply.into_inner().state()
    }
}

/// Leaves the machine to those who are waited for.
async fn not_yet() -> bool {
    sleep(Duration::from_millis(20)).await;
    false
}

/// A run being watched.
pub(crate) struct Watch(Streaming<WatchRunResponse>);

impl Watch {
    /// The next event; none once the stream has ended.
    pub(crate) async fn next(&mut self) -> Result<Option<RunEvent>, Status> {
        loop {
            match self.0.message().await? {
                Some(item) => {
                    if let Some(Item::Event(event)) = item.item {
                        return Ok(Some(event));
                    }
                }
                None => return Ok(None),
            }
        }
    }

    /// All that comes until the stream ends.
    pub(crate) async fn rest(mut self) -> Vec<RunEvent> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await.unwrap() {
            events.push(event);
        }
        events
    }
}

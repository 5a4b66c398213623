//! A real hypha on a port of its own, with a database of its own, and workers that tests drive by hand.

mod swarm;
mod worker;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cambium_proto::hypha::v1::graph_service_client::GraphServiceClient;
use cambium_proto::hypha::v1::run_service_client::RunServiceClient;
use cambium_proto::hypha::v1::task_service_client::TaskServiceClient;
use cambium_proto::hypha::v1::worker_service_client::WorkerServiceClient;
use cambium_proto::hypha::v1::{
    Edge, GetRunRequest, Graph, GraphVersion, ListTasksRequest, Node, PutGraphRequest,
    RegisterRequest, Run, RunState, StartRunRequest, Task, TaskState,
};
use cambium_proto::signal::v1::signal_service_client::SignalServiceClient;
use cambium_proto::signal::v1::{AgentSpawned, DeliverRequest, Signal, signal::Payload};
use cambium_service_kit::config::Secret;
use cambium_service_kit::service;
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::token::{Issuer, SigningKey};
use cambium_testkit::{Bearer, Database, Keys, with_token};
use chrono::TimeDelta;
use hypha_svc::{Config, MIGRATOR, Retention};
use tokio::net::TcpListener;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_types::StatusExt;
use uuid::Uuid;

pub(crate) use swarm::turn;
pub(crate) use worker::Worker;

pub(crate) type Authenticated = InterceptedService<Channel, Bearer>;
pub(crate) type Workers = WorkerServiceClient<Authenticated>;

pub(crate) const WORKSPACE: &str = "default";

pub(crate) struct Fixture {
    pub(crate) database: Database,
    pub(crate) keys: Keys,
    pub(crate) graphs: GraphServiceClient<Authenticated>,
    pub(crate) runs: RunServiceClient<Authenticated>,
    pub(crate) tasks: TaskServiceClient<Authenticated>,
    channel: Channel,
    stop: Stop,
}

/// Another process of the same service, on the same database.
pub(crate) struct Replica {
    channel: Channel,
    keys: Keys,
}

/// How a test's hypha differs from an ordinary one.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) committers: usize,
    pub(crate) lease: Duration,
    pub(crate) grace: Duration,
    pub(crate) immune: Option<String>,
    pub(crate) genesis: Option<String>,
    pub(crate) swarm: Option<String>,
    pub(crate) retention: Retention,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            committers: 1,
            lease: Duration::from_secs(10),
            grace: Duration::from_secs(30),
            immune: None,
            genesis: None,
            swarm: None,
            retention: Retention::default(),
        }
    }
}

pub(crate) async fn start() -> Fixture {
    start_with(Wish::default()).await
}

pub(crate) async fn start_with(wish: Wish) -> Fixture {
    let database = cambium_testkit::database("hypha", &MIGRATOR).await;
    let keys = Keys::new();
    let stop = Stop::new();
    let channel = serve(&database, &keys, wish, &stop).await;
    let operator = with_token(channel.clone(), &keys.operator());
    Fixture {
        graphs: GraphServiceClient::new(operator.clone()),
        runs: RunServiceClient::new(operator.clone()),
        tasks: TaskServiceClient::new(operator),
        database,
        keys,
        channel,
        stop,
    }
}

async fn serve(database: &Database, keys: &Keys, wish: Wish, stop: &Stop) -> Channel {
    let key = Arc::new(SigningKey::generate("hypha-1", Issuer::Hypha).unwrap());
    let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let config = Config {
        listen: anywhere,
        admin: anywhere,
        database_url: Secret::new(database.url.as_str()),
        bundle: keys.bundle().with(key.public()),
        key,
        credentials: keys.credentials("hypha"),
        lease: wish.lease,
        grace: wish.grace,
        committers: wish.committers,
        retention: wish.retention,
        receivers: receivers([
            ("immune", wish.immune),
            ("genesis", wish.genesis),
            ("swarm", wish.swarm),
        ]),
        spawn_after: Duration::from_secs(5),
    };
    let listener = TcpListener::bind(anywhere).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let built = hypha_svc::build(config, stop.clone()).await.unwrap();
    tokio::spawn(service::serve(listener, built, stop.clone()));
    Endpoint::from_shared(address)
        .unwrap()
        .connect()
        .await
        .unwrap()
}

fn receivers(named: [(&str, Option<String>); 3]) -> HashMap<String, String> {
    let given = named
        .into_iter()
        .filter_map(|(name, url)| Some((name.to_owned(), url?)));
    given.collect()
}

impl Replica {
    /// Runs and tasks as this replica tells of them.
    pub(crate) fn reader(
        &self,
    ) -> (
        RunServiceClient<Authenticated>,
        TaskServiceClient<Authenticated>,
    ) {
        let operator = with_token(self.channel.clone(), &self.keys.operator());
        (
            RunServiceClient::new(operator.clone()),
            TaskServiceClient::new(operator),
        )
    }

    pub(crate) async fn worker(&self, name: &str, capabilities: &[&str]) -> Worker {
        let agent = told(name, capabilities, &[]);
        let agent = tell_of_agent(&self.channel, &self.keys, WORKSPACE, agent).await;
        register(&self.channel, &self.keys, name, agent).await
    }

    /// The worker as it would call here.
    pub(crate) fn same_worker(&self, worker: &Worker) -> Worker {
        let token = self.keys.worker(std::slice::from_ref(&worker.agent));
        Worker {
            client: WorkerServiceClient::new(with_token(self.channel.clone(), &token)),
            ..worker.clone()
        }
    }
}

async fn register(channel: &Channel, keys: &Keys, name: &str, agent: String) -> Worker {
    let token = keys.worker(std::slice::from_ref(&agent));
    let mut client = WorkerServiceClient::new(with_token(channel.clone(), &token));
    let request = registration(name, std::slice::from_ref(&agent));
    let reply = client.register(request).await.unwrap();
    Worker {
        client,
        agent,
        registration: reply.into_inner().registration_id,
    }
}

/// A new agent, as genesis tells of it.
fn told(name: &str, capabilities: &[&str], minds: &[&str]) -> AgentSpawned {
    let owned = |list: &[&str]| list.iter().map(|one| (*one).to_owned()).collect();
    AgentSpawned {
        agent_id: id(),
        name: name.to_owned(),
        capabilities: owned(capabilities),
        serves_minds: owned(minds),
        ..AgentSpawned::default()
    }
}

/// Tells hypha of an agent, as genesis does.
async fn tell_of_agent(
    channel: &Channel,
    keys: &Keys,
    workspace: &str,
    spawned: AgentSpawned,
) -> String {
    let agent = spawned.agent_id.clone();
    let signal = Signal {
        workspace_id: workspace.to_owned(),
        ..signal(
            "genesis",
            "coord.agent_spawned",
            Payload::AgentSpawned(spawned),
        )
    };
    deliver(channel, keys, signal).await.unwrap();
    agent
}

fn signal(source: &str, kind: &str, payload: Payload) -> Signal {
    Signal {
        signal_id: id(),
        r#type: kind.to_owned(),
        class: 1,
        intensity: 0.5,
        workspace_id: WORKSPACE.to_owned(),
        source: source.to_owned(),
        payload: Some(payload),
        ..Signal::default()
    }
}

async fn deliver(channel: &Channel, keys: &Keys, signal: Signal) -> Result<(), Status> {
    let token = keys.service(&signal.source);
    let mut client = SignalServiceClient::new(with_token(channel.clone(), &token));
    let request = DeliverRequest {
        signals: vec![signal],
    };
    client.deliver(request).await?;
    Ok(())
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// A node that takes a single attempt.
pub(crate) fn node(key: &str) -> Node {
    Node {
        key: key.to_owned(),
        ..Node::default()
    }
}

pub(crate) fn edge(from: &str, to: &str) -> Edge {
    Edge {
        from: from.to_owned(),
        to: to.to_owned(),
        ..Edge::default()
    }
}

/// An edge that fires on these end states.
pub(crate) fn edge_on(from: &str, to: &str, on: &[TaskState]) -> Edge {
    Edge {
        on: on.iter().map(|state| i32::from(*state)).collect(),
        ..edge(from, to)
    }
}

/// A graph of plain nodes and edges, written `a->b`.
pub(crate) fn graph(name: &str, nodes: &[&str], edges: &[&str]) -> Graph {
    let edges = edges.iter().map(|text| {
        let (from, to) = text.split_once("->").unwrap();
        edge(from, to)
    });
    Graph {
        name: name.to_owned(),
        nodes: nodes.iter().map(|key| node(key)).collect(),
        edges: edges.collect(),
        ..Graph::default()
    }
}

pub(crate) fn change<'a>(graph: &'a mut Graph, key: &str) -> &'a mut Node {
    graph.nodes.iter_mut().find(|node| node.key == key).unwrap()
}

pub(crate) fn id() -> String {
    Uuid::now_v7().to_string()
}

pub(crate) fn reason(status: &Status) -> String {
    status
        .get_details_error_info()
        .map(|info| info.reason)
        .unwrap_or_default()
}

/// The code and the reason together, as callers tell failures apart.
pub(crate) fn refusal(status: &Status) -> (Code, String) {
    (status.code(), reason(status))
}

impl Fixture {
    pub(crate) async fn put(&self, graph: Graph) -> Result<GraphVersion, Status> {
        let request = PutGraphRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: id(),
            graph: Some(graph),
        };
        let reply = self.graphs.clone().put_graph(request).await?;
        Ok(reply.into_inner().version.unwrap())
    }

    /// Stores the graph and starts a run of it.
    pub(crate) async fn start(&self, graph: Graph) -> String {
        self.start_on(graph, "null").await
    }

    pub(crate) async fn start_on(&self, graph: Graph, input: &str) -> String {
        let version = self.put(graph).await.unwrap();
        let request = StartRunRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_key: id(),
            graph: version.name,
            version: version.version,
            input: Bytes::from(input.to_owned()),
            ..StartRunRequest::default()
        };
        let reply = self.runs.clone().start_run(request).await.unwrap();
        reply.into_inner().run_id
    }

    pub(crate) async fn run(&self, run: &str) -> Run {
        let request = GetRunRequest {
            workspace_id: WORKSPACE.to_owned(),
            run_id: run.to_owned(),
            request_key: String::new(),
        };
        let reply = self.runs.clone().get_run(request).await.unwrap();
        reply.into_inner().run.unwrap()
    }

    pub(crate) async fn state(&self, run: &str) -> RunState {
        self.run(run).await.state()
    }

    /// All tasks of a run by key.
    pub(crate) async fn tasks(&self, run: &str) -> BTreeMap<String, Task> {
        let request = ListTasksRequest {
            workspace_id: WORKSPACE.to_owned(),
            run_id: run.to_owned(),
            page_size: 1000,
            ..ListTasksRequest::default()
        };
        let reply = self.tasks.clone().list_tasks(request).await.unwrap();
        let tasks = reply.into_inner().tasks.into_iter();
        tasks.map(|task| (task.key.clone(), task)).collect()
    }

    /// Where each task stands.
    pub(crate) async fn states(&self, run: &str) -> BTreeMap<String, TaskState> {
        let tasks = self.tasks(run).await.into_iter();
        tasks.map(|(key, task)| (key, task.state())).collect()
    }

    /// Moves the clock on while the service listens all along: no lease is forgiven for it.
    pub(crate) async fn advance(&self, by: TimeDelta) {
        let mut left = by;
        while left > TimeDelta::zero() {
            let step = left.min(TimeDelta::seconds(1));
            self.database.advance(step).await;
            let listened = sqlx::query("UPDATE hypha.pulse SET heard_at = hypha.now()");
            listened.execute(&self.database.owner).await.unwrap();
            left -= step;
        }
    }

    /// One number that the store holds.
    pub(crate) async fn count(&self, query: &'static str) -> i64 {
        sqlx::query_scalar(query)
            .fetch_one(&self.database.owner)
            .await
            .unwrap()
    }

    /// Tells hypha of an agent, as genesis does.
    pub(crate) async fn agent(&self, name: &str, capabilities: &[&str]) -> String {
        self.agent_in(WORKSPACE, name, capabilities).await
    }

    pub(crate) async fn agent_in(
        &self,
        workspace: &str,
        name: &str,
        capabilities: &[&str],
    ) -> String {
        let agent = told(name, capabilities, &[]);
        tell_of_agent(&self.channel, &self.keys, workspace, agent).await
    }

    /// Tells hypha a fact, as that service does.
    pub(crate) async fn deliver(&self, source: &str, kind: &str, payload: Payload) {
        self.try_deliver(source, kind, payload).await.unwrap();
    }

    pub(crate) async fn try_deliver(
        &self,
        source: &str,
        kind: &str,
        payload: Payload,
    ) -> Result<(), Status> {
        deliver(&self.channel, &self.keys, signal(source, kind, payload)).await
    }

    /// Starts another replica of the service.
    pub(crate) async fn replica(&self) -> Replica {
        self.replica_with(Wish::default()).await
    }

    pub(crate) async fn replica_with(&self, wish: Wish) -> Replica {
        let channel = serve(&self.database, &self.keys, wish, &self.stop).await;
        Replica {
            channel,
            keys: self.keys.clone(),
        }
    }

    /// A client that acts as a worker for these agents.
    pub(crate) fn workers(&self, agents: &[String]) -> Workers {
        let token = self.keys.worker(agents);
        WorkerServiceClient::new(with_token(self.channel.clone(), &token))
    }

    /// The same call as somebody else.
    pub(crate) fn as_token(&self, token: &str) -> Authenticated {
        with_token(self.channel.clone(), token)
    }

    /// A registered worker with one agent that can do these things.
    pub(crate) async fn worker(&self, name: &str, capabilities: &[&str]) -> Worker {
        let agent = self.agent(name, capabilities).await;
        register(&self.channel, &self.keys, name, agent).await
    }
}

pub(crate) fn registration(worker: &str, agents: &[String]) -> RegisterRequest {
    RegisterRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        worker: worker.to_owned(),
        incarnation: Uuid::new_v4().to_string(),
        agent_ids: agents.to_vec(),
        slots: 100,
        capabilities: Vec::new(),
    }
}

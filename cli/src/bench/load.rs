//! The load of `bench dag5`: starts runs, does their tasks by plain unary calls, and tells how long each run took.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use cambium_client::Connection;
use cambium_proto::hypha::v1::{
    Attempt, CompleteRequest, Edge, Graph, Node, PollRequest, PutGraphRequest, RegisterRequest,
    StartRunRequest,
};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::dag5::{BEGIN, Loaded};
use crate::context::{Context, emit};
use crate::credentials::{self, WorkerWish};
use crate::enroll;
use crate::exit::Exit;

/// The load of a bench, in a process of its own
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium --data DIR bench load --in-flight 32 --seconds 5")]
pub(crate) struct Args {
    #[arg(long)]
    in_flight: u32,
    #[arg(long)]
    seconds: u32,
}

const WARM_UP: Duration = Duration::from_secs(2);
const TASKS: u64 = 5;
/// A connection carries 64 calls at once; some room is left for starts.
const HANDS_PER_CONNECTION: usize = 48;
const GRAPH: &str = "bench-dag5";

/// What all hands share.
struct Shared {
    workspace: String,
    registration: String,
    version: u32,
    /// When the run under way was started, by run id.
    begun: Mutex<HashMap<String, Instant>>,
    /// How long runs took that ended while it was measured.
    latencies: Mutex<Vec<Duration>>,
    tasks: AtomicU64,
    measuring: AtomicBool,
    stopping: AtomicBool,
    /// One permit a run that has ended.
    ended: Notify,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let operator = context.own_connection()?;
    let shared = Arc::new(prepare(context, &operator).await?);
    let hands = usize::try_from(args.in_flight)?;
    let mut load = JoinSet::new();
    for group in (0..hands).step_by(HANDS_PER_CONNECTION) {
        let count = HANDS_PER_CONNECTION.min(hands - group);
        let workers = worker_connection(context).await?;
        for _ in 0..count {
            load.spawn(hand(shared.clone(), workers.clone()));
            load.spawn(starter(shared.clone(), context.own_connection()?));
        }
    }
    tokio::time::sleep(WARM_UP).await;
    emit(BEGIN);
    shared.measuring.store(true, Ordering::Relaxed);
    let begun = Instant::now();
    tokio::time::sleep(Duration::from_secs(args.seconds.into())).await;
    shared.measuring.store(false, Ordering::Relaxed);
    let wall = begun.elapsed();
    emit(&serde_json::to_string(&loaded(&shared, wall))?);
    // The meter reads this process's cost now; it closes our input when it has.
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    shared.stopping.store(true, Ordering::Relaxed);
    load.abort_all();
    Ok(Exit::Done)
}

/// A connection with a worker's token for any agent.
async fn worker_connection(context: &Context) -> anyhow::Result<Connection> {
    let own = context.own_connection()?;
    let wish = WorkerWish {
        worker: "bench".to_owned(),
        workspace: context.workspace(),
        agent_ids: vec!["*".to_owned()],
        capabilities: Vec::new(),
    };
    Ok(own.with_tokens(credentials::worker(&context.folder(), wish)?))
}

async fn prepare(context: &Context, operator: &Connection) -> anyhow::Result<Shared> {
    let workspace = context.workspace();
    let agent = enroll::enroll(operator, &workspace, "bench", &[])
        .await?
        .agent;
    let agent = agent.context("the enrolment brought no agent")?;
    let put = PutGraphRequest {
        workspace_id: workspace.clone(),
        request_id: Uuid::now_v7().to_string(),
        graph: Some(graph()),
    };
    let version = operator.graphs().put_graph(put).await?.into_inner().version;
    let workers = worker_connection(context).await?;
    let register = || RegisterRequest {
        workspace_id: workspace.clone(),
        request_id: Uuid::now_v7().to_string(),
        worker: "bench".to_owned(),
        incarnation: Uuid::new_v4().to_string(),
        agent_ids: vec![agent.agent_id.clone()],
        slots: 10_000,
        capabilities: Vec::new(),
    };
    let registered = workers.retrying(|| {
        let (mut client, request) = (workers.workers(), register());
        async move { client.register(request).await }
    });
    Ok(Shared {
        registration: registered.await?.registration_id,
        workspace,
        version: version.context("the graph has no version")?.version,
        begun: Mutex::default(),
        latencies: Mutex::default(),
        tasks: AtomicU64::new(0),
        measuring: AtomicBool::new(false),
        stopping: AtomicBool::new(false),
        ended: Notify::new(),
    })
}

fn graph() -> Graph {
    let node = |key: &str| Node {
        key: key.to_owned(),
        ..Node::default()
    };
    let edge = |(from, to): (&str, &str)| Edge {
        from: from.to_owned(),
        to: to.to_owned(),
        ..Edge::default()
    };
    let edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")];
    Graph {
        name: GRAPH.to_owned(),
        nodes: ["a", "b", "c", "d", "e"].map(node).to_vec(),
        edges: edges.map(edge).to_vec(),
        ..Graph::default()
    }
}

/// Keeps one run in flight: starts the next when one has ended.
async fn starter(shared: Arc<Shared>, connection: Connection) -> anyhow::Result<()> {
    let mut runs = connection.runs();
    loop {
        let request = StartRunRequest {
            workspace_id: shared.workspace.clone(),
            request_key: Uuid::now_v7().to_string(),
            graph: GRAPH.to_owned(),
            version: shared.version,
            input: Bytes::new(),
            signals: Vec::new(),
        };
        let now = Instant::now();
        let reply = runs.start_run(request).await?.into_inner();
        shared.begin(reply.run_id, now);
        shared.ended.notified().await;
    }
}

/// Does one task after the other: each completion asks for the next attempt in its reply.
async fn hand(shared: Arc<Shared>, connection: Connection) -> anyhow::Result<()> {
    let mut workers = connection.workers();
    while !shared.stopping.load(Ordering::Relaxed) {
        let poll = PollRequest {
            registration_id: shared.registration.clone(),
            max: 1,
            wait_ms: 20_000,
        };
        let mut attempts = workers.poll(poll).await?.into_inner().attempts;
        while let Some(attempt) = attempts.pop() {
            let request = CompleteRequest {
                registration_id: shared.registration.clone(),
                lease: attempt.lease.clone(),
                output: Bytes::from_static(br#"{"ok":true}"#),
                usage: None,
                next: 1,
            };
            let reply = workers.complete(request).await?.into_inner();
            shared.completed(&attempt);
            attempts.extend(reply.next);
        }
    }
    Ok(())
}

impl Shared {
    fn begin(&self, run: String, at: Instant) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        // The run may have ended before its start was answered.
        if begun.remove(&run).is_some() {
            drop(begun);
            self.record(at);
        } else {
            begun.insert(run, at);
        }
    }

    fn completed(&self, attempt: &Attempt) {
        if self.measuring.load(Ordering::Relaxed) {
            self.tasks.fetch_add(1, Ordering::Relaxed);
        }
        if attempt.node != "e" {
            return;
        }
        let task = attempt
            .lease
            .as_ref()
            .map_or("", |lease| lease.task_id.as_str());
        let run = task.split('/').next().unwrap_or_default().to_owned();
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        match begun.remove(&run) {
            Some(at) => {
                drop(begun);
                self.record(at);
            }
            None => {
                begun.insert(run, Instant::now());
            }
        }
    }

    fn record(&self, begun: Instant) {
        if self.measuring.load(Ordering::Relaxed) {
            let mut latencies = self
                .latencies
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            latencies.push(begun.elapsed());
        }
        self.ended.notify_one();
    }
}

fn loaded(shared: &Shared, wall: Duration) -> Loaded {
    let mut latencies = shared
        .latencies
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    latencies.sort_unstable();
    let at = |share: usize| {
        let place = latencies.len() * share / 100;
        latencies
            .get(place)
            .map_or(0.0, |one| one.as_secs_f64() * 1_000.0)
    };
    let tasks = shared.tasks.load(Ordering::Relaxed);
    debug_assert!(
        tasks >= TASKS * latencies.len() as u64 / 2,
        "runs have five tasks"
    );
    Loaded {
        workflows: latencies.len() as u64,
        tasks,
        wall_s: wall.as_secs_f64(),
        p50_ms: at(50),
        p99_ms: at(99),
    }
}

//! hypha as a process of its own, killed in the middle of its work, and with its database taken away.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use cambium_client::worker::{self, Ended, Outcome, Runtime, Task};
use cambium_client::{Connection, Options, StaticToken};
use cambium_proto::hypha::v1::watch_run_response::Item;
use cambium_proto::hypha::v1::{
    Edge, GetRunRequest, Graph, Node, PutGraphRequest, Run, RunEventKind, RunState,
    StartRunRequest, WatchRunRequest,
};
use cambium_proto::signal::v1::signal_service_client::SignalServiceClient;
use cambium_proto::signal::v1::{AgentSpawned, DeliverRequest, Signal, signal::Payload};
use cambium_service_kit::config::Secret;
use cambium_service_kit::database::{self, PoolOptions};
use cambium_service_kit::migrate;
use cambium_service_kit::postgres::{Listen, Options as PostgresOptions, Private};
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::token::{Issuer, SigningKey};
use cambium_testkit::{Keys, free_port, wait_until};
use nix::sys::signal::{Signal as Kill, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tonic::{Code, Status};
use uuid::Uuid;

const WORKSPACE: &str = "default";

/// A hypha process beside a Postgres of its own.
struct House {
    postgres: Option<Private>,
    service: Option<Child>,
    port: u16,
    admin: u16,
    keys: Keys,
    folder: TempDir,
    database_url: String,
}

/// A program of this workspace, built beside this test.
fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let folder = own.ancestors().nth(2).unwrap();
    let program = folder.join(name);
    assert!(
        program.exists(),
        "{} is missing: build the whole workspace first",
        program.display()
    );
    program
}

impl House {
    async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let options = PostgresOptions {
            folder: folder.path().join("postgres"),
            durable: false,
            listen: Listen::Loopback,
        };
        let started = tokio::task::spawn_blocking(move || Private::start(options)).await;
        let postgres = started.unwrap().unwrap();
        let superuser = Secret::new(postgres.superuser_url("postgres"));
        let options = PoolOptions {
            max: 1,
            service: "stories",
        };
        let pool = database::connect(&superuser, options).unwrap();
        migrate::apply(&pool, "hypha", &hypha_svc::MIGRATOR, "hypha")
            .await
            .unwrap();
        pool.close().await;
        let keys = Keys::new();
        let own = SigningKey::generate("hypha-1", Issuer::Hypha).unwrap();
        let service = SigningKey::generate("hypha-service-1", Issuer::Service).unwrap();
        own.save(&folder.path().join("own.key")).unwrap();
        service.save(&folder.path().join("service.key")).unwrap();
        let bundle = keys.bundle().with(own.public()).with(service.public());
        bundle.save(&folder.path().join("bundle.json")).unwrap();
        let mut house = Self {
            database_url: postgres.url("hypha", "postgres"),
            postgres: Some(postgres),
            service: None,
            port: free_port(),
            admin: free_port(),
            keys,
            folder,
        };
        house.launch().await;
        house
    }

    /// Starts the service, where it was, and waits until it answers.
    async fn launch(&mut self) {
        let file = |name: &str| self.folder.path().join(name);
        let child = Command::new(program("hypha-svc"))
            .env("HYPHA_LISTEN", format!("127.0.0.1:{}", self.port))
            .env("HYPHA_ADMIN", format!("127.0.0.1:{}", self.admin))
            .env("HYPHA_DATABASE_URL", &self.database_url)
            .env("HYPHA_KEY", file("own.key"))
            .env("HYPHA_SERVICE_KEY", file("service.key"))
            .env("CAMBIUM_BUNDLE", file("bundle.json"))
            .env("CAMBIUM_LOG", "warn")
            .stderr(Stdio::null())
            .spawn();
        self.service = Some(child.unwrap());
        let connection = self.operator();
        wait_until(Duration::from_secs(20), "the service answers", async || {
            get(&connection, &Uuid::now_v7().to_string())
                .await
                .is_err_and(|s| s.code() == Code::NotFound)
        })
        .await;
    }

    /// As a crash would.
    fn kill(&mut self) {
        let mut child = self.service.take().unwrap();
        kill(
            Pid::from_raw(i32::try_from(child.id()).unwrap()),
            Kill::SIGKILL,
        )
        .unwrap();
        child.wait().unwrap();
    }

    fn connection(&self, token: &str) -> Connection {
        let url = format!("http://127.0.0.1:{}", self.port);
        let options = Options {
            deadline: Duration::from_secs(5),
            ..Options::default()
        };
        Connection::open(&url, Arc::new(StaticToken::new(token)), options).unwrap()
    }

    fn operator(&self) -> Connection {
        self.connection(&self.keys.operator())
    }

    /// Tells hypha of an agent that can do anything these graphs ask for.
    async fn agent(&self) -> String {
        let agent = Uuid::now_v7().to_string();
        let spawned = AgentSpawned {
            agent_id: agent.clone(),
            name: "ada".to_owned(),
            capabilities: Vec::new(),
        };
        let signal = Signal {
            signal_id: Uuid::now_v7().to_string(),
            r#type: "coord.agent_spawned".to_owned(),
            class: 1,
            workspace_id: WORKSPACE.to_owned(),
            source: "genesis".to_owned(),
            payload: Some(Payload::AgentSpawned(spawned)),
            ..Signal::default()
        };
        let channel = self.connection(&self.keys.service("genesis")).authorized();
        let request = DeliverRequest {
            signals: vec![signal],
        };
        SignalServiceClient::new(channel)
            .deliver(request)
            .await
            .unwrap();
        agent
    }

    /// A worker that takes a few milliseconds for each task.
    fn worker(
        &self,
        name: &str,
        agent: &str,
        stop: &Stop,
    ) -> JoinHandle<Result<Ended, worker::Error>> {
        let token = self.keys.worker(&[agent]);
        let options = worker::Options {
            workspace: WORKSPACE.to_owned(),
            worker: name.to_owned(),
            agent_ids: vec![agent.to_owned()],
            slots: 8,
            capabilities: Vec::new(),
        };
        let work = async |task: Task| {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let output = serde_json::json!({ "of": task.task_id }).to_string();
            Outcome::Completed {
                output: Bytes::from(output),
                usage: None,
            }
        };
        let runtime = Runtime::new(&self.connection(&token), options, work);
        tokio::spawn(runtime.run(stop.stopped()))
    }

    async fn start_run(&self, graph: Graph) -> String {
        let connection = self.operator();
        let name = graph.name.clone();
        let put = PutGraphRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: Uuid::now_v7().to_string(),
            graph: Some(graph),
        };
        connection.graphs().put_graph(put).await.unwrap();
        let start = StartRunRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_key: Uuid::now_v7().to_string(),
            graph: name,
            ..StartRunRequest::default()
        };
        connection
            .runs()
            .start_run(start)
            .await
            .unwrap()
            .into_inner()
            .run_id
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if self.service.is_some() {
            self.kill();
        }
    }
}

async fn get(connection: &Connection, run: &str) -> Result<Run, Status> {
    let request = GetRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        run_id: run.to_owned(),
        request_key: String::new(),
    };
    let reply = connection.runs().get_run(request).await?;
    Ok(reply.into_inner().run.unwrap())
}

/// Layers of nodes, each fed by three of the layer above.
fn layered(layers: usize, width: usize) -> Graph {
    let key = |layer: usize, place: usize| format!("l{layer}-{place}");
    let nodes = (0..layers).flat_map(|layer| (0..width).map(move |place| (layer, place)));
    let edges = nodes
        .clone()
        .filter(|(layer, _)| *layer > 0)
        .flat_map(|(layer, place)| {
            (0..3).map(move |shift| Edge {
                from: key(layer - 1, (place * 7 + shift * 11) % width),
                to: key(layer, place),
                ..Edge::default()
            })
        });
    Graph {
        name: "layered".to_owned(),
        edges: edges.collect(),
        nodes: nodes
            .map(|(layer, place)| Node {
                key: key(layer, place),
                ..Node::default()
            })
            .collect(),
        ..Graph::default()
    }
}

/// Tasks and how often the run's events say that they succeeded.
async fn successes(connection: &Connection, run: &str) -> Vec<String> {
    let request = WatchRunRequest {
        workspace_id: WORKSPACE.to_owned(),
        run_id: run.to_owned(),
        after_seq: 0,
    };
    let mut stream = connection
        .runs()
        .watch_run(request)
        .await
        .unwrap()
        .into_inner();
    let (mut succeeded, mut seq) = (Vec::new(), 0);
    while let Some(item) = stream.message().await.unwrap() {
        if let Some(Item::Event(event)) = item.item {
            seq += 1;
            assert_eq!(event.seq, seq, "events are numbered without gaps");
            if event.kind() == RunEventKind::TaskSucceeded {
                succeeded.push(event.task);
            }
        }
    }
    succeeded
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_survives_three_kills_of_the_service() {
    let mut house = House::start().await;
    let agent = house.agent().await;
    let stop = Stop::new();
    let workers: Vec<_> = (0..3)
        .map(|n| house.worker(&format!("w{n}"), &agent, &stop))
        .collect();
    let run = house.start_run(layered(20, 50)).await;
    let connection = house.operator();

    for reached in [200, 500, 800] {
        wait_until(Duration::from_secs(60), "the run gets on", async || {
            let tasks = get(&connection, &run).await.ok().and_then(|run| run.tasks);
            tasks.is_some_and(|tasks| tasks.succeeded >= reached)
        })
        .await;
        house.kill();
        house.launch().await;
    }
    wait_until(Duration::from_secs(120), "the run ends", async || {
        get(&connection, &run)
            .await
            .is_ok_and(|run| run.state() > RunState::Cancelling)
    })
    .await;

    let ended = get(&connection, &run).await.unwrap();
    let gift = ended.gift.unwrap();
    assert_eq!(ended.state(), RunState::Succeeded);
    assert_eq!(ended.tasks.unwrap().succeeded, 1_000);
    assert_eq!(ended.gratitude, gift.total_handoffs);
    assert_eq!((gift.total_handoffs, gift.chain_length), (19 * 50 * 3, 19));
    let mut succeeded = successes(&connection, &run).await;
    succeeded.sort();
    succeeded.dedup();
    assert_eq!(succeeded.len(), 1_000, "one accepted completion a task");
    stop.stop();
    for worker in workers {
        assert_eq!(worker.await.unwrap().unwrap(), Ended::Drained);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_went_away_is_unavailable_until_it_is_back() {
    let mut house = House::start().await;
    let agent = house.agent().await;
    let stop = Stop::new();
    let worker = house.worker("w", &agent, &stop);
    let run = house.start_run(layered(10, 20)).await;
    let connection = house.operator();
    wait_until(Duration::from_secs(60), "the run gets on", async || {
        let tasks = get(&connection, &run).await.ok().and_then(|run| run.tasks);
        tasks.is_some_and(|tasks| tasks.succeeded >= 40)
    })
    .await;

    let mut postgres = house.postgres.take().unwrap();
    let pid = Pid::from_raw(i32::try_from(postgres.pid()).unwrap());
    kill(pid, Kill::SIGKILL).unwrap();
    wait_until(Duration::from_secs(20), "calls are refused", async || {
        get(&connection, &run)
            .await
            .is_err_and(|status| status.code() == Code::Unavailable)
    })
    .await;
    let revived = tokio::task::spawn_blocking(move || {
        let revived = postgres.revive();
        (postgres, revived)
    });
    let (postgres, revived) = revived.await.unwrap();
    house.postgres = Some(postgres);

    assert!(revived.unwrap(), "it had died");
    wait_until(Duration::from_secs(60), "the run ends", async || {
        get(&connection, &run)
            .await
            .is_ok_and(|run| run.state() > RunState::Cancelling)
    })
    .await;
    let ended = get(&connection, &run).await.unwrap();
    assert_eq!(ended.state(), RunState::Succeeded);
    assert_eq!(ended.tasks.unwrap().succeeded, 200);
    assert_eq!(ended.gratitude, ended.gift.unwrap().total_handoffs);
    let service = house.service.as_mut().unwrap();
    assert!(
        service.try_wait().unwrap().is_none(),
        "the service was not restarted"
    );
    stop.stop();
    worker.await.unwrap().unwrap();
}

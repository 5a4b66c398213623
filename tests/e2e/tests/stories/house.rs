//! A house for faults: replicas of hypha as processes beside a Postgres of their own, each of which can be killed, paused
//! and brought back. Whatever becomes of a story, its processes end with it. Knows nothing of what is played.

pub(crate) mod account;
pub(crate) mod actor;
pub(crate) mod desk;
pub(crate) mod graphs;
mod process;
mod replica;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cambium_client::{Connection, Options, StaticToken};
use cambium_e2e::hand::{Hand, WORKSPACE};
use cambium_proto::signal::v1::signal_service_client::SignalServiceClient;
use cambium_proto::signal::v1::{AgentSpawned, DeliverRequest, Signal, signal::Payload};
use cambium_service_kit::config::Secret;
use cambium_service_kit::database::{self, PoolOptions};
use cambium_service_kit::migrate;
use cambium_service_kit::postgres::{Listen, Options as PostgresOptions, Private};
use cambium_service_kit::token::{Issuer, SigningKey};
use cambium_testkit::{Keys, wait_until};
use futures::future::join_all;
use nix::sys::signal::{Signal as Kill, kill};
use nix::unistd::Pid;
use sqlx::PgPool;
use tempfile::TempDir;
use uuid::Uuid;

use desk::Desk;
use replica::Replica;

/// For Postgres to end.
const STOP: Duration = Duration::from_secs(30);

/// Of each log, shown when a story fails.
const LAST_LINES: usize = 40;

/// How a house differs from an ordinary one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    /// Whether Postgres keeps what it has acknowledged when it is killed. Else it is quicker.
    pub(crate) durable: bool,
    /// Of every replica's environment.
    pub(crate) settings: Vec<(&'static str, String)>,
}

impl Plan {
    pub(crate) fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    pub(crate) fn set(mut self, name: &'static str, value: impl ToString) -> Self {
        self.settings.push((name, value.to_string()));
        self
    }
}

/// Two replicas of hypha on one database.
pub(crate) struct House {
    // Dropped in this order: the replicas before what they stand on.
    replicas: Vec<Replica>,
    pool: PgPool,
    postgres: Option<Private>,
    keys: Keys,
    pub(crate) folder: TempDir,
}

impl House {
    pub(crate) async fn open(plan: Plan) -> Self {
        let folder = TempDir::new().unwrap();
        let keys = Keys::new();
        let bundle = furnish(&folder, &keys);
        let (postgres, pool) = start_postgres(&folder, plan.durable).await;
        let mut settings = vec![
            ("HYPHA_DATABASE_URL", postgres.url("hypha", "postgres")),
            ("CAMBIUM_BUNDLE", bundle),
        ];
        for (name, file) in [
            ("HYPHA_KEY", "own.key"),
            ("HYPHA_SERVICE_KEY", "service.key"),
        ] {
            settings.push((name, folder.path().join(file).display().to_string()));
        }
        settings.extend(plan.settings);
        let replica = |number| Replica::new(number, folder.path(), settings.clone());
        let mut house = Self {
            replicas: [0, 1].map(replica).into(),
            pool,
            postgres: Some(postgres),
            keys,
            folder,
        };
        house.launch(0).await;
        house.launch(1).await;
        house
    }

    /// Starts a replica, where it was, and waits until it answers.
    pub(crate) async fn launch(&mut self, replica: usize) {
        self.replicas[replica].start();
        let desk = self.desk(replica);
        let replica = &mut self.replicas[replica];
        wait_until(Duration::from_secs(30), "a replica answers", async || {
            replica.must_run();
            desk.answers().await
        })
        .await;
    }

    /// Starts a replica, where it was, and waits for nothing.
    pub(crate) fn launch_unseen(&mut self, replica: usize) {
        self.replicas[replica].start();
    }

    /// As a crash would.
    pub(crate) async fn kill(&mut self, replica: usize) {
        self.replicas[replica].kill().await;
    }

    /// Stops all replicas in the middle of whatever they do.
    pub(crate) async fn pause_all(&self) {
        join_all(self.replicas.iter().map(Replica::pause)).await;
    }

    pub(crate) fn resume_all(&self) {
        self.replicas.iter().for_each(Replica::resume);
    }

    pub(crate) async fn pause(&self, replica: usize) {
        self.replicas[replica].pause().await;
    }

    pub(crate) fn resume(&self, replica: usize) {
        self.replicas[replica].resume();
    }

    /// Fails unless every replica that was launched still runs in the process it was launched in.
    pub(crate) fn must_run(&mut self) {
        self.replicas.iter_mut().for_each(Replica::must_run);
    }

    /// Ends Postgres as a crash would: nobody closes anything.
    pub(crate) fn kill_postgres(&self) {
        self.signal_postgres(Kill::SIGKILL);
    }

    /// Ends Postgres in order, under whoever is connected.
    pub(crate) fn stop_postgres(&self) {
        self.signal_postgres(Kill::SIGINT);
    }

    fn signal_postgres(&self, signal: Kill) {
        let pid = self.postgres.as_ref().unwrap().pid();
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
    }

    /// Brings Postgres back, once it has ended.
    pub(crate) async fn revive_postgres(&mut self) {
        wait_until(STOP, "Postgres has ended and is back", async || {
            let mut postgres = self.postgres.take().unwrap();
            let revive = move || (postgres.revive(), postgres);
            let (revived, postgres) = tokio::task::spawn_blocking(revive).await.unwrap();
            self.postgres = Some(postgres);
            revived.unwrap()
        })
        .await;
    }

    /// The database as its superuser sees it.
    pub(crate) fn books(&self) -> &PgPool {
        &self.pool
    }

    /// One number of the books.
    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        let number = sqlx::query_scalar(sql).fetch_one(&self.pool).await;
        number.unwrap()
    }

    /// Waits until a number of the books is this one. A database that is away is asked again.
    pub(crate) async fn until_number(&self, bound: Duration, sql: &'static str, wanted: i64) {
        wait_until(bound, sql, async || {
            let number = sqlx::query_scalar(sql).fetch_one(&self.pool).await;
            number.is_ok_and(|number: i64| number == wanted)
        })
        .await;
    }

    /// The file that lets tasks behind the gate end.
    pub(crate) fn gate(&self) -> PathBuf {
        self.folder.path().join("gate")
    }

    pub(crate) fn open_gate(&self) {
        fs::write(self.gate(), "").unwrap();
    }

    pub(crate) fn connection(&self, replica: usize, token: &str) -> Connection {
        let options = Options {
            deadline: Duration::from_secs(5),
            ..Options::default()
        };
        let tokens = Arc::new(StaticToken::new(token));
        Connection::open(&self.replicas[replica].url(), tokens, options).unwrap()
    }

    /// An operator at one replica.
    pub(crate) fn desk(&self, replica: usize) -> Desk {
        Desk::new(self.connection(replica, &self.keys.operator()))
    }

    /// Tells hypha of an agent that can do anything these graphs ask for.
    pub(crate) async fn agent(&self, name: &str) -> String {
        let agent = Uuid::now_v7().to_string();
        let spawned = AgentSpawned {
            agent_id: agent.clone(),
            name: name.to_owned(),
            capabilities: Vec::new(),
            ..AgentSpawned::default()
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
        let channel = self
            .connection(0, &self.keys.service("genesis"))
            .authorized();
        let request = DeliverRequest {
            signals: vec![signal],
        };
        let mut receptors = SignalServiceClient::new(channel);
        receptors.deliver(request).await.unwrap();
        agent
    }

    /// A worker by hand whose calls go to the two replicas in turn.
    pub(crate) async fn hand(&self, worker: &str, agent: &str) -> Hand {
        let token = self.keys.worker(&[agent]);
        let doors = vec![self.connection(0, &token), self.connection(1, &token)];
        let hand = Hand::register(doors, worker, &[agent.to_owned()]).await;
        hand.unwrap()
    }
}

impl Drop for House {
    /// Before the folder goes, a story that failed shows what its processes said last.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for entry in fs::read_dir(self.folder.path()).unwrap().flatten() {
            if entry.path().extension().is_some_and(|end| end == "log") {
                let log = fs::read_to_string(entry.path()).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let last = lines[lines.len().saturating_sub(LAST_LINES)..].join("\n");
                println!("--- {}\n{last}", entry.path().display());
            }
        }
    }
}

/// Keys where processes find them. Answers where the public ones are.
fn furnish(folder: &TempDir, keys: &Keys) -> String {
    let own = SigningKey::generate("hypha-1", Issuer::Hypha).unwrap();
    let service = SigningKey::generate("hypha-service-1", Issuer::Service).unwrap();
    own.save(&folder.path().join("own.key")).unwrap();
    service.save(&folder.path().join("service.key")).unwrap();
    let bundle = keys.bundle().with(own.public()).with(service.public());
    let path = folder.path().join("bundle.json");
    bundle.save(&path).unwrap();
    path.display().to_string()
}

async fn start_postgres(folder: &TempDir, durable: bool) -> (Private, PgPool) {
    let options = PostgresOptions {
        folder: folder.path().join("postgres"),
        durable,
        listen: Listen::Loopback,
    };
    let started = tokio::task::spawn_blocking(move || Private::start(options)).await;
    let postgres = started.unwrap().unwrap();
    let superuser = Secret::new(postgres.superuser_url("postgres"));
    let options = PoolOptions {
        max: 3,
        service: "stories",
    };
    let pool = database::connect(&superuser, options).unwrap();
    let migrated = migrate::apply(&pool, "hypha", &hypha_svc::MIGRATOR, "hypha").await;
    migrated.unwrap();
    postgres.admit(&pool, "hypha").await.unwrap();
    (postgres, pool)
}

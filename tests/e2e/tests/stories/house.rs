//! A house for faults: replicas of hypha as processes beside a Postgres of their own, and the services that it tells of what
//! happens; each can be killed, paused and brought back. Whatever becomes of a story, its processes end with it. Knows
//! nothing of what is played.

pub(crate) mod account;
pub(crate) mod actor;
pub(crate) mod desk;
pub(crate) mod graphs;
mod ground;
pub(crate) mod judge;
pub(crate) mod pair;
mod process;
mod replica;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cambium_client::{Connection, Options, StaticToken};
use cambium_e2e::hand::{Hand, WORKSPACE};
use cambium_proto::signal::v1::signal_service_client::SignalServiceClient;
use cambium_proto::signal::v1::{AgentSpawned, DeliverRequest, Signal, signal::Payload};
use cambium_service_kit::postgres::Private;
use cambium_testkit::{Keys, wait_until};
use futures::future::join_all;
use nix::sys::signal::{Signal as Kill, kill};
use nix::unistd::Pid;
use sqlx::PgPool;
use tempfile::TempDir;
use uuid::Uuid;

use desk::Desk;
use ground::{furnish, settings, start_postgres};
use judge::Judge;
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
    /// Services that live beside hypha.
    pub(crate) neighbours: Vec<&'static str>,
}

impl Plan {
    pub(crate) fn durable(mut self) -> Self {
        self.durable = true;
        self
    }

    /// With one more service, which hears of all others and is heard.
    pub(crate) fn beside(mut self, service: &'static str) -> Self {
        self.neighbours.push(service);
        self
    }

    pub(crate) fn set(mut self, name: &'static str, value: impl ToString) -> Self {
        self.settings.push((name, value.to_string()));
        self
    }
}

/// Two replicas of hypha on one database, and one of each neighbour.
pub(crate) struct House {
    // Dropped in this order: the replicas before what they stand on.
    replicas: Vec<Replica>,
    neighbours: BTreeMap<&'static str, Replica>,
    pool: PgPool,
    postgres: Option<Private>,
    keys: Keys,
    pub(crate) folder: TempDir,
}

impl House {
    pub(crate) async fn open(plan: Plan) -> Self {
        let folder = TempDir::new().unwrap();
        let keys = Keys::new();
        let services = services(&plan);
        let bundle = furnish(&folder, &keys, &services);
        let (postgres, pool) = start_postgres(&folder, plan.durable, &services).await;
        let mut replicas = [0, 1].map(|number| Replica::new("hypha", number, folder.path()));
        let neighbours = plan.neighbours.iter();
        let mut neighbours: BTreeMap<_, _> = neighbours
            .map(|service| (*service, Replica::new(service, 0, folder.path())))
            .collect();

        // Whoever tells hypha tells its first replica: the other learns it by itself.
        let doors = neighbours.iter().map(|(name, it)| (*name, it.url()));
        let doors: BTreeMap<_, _> = doors.chain([("hypha", replicas[0].url())]).collect();
        let own = |name| {
            let mut settings = settings(name, &folder, &postgres, &doors);
            settings.push(("CAMBIUM_BUNDLE".to_owned(), bundle.clone()));
            let extra = plan.settings.iter();
            settings.extend(extra.map(|(name, value)| ((*name).to_owned(), value.clone())));
            settings
        };
        for replica in &mut replicas {
            replica.settle(own("hypha"));
        }
        for (name, neighbour) in &mut neighbours {
            neighbour.settle(own(name));
        }
        let mut house = Self {
            replicas: replicas.into(),
            neighbours,
            pool,
            postgres: Some(postgres),
            keys,
            folder,
        };
        for name in &plan.neighbours {
            house.launch_neighbour(name).await;
        }
        house.launch(0).await;
        house.launch(1).await;
        house
    }

    /// Starts a service beside hypha, where it was, and waits until it answers.
    pub(crate) async fn launch_neighbour(&mut self, name: &'static str) {
        self.neighbours.get_mut(name).unwrap().start();
        let door = self.neighbour(name, &self.keys.operator());
        let neighbour = self.neighbours.get_mut(name).unwrap();
        wait_until(Duration::from_secs(30), "a neighbour answers", async || {
            neighbour.must_run();
            judge::answers(&door).await
        })
        .await;
    }

    /// As a crash would.
    pub(crate) async fn kill_neighbour(&mut self, name: &'static str) {
        self.neighbours.get_mut(name).unwrap().kill().await;
    }

    /// A connection to a service beside hypha.
    pub(crate) fn neighbour(&self, name: &'static str, token: &str) -> Connection {
        open(&self.neighbours[name].url(), token)
    }

    /// An operator who asks immune.
    pub(crate) fn judge(&self) -> Judge {
        Judge::new(self.neighbour("immune", &self.keys.operator()))
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
        open(&self.replicas[replica].url(), token)
    }

    /// Brings signals to a service as that other one would.
    pub(crate) async fn deliver(&self, to: &str, from: &str, signals: Vec<Signal>) {
        let token = self.keys.service(from);
        let door = match self.neighbours.get(to) {
            Some(neighbour) => open(&neighbour.url(), &token),
            None => self.connection(0, &token),
        };
        let mut receptors = SignalServiceClient::new(door.authorized());
        receptors.deliver(DeliverRequest { signals }).await.unwrap();
    }

    /// An operator at one replica.
    pub(crate) fn desk(&self, replica: usize) -> Desk {
        Desk::new(self.connection(replica, &self.keys.operator()))
    }

    pub(crate) const fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Tells all services of an agent that can do anything these graphs ask for.
    pub(crate) async fn agent(&self, name: &str) -> String {
        self.spawned(AgentSpawned {
            name: name.to_owned(),
            ..AgentSpawned::default()
        })
        .await
    }

    /// Of one that does the tasks of a mind's turns.
    pub(crate) async fn agent_serving(
        &self,
        name: &str,
        capabilities: &[&str],
        mind: &str,
    ) -> String {
        self.spawned(AgentSpawned {
            name: name.to_owned(),
            capabilities: capabilities.iter().map(|&name| name.to_owned()).collect(),
            serves_minds: vec![mind.to_owned()],
            ..AgentSpawned::default()
        })
        .await
    }

    async fn spawned(&self, agent: AgentSpawned) -> String {
        let agent_id = Uuid::now_v7().to_string();
        let spawned = AgentSpawned {
            agent_id: agent_id.clone(),
            ..agent
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
        for service in self.neighbours.keys().chain([&"hypha"]) {
            self.deliver(service, "genesis", vec![signal.clone()]).await;
        }
        agent_id
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

/// Who lives here.
fn services(plan: &Plan) -> Vec<&'static str> {
    let neighbours = plan.neighbours.iter().copied();
    neighbours.chain(["hypha"]).collect()
}

fn open(url: &str, token: &str) -> Connection {
    let options = Options {
        deadline: Duration::from_secs(5),
        ..Options::default()
    };
    let tokens = Arc::new(StaticToken::new(token));
    Connection::open(url, tokens, options).unwrap()
}

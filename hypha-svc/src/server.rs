//! Puts the service together: pools, engine, loops, routes and who may call them.

use std::sync::Arc;

use cambium_kernel::SystemClock;
use cambium_proto::hypha::v1::graph_service_server::GraphServiceServer;
use cambium_proto::hypha::v1::matching_service_server::MatchingServiceServer;
use cambium_proto::hypha::v1::run_service_server::RunServiceServer;
use cambium_proto::hypha::v1::task_service_server::TaskServiceServer;
use cambium_proto::hypha::v1::worker_service_server::WorkerServiceServer;
use cambium_service_kit::auth::{Auth, Rule};
use cambium_service_kit::config::Secret;
use cambium_service_kit::database::{self, PoolOptions};
use cambium_service_kit::inbox::SignalRpc;
use cambium_service_kit::outbox::{Relay, Routes};
use cambium_service_kit::peer::Peer;
use cambium_service_kit::principal::Kind;
use cambium_service_kit::readiness;
use cambium_service_kit::service::Service;
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::token::Verifier;
use cambium_service_kit::watchers::Watchers;
use sqlx::PgPool;

use crate::app::App;
use crate::config::Config;
use crate::engine::{Ends, Engine, Settings};
use crate::loops;
use crate::peers::genesis::Genesis;
use crate::receptors::Receptors;
use crate::rpc::graph::GraphRpc;
use crate::rpc::matching::MatchingRpc;
use crate::rpc::run::RunRpc;
use crate::rpc::task::TaskRpc;
use crate::rpc::worker::WorkerRpc;
use crate::store::SCHEMA;

pub(crate) const NAME: &str = "hypha";

/// Who hears which signal (design: architecture, "Signals").
const ROUTES: &[(&str, &[&str])] = &[
    (crate::engine::thank::GRATITUDE, &["immune"]),
    (crate::engine::thank::DEAD_END, &["immune"]),
    (
        crate::engine::evidence::TASK_SETTLED,
        &["immune", "genesis"],
    ),
    (crate::engine::evidence::AGENT_DRAINED, &["genesis"]),
    (crate::engine::turn::RUN_SETTLED, &["swarm"]),
];

const READERS: &[Kind] = &[
    Kind::Operator,
    Kind::Mind,
    Kind::Agent,
    Kind::Worker,
    Kind::Viewer,
];
/// Of the services swarm alone: `app::turn` sees to that, here and below.
const READERS_AND_SWARM: &[Kind] = &[
    Kind::Operator,
    Kind::Mind,
    Kind::Agent,
    Kind::Worker,
    Kind::Viewer,
    Kind::Service,
];
/// A mind starts runs in its turn.
const STARTERS_AND_MINDS: &[Kind] = &[Kind::Operator, Kind::Agent, Kind::Mind, Kind::Service];
const STARTERS_AND_SWARM: &[Kind] = &[Kind::Operator, Kind::Agent, Kind::Service];
const OPERATORS_AND_SWARM: &[Kind] = &[Kind::Operator, Kind::Service];
const STARTERS: &[Kind] = &[Kind::Operator, Kind::Agent];
const OPERATORS: &[Kind] = &[Kind::Operator];
const WORKERS: &[Kind] = &[Kind::Worker];
const SERVICES: &[Kind] = &[Kind::Service];

/// Who may call what, by kind alone until the policy comes.
const PERMISSIONS: &[Rule] = &[
    rule("/cambium.hypha.v1.GraphService/PutGraph", STARTERS),
    rule("/cambium.hypha.v1.GraphService/ValidateGraph", STARTERS),
    rule("/cambium.hypha.v1.GraphService/ImportGraph", STARTERS),
    rule("/cambium.hypha.v1.GraphService/GetGraph", READERS),
    rule("/cambium.hypha.v1.GraphService/ListGraphs", READERS),
    rule("/cambium.hypha.v1.RunService/StartRun", STARTERS_AND_MINDS),
    rule("/cambium.hypha.v1.RunService/GetRun", READERS_AND_SWARM),
    rule(
        "/cambium.hypha.v1.RunService/BatchGetRuns",
        READERS_AND_SWARM,
    ),
    rule(
        "/cambium.hypha.v1.RunService/HoldsLease",
        OPERATORS_AND_SWARM,
    ),
    rule("/cambium.hypha.v1.RunService/ListRuns", READERS),
    rule("/cambium.hypha.v1.RunService/WatchRun", READERS),
    rule("/cambium.hypha.v1.RunService/CancelRun", STARTERS_AND_SWARM),
    rule("/cambium.hypha.v1.RunService/PauseRun", STARTERS),
    rule("/cambium.hypha.v1.RunService/ResumeRun", STARTERS),
    rule("/cambium.hypha.v1.RunService/RerunFrom", STARTERS),
    rule("/cambium.hypha.v1.RunService/SignalRun", STARTERS),
    rule("/cambium.hypha.v1.RunService/ExplainRun", READERS),
    rule("/cambium.hypha.v1.RunService/GetOutput", READERS),
    rule("/cambium.hypha.v1.TaskService/GetTask", READERS),
    rule("/cambium.hypha.v1.TaskService/ListTasks", READERS),
    rule("/cambium.hypha.v1.TaskService/ExplainTask", READERS),
    rule("/cambium.hypha.v1.MatchingService/GetWeights", READERS),
    rule("/cambium.hypha.v1.MatchingService/PutWeights", OPERATORS),
    rule("/cambium.hypha.v1.WorkerService/Register", WORKERS),
    rule("/cambium.hypha.v1.WorkerService/Poll", WORKERS),
    rule("/cambium.hypha.v1.WorkerService/Heartbeat", WORKERS),
    rule("/cambium.hypha.v1.WorkerService/Complete", WORKERS),
    rule("/cambium.hypha.v1.WorkerService/CompleteMany", WORKERS),
    rule("/cambium.hypha.v1.WorkerService/Fail", WORKERS),
    rule("/cambium.hypha.v1.WorkerService/Park", WORKERS),
    rule("/cambium.hypha.v1.WorkerService/Release", WORKERS),
    rule("/cambium.hypha.v1.WorkerService/Work", WORKERS),
    rule("/cambium.hypha.v1.WorkerService/MintAgentToken", WORKERS),
    rule("/cambium.signal.v1.SignalService/Deliver", SERVICES),
];

const fn rule(method: &'static str, kinds: &'static [Kind]) -> Rule {
    Rule { method, kinds }
}

/// Where a graph travels.
const GRAPH_BYTES: usize = 32 << 20;
/// Where a payload travels.
const PAYLOAD_BYTES: usize = (1 << 20) + (64 << 10);
const REPLY_BYTES: usize = 4 << 20;

/// Builds the service and starts its loops, which end with `stop`.
pub async fn build(config: Config, stop: Stop) -> anyhow::Result<Service> {
    let clock = Arc::new(SystemClock);
    let verifier = Verifier::new(config.bundle, NAME, clock.clone());
    let auth = Auth::new(verifier, NAME, PERMISSIONS);
    let pool = connect(&config.database_url, 6)?;
    let engine_pool = database::connect_unasked(
        &database::planned(&config.database_url),
        PoolOptions {
            max: 2 + u32::try_from(config.committers)?,
            service: "hypha-svc",
        },
    )?;
    let routes = Routes::new(ROUTES, config.receivers.clone());
    let genesis = config.receivers.get("genesis").map(|address| {
        let credentials = config.credentials.clone();
        Peer::new("genesis", address, credentials).map(Genesis::new)
    });
    let genesis = genesis.transpose()?;
    // What agents leave behind is composted when their lives are over.
    let relay =
        Relay::new(pool.clone(), SCHEMA, &routes, config.credentials)?.unhurried(&["genesis"]);
    let settings = Settings {
        lease: config.lease,
        grace: config.grace,
        event_limit: config.retention.event_limit,
    };
    let (engine, ends) = Engine::new(engine_pool, settings, routes, relay.wake());
    tokio::spawn(relay.run(stop.clone()));
    run_loops(&engine, &pool, ends, config.committers, &stop);
    tokio::spawn(loops::expire::expire(
        engine.clone(),
        pool.clone(),
        config.retention,
        stop.clone(),
    ));
    if let Some(genesis) = genesis {
        let asking = loops::spawn::Asking {
            engine: engine.clone(),
            pool: pool.clone(),
            genesis,
            after: config.spawn_after,
        };
        tokio::spawn(loops::spawn::spawn(asking, stop.clone()));
    }
    let ready = readiness::watch(pool.clone(), stop.clone());
    let receptors = Receptors {
        engine: engine.clone(),
    };
    let app = App {
        pool: pool.clone(),
        engine,
        key: config.key,
        clock,
        stop,
        watchers: Watchers::default(),
    };
    let service = Service::new(NAME, auth, ready, move |routes| {
        let graphs = GraphServiceServer::new(GraphRpc(app.clone()));
        routes.add_service(
            graphs
                .max_decoding_message_size(GRAPH_BYTES)
                .max_encoding_message_size(GRAPH_BYTES),
        );
        let runs = RunServiceServer::new(RunRpc(app.clone()));
        routes.add_service(
            runs.max_decoding_message_size(PAYLOAD_BYTES)
                .max_encoding_message_size(REPLY_BYTES),
        );
        let tasks = TaskServiceServer::new(TaskRpc(app.clone()));
        routes.add_service(tasks.max_decoding_message_size(256 << 10));
        let matching = MatchingServiceServer::new(MatchingRpc(app.clone()));
        routes.add_service(matching.max_decoding_message_size(64 << 10));
        let workers = WorkerServiceServer::new(WorkerRpc(app.clone()));
        routes.add_service(
            workers
                .max_decoding_message_size(PAYLOAD_BYTES)
                .max_encoding_message_size(REPLY_BYTES),
        );
    });
    Ok(service.hearing(move |routes| {
        routes.add_service(SignalRpc::new(pool.clone(), SCHEMA, receptors.clone()).into_service());
    }))
}

fn connect(url: &Secret, max: u32) -> anyhow::Result<PgPool> {
    let options = PoolOptions {
        max,
        service: "hypha-svc",
    };
    Ok(database::connect(url, options)?)
}

fn run_loops(engine: &Engine, pool: &PgPool, ends: Ends, committers: usize, stop: &Stop) {
    for _ in 0..committers {
        tokio::spawn(loops::commit::commit(
            engine.clone(),
            ends.ops.clone(),
            stop.clone(),
        ));
    }
    tokio::spawn(loops::decide::decide(
        engine.clone(),
        pool.clone(),
        ends.decide,
        stop.clone(),
    ));
    tokio::spawn(loops::forget::forget(pool.clone(), stop.clone()));
    tokio::spawn(loops::listen::listen(
        engine.clone(),
        pool.clone(),
        stop.clone(),
    ));
    tokio::spawn(loops::pulse::pulse(engine.clone(), stop.clone()));
    tokio::spawn(loops::standing::standing(
        engine.clone(),
        pool.clone(),
        stop.clone(),
    ));
    tokio::spawn(loops::sweep::sweep(
        engine.clone(),
        pool.clone(),
        stop.clone(),
    ));
}

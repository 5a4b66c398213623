//! Puts genesis together: database, use cases, loops, port. Whatever the outside supplies enters as an argument.

use std::sync::Arc;

use cambium_kernel::SystemClock;
use cambium_proto::genesis::v1::agent_service_server::AgentServiceServer;
use cambium_proto::genesis::v1::compost_service_server::CompostServiceServer;
use cambium_proto::genesis::v1::spawn_service_server::SpawnServiceServer;
use cambium_proto::genesis::v1::template_service_server::TemplateServiceServer;
use cambium_service_kit::auth::{Auth, Rule};
use cambium_service_kit::database::PoolOptions;
use cambium_service_kit::inbox::SignalRpc;
use cambium_service_kit::outbox::{self, Relay};
use cambium_service_kit::principal::Kind;
use cambium_service_kit::service::Service;
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::token::Verifier;
use cambium_service_kit::watchers::Watchers;
use cambium_service_kit::{database, readiness};
use tokio::sync::Notify;

use crate::app::App;
use crate::config::Config;
use crate::convert::{AGENT_RETIRED, AGENT_SPAWNED};
use crate::receptors::Receptors;
use crate::rpc::{AgentRpc, CompostRpc, SpawnRpc, TemplateRpc};
use crate::{loops, store};

pub(crate) const NAME: &str = "genesis";

/// Who may call what. Whatever is not here is denied; what depends on who is whose parent is asked again by the use case.
const PERMISSIONS: &[Rule] = &[
    rule("/cambium.genesis.v1.AgentService/EnrollAgent", OPERATORS),
    rule("/cambium.genesis.v1.AgentService/GetAgent", READERS),
    rule("/cambium.genesis.v1.AgentService/ListAgents", READERS),
    rule("/cambium.genesis.v1.AgentService/RetireAgent", RETIRERS),
    rule("/cambium.genesis.v1.AgentService/GetAncestry", READERS),
    rule("/cambium.genesis.v1.AgentService/WatchAgents", READERS),
    rule("/cambium.genesis.v1.TemplateService/PutTemplate", OPERATORS),
    rule("/cambium.genesis.v1.TemplateService/GetTemplate", READERS),
    rule("/cambium.genesis.v1.TemplateService/ListTemplates", READERS),
    rule("/cambium.genesis.v1.TemplateService/ListVersions", READERS),
    rule(
        "/cambium.genesis.v1.TemplateService/ExportTemplate",
        READERS,
    ),
    rule(
        "/cambium.genesis.v1.TemplateService/ImportTemplate",
        OPERATORS,
    ),
    rule("/cambium.genesis.v1.TemplateService/ListLearnings", READERS),
    rule(
        "/cambium.genesis.v1.TemplateService/ExplainLearning",
        READERS,
    ),
    rule(
        "/cambium.genesis.v1.TemplateService/RollBackLearning",
        OPERATORS,
    ),
    rule("/cambium.genesis.v1.SpawnService/Spawn", SPAWNERS),
    rule("/cambium.genesis.v1.SpawnService/DecideSpawn", OPERATORS),
    rule("/cambium.genesis.v1.SpawnService/ListSpawns", READERS),
    rule("/cambium.genesis.v1.CompostService/GetCompost", READERS),
    rule("/cambium.genesis.v1.CompostService/ListComposts", READERS),
    rule("/cambium.signal.v1.SignalService/Deliver", &[Kind::Service]),
];
const OPERATORS: &[Kind] = &[Kind::Operator];
const READERS: &[Kind] = &[Kind::Operator, Kind::Agent, Kind::Worker, Kind::Viewer];
const RETIRERS: &[Kind] = &[Kind::Operator, Kind::Agent];
const SPAWNERS: &[Kind] = &[Kind::Operator, Kind::Agent, Kind::Service];

const fn rule(method: &'static str, kinds: &'static [Kind]) -> Rule {
    Rule { method, kinds }
}

/// Room for a hundred capabilities of the longest kind, beside a config.
const REQUEST_BYTES: usize = 256 * 1024;

/// Who hears which of our signals.
const RECEIVERS: &[(&str, &[&str])] = &[
    (AGENT_SPAWNED, &["hypha", "immune", "stigmergy"]),
    (AGENT_RETIRED, &["hypha", "immune", "stigmergy"]),
];

/// Puts the service together and starts its loops, which end with `stop`.
pub async fn build(config: Config, stop: Stop) -> anyhow::Result<Service> {
    let options = PoolOptions {
        max: config.connections,
        service: NAME,
    };
    let pool = database::connect(&config.database_url, options)?;
    let routes = outbox::Routes::new(RECEIVERS, config.receivers);
    let relay = Relay::new(pool.clone(), store::SCHEMA, &routes, config.credentials)?;
    let clock = Arc::new(SystemClock);
    let composting = Arc::new(Notify::new());
    let app = Arc::new(App {
        pool: pool.clone(),
        key: config.key,
        clock: clock.clone(),
        routes,
        relay: relay.wake(),
        composting: composting.clone(),
        watchers: Watchers::default(),
        stop: stop.clone(),
    });
    tokio::spawn(relay.run(stop.clone()));
    tokio::spawn(loops::forget::run(pool.clone(), stop.clone()));
    tokio::spawn(loops::compost::run(app.clone(), stop.clone()));
    let ready = readiness::watch(pool.clone(), stop);
    let auth = Auth::new(Verifier::new(config.bundle, NAME, clock), NAME, PERMISSIONS);
    let service = Service::new(NAME, auth, ready, move |routes| {
        let agents = AgentServiceServer::new(AgentRpc::new(app.clone()));
        routes.add_service(agents.max_decoding_message_size(REQUEST_BYTES));
        let templates = TemplateServiceServer::new(TemplateRpc::new(app.clone()));
        routes.add_service(templates.max_decoding_message_size(REQUEST_BYTES));
        let spawns = SpawnServiceServer::new(SpawnRpc::new(app.clone()));
        routes.add_service(spawns.max_decoding_message_size(REQUEST_BYTES));
        let composts = CompostServiceServer::new(CompostRpc::new(app.clone()));
        routes.add_service(composts.max_decoding_message_size(REQUEST_BYTES));
    });
    Ok(service.hearing(move |routes| {
        let receptors = Receptors {
            composting: composting.clone(),
        };
        let signals = SignalRpc::new(pool.clone(), store::SCHEMA, receptors);
        routes.add_service(signals.into_service());
    }))
}

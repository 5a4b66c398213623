//! Puts genesis together: database, use cases, loops, port. Whatever the outside supplies enters as an argument.

use std::sync::Arc;

use cambium_kernel::SystemClock;
use cambium_proto::genesis::v1::agent_service_server::AgentServiceServer;
use cambium_service_kit::auth::{Auth, Rule};
use cambium_service_kit::database::PoolOptions;
use cambium_service_kit::outbox::{self, Relay};
use cambium_service_kit::principal::Kind;
use cambium_service_kit::service::Service;
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::token::Verifier;
use cambium_service_kit::{database, readiness};

use crate::app::App;
use crate::config::Config;
use crate::convert::AGENT_SPAWNED;
use crate::rpc::AgentRpc;
use crate::{loops, store};

pub(crate) const NAME: &str = "genesis";

/// Who may call what. Whatever is not here is denied.
const PERMISSIONS: &[Rule] = &[
    Rule {
        method: "/cambium.genesis.v1.AgentService/EnrollAgent",
        kinds: &[Kind::Operator],
    },
    Rule {
        method: "/cambium.genesis.v1.AgentService/GetAgent",
        kinds: READERS,
    },
    Rule {
        method: "/cambium.genesis.v1.AgentService/ListAgents",
        kinds: READERS,
    },
];
const READERS: &[Kind] = &[Kind::Operator, Kind::Agent, Kind::Worker, Kind::Viewer];

/// Room for a hundred capabilities of the longest kind.
const REQUEST_BYTES: usize = 256 * 1024;

/// Who hears which of our signals.
const RECEIVERS: &[(&str, &[&str])] = &[(AGENT_SPAWNED, &["hypha", "immune", "stigmergy"])];

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
    let app = Arc::new(App {
        pool: pool.clone(),
        key: config.key,
        clock: clock.clone(),
        routes,
        relay: relay.wake(),
    });
    tokio::spawn(relay.run(stop.clone()));
    tokio::spawn(loops::forget::run(pool.clone(), stop.clone()));
    let ready = readiness::watch(pool, stop);
    let auth = Auth::new(Verifier::new(config.bundle, NAME, clock), NAME, PERMISSIONS);
    Ok(Service::new(NAME, auth, ready, move |routes| {
        let agents = AgentServiceServer::new(AgentRpc::new(Arc::clone(&app)));
        routes.add_service(agents.max_decoding_message_size(REQUEST_BYTES));
    }))
}

//! Puts immune together: database, use cases, loops, port. Whatever the outside supplies enters as an argument.

use std::sync::Arc;

use cambium_kernel::SystemClock;
use cambium_proto::immune::v1::alert_service_server::AlertServiceServer;
use cambium_proto::immune::v1::generosity_service_server::GenerosityServiceServer;
use cambium_proto::immune::v1::quarantine_service_server::QuarantineServiceServer;
use cambium_proto::immune::v1::rule_service_server::RuleServiceServer;
use cambium_proto::immune::v1::standing_service_server::StandingServiceServer;
use cambium_service_kit::auth::{Auth, Rule};
use cambium_service_kit::database::PoolOptions;
use cambium_service_kit::inbox::SignalRpc;
use cambium_service_kit::outbox::{self, Relay};
use cambium_service_kit::principal::Kind;
use cambium_service_kit::service::Service;
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::token::Verifier;
use cambium_service_kit::watchers::Watchers;
use cambium_service_kit::{batch, database, readiness};
use tokio::sync::broadcast;

use crate::app::App;
use crate::config::Config;
use crate::convert::signal::{LOAD_ADVICE, STANDING_CHANGED};
use crate::receptors::Receptors;
use crate::rpc::{AlertRpc, GenerosityRpc, QuarantineRpc, RuleRpc, StandingRpc};
use crate::{loops, store};

pub(crate) const NAME: &str = "immune";

const READERS: &[Kind] = &[Kind::Operator, Kind::Agent, Kind::Worker, Kind::Viewer];
const OPERATORS: &[Kind] = &[Kind::Operator];
const SERVICES: &[Kind] = &[Kind::Service];
/// Which service may record what, `convert` asks.
const RECORDERS: &[Kind] = &[Kind::Operator, Kind::Service];

/// Who may call what, by kind alone until the policy comes.
const PERMISSIONS: &[Rule] = &[
    rule("/cambium.immune.v1.StandingService/GetStanding", READERS),
    rule("/cambium.immune.v1.StandingService/ListStandings", READERS),
    rule(
        "/cambium.immune.v1.StandingService/ExplainStanding",
        READERS,
    ),
    rule("/cambium.immune.v1.StandingService/WatchStandings", READERS),
    rule("/cambium.immune.v1.StandingService/AdjustTrust", OPERATORS),
    rule(
        "/cambium.immune.v1.GenerosityService/RecordContribution",
        RECORDERS,
    ),
    rule(
        "/cambium.immune.v1.GenerosityService/RecordConsumption",
        RECORDERS,
    ),
    rule(
        "/cambium.immune.v1.GenerosityService/RecordKnowledgeShare",
        RECORDERS,
    ),
    rule("/cambium.immune.v1.GenerosityService/GetPolicy", READERS),
    rule("/cambium.immune.v1.GenerosityService/PutPolicy", OPERATORS),
    rule(
        "/cambium.immune.v1.QuarantineService/QuarantineAgent",
        OPERATORS,
    ),
    rule(
        "/cambium.immune.v1.QuarantineService/ReleaseQuarantine",
        OPERATORS,
    ),
    rule(
        "/cambium.immune.v1.QuarantineService/ListQuarantines",
        READERS,
    ),
    rule("/cambium.immune.v1.RuleService/PutRule", OPERATORS),
    rule("/cambium.immune.v1.RuleService/ListRules", READERS),
    rule("/cambium.immune.v1.RuleService/DryRunRule", OPERATORS),
    rule("/cambium.immune.v1.RuleService/ListAnomalies", READERS),
    rule("/cambium.immune.v1.AlertService/ListAlerts", READERS),
    rule("/cambium.immune.v1.AlertService/WatchAlerts", READERS),
    rule(
        "/cambium.immune.v1.AlertService/AcknowledgeAlert",
        OPERATORS,
    ),
    rule("/cambium.signal.v1.SignalService/Deliver", SERVICES),
];

const fn rule(method: &'static str, kinds: &'static [Kind]) -> Rule {
    Rule { method, kinds }
}

/// Who hears which of our signals. Stress signals are for immune's own rules, which hear them in the transaction that
/// makes them.
const RECEIVERS: &[(&str, &[&str])] = &[
    (STANDING_CHANGED, &["hypha", "stigmergy", "genesis"]),
    (LOAD_ADVICE, &["hypha"]),
];

const REQUEST_BYTES: usize = 256 * 1024;
const REPLY_BYTES: usize = 4 << 20;
/// Facts that may wait to be recorded.
const QUEUE: usize = 4_096;
/// Transactions that record facts side by side.
const RECORDERS_AT_ONCE: usize = 2;
/// News that a watcher may be behind before it looks without.
const NEWS: usize = 256;

/// Puts the service together and starts its loops, which end with `stop`.
pub async fn build(config: Config, stop: Stop) -> anyhow::Result<Service> {
    let options = PoolOptions {
        max: config.connections,
        service: NAME,
    };
    let pool = database::connect(&database::planned(&config.database_url), options)?;
    let routes = outbox::Routes::new(RECEIVERS, config.receivers);
    // Copies of standings: who must not work any more is out within a second all the same.
    let relay = Relay::new(pool.clone(), store::SCHEMA, &routes, config.credentials)?.unhurried(&[
        "hypha",
        "stigmergy",
        "genesis",
    ]);
    let (records, queue) = batch::channel(QUEUE);
    let app = Arc::new(App {
        pool: pool.clone(),
        routes,
        relay: relay.wake(),
        records,
        news: broadcast::Sender::new(NEWS),
        watchers: Watchers::default(),
        stop: stop.clone(),
    });
    tokio::spawn(relay.run(stop.clone()));
    for _ in 0..RECORDERS_AT_ONCE {
        tokio::spawn(loops::record::run(Arc::clone(&app), queue.clone()));
    }
    tokio::spawn(loops::expire::run(Arc::clone(&app)));
    tokio::spawn(loops::forget::run(pool.clone(), stop.clone()));
    tokio::spawn(loops::listen::run(Arc::clone(&app)));
    let ready = readiness::watch(pool.clone(), stop);
    let clock = Arc::new(SystemClock);
    let auth = Auth::new(Verifier::new(config.bundle, NAME, clock), NAME, PERMISSIONS);
    let hearing = Arc::clone(&app);
    let service = Service::new(NAME, auth, ready, move |routes| {
        macro_rules! add {
            ($server:ident, $rpc:ident) => {
                routes.add_service(
                    $server::new($rpc(Arc::clone(&app)))
                        .max_decoding_message_size(REQUEST_BYTES)
                        .max_encoding_message_size(REPLY_BYTES),
                );
            };
        }
        add!(StandingServiceServer, StandingRpc);
        add!(GenerosityServiceServer, GenerosityRpc);
        add!(QuarantineServiceServer, QuarantineRpc);
        add!(RuleServiceServer, RuleRpc);
        add!(AlertServiceServer, AlertRpc);
    });
    Ok(service.hearing(move |routes| {
        let receptors = Receptors(Arc::clone(&hearing));
        routes.add_service(SignalRpc::new(pool.clone(), store::SCHEMA, receptors).into_service());
    }))
}

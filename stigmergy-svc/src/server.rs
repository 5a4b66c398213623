//! Puts stigmergy together: database, use cases, loops, port. Whatever the outside supplies enters as an argument.

use std::collections::HashMap;
use std::sync::Arc;

use cambium_kernel::SystemClock;
use cambium_proto::stigmergy::v1::marker_service_server::MarkerServiceServer;
use cambium_service_kit::auth::{Auth, Rule};
use cambium_service_kit::database::{self, PoolOptions};
use cambium_service_kit::inbox::SignalRpc;
use cambium_service_kit::outbox::{Relay, Routes};
use cambium_service_kit::principal::Kind;
use cambium_service_kit::readiness;
use cambium_service_kit::service::Service;
use cambium_service_kit::shutdown::Stop;
use cambium_service_kit::token::Verifier;
use cambium_service_kit::watchers::Watchers;

use crate::app::App;
use crate::config::Config;
use crate::convert::signal::{MARKER_PLACED, RATE_LIMITED};
use crate::receptors::Receptors;
use crate::rpc::MarkerRpc;
use crate::store::SCHEMA;
use crate::{loops, touch};

pub(crate) const NAME: &str = "stigmergy";

/// Who hears which of our signals.
const RECEIVERS: &[(&str, &[&str])] = &[(MARKER_PLACED, &["immune"]), (RATE_LIMITED, &["immune"])];

/// People may leave a mark too, and say that one holds; only agents build on one another's.
const AUTHORS: &[Kind] = &[Kind::Agent, Kind::Operator];
const AGENTS: &[Kind] = &[Kind::Agent];
const READERS: &[Kind] = &[Kind::Operator, Kind::Agent, Kind::Worker, Kind::Viewer];

/// Who may call what. Whatever is not here is denied.
const PERMISSIONS: &[Rule] = &[
    rule("/cambium.stigmergy.v1.MarkerService/PlaceMarker", AUTHORS),
    rule(
        "/cambium.stigmergy.v1.MarkerService/ReinforceMarker",
        AUTHORS,
    ),
    rule(
        "/cambium.stigmergy.v1.MarkerService/TransformMarker",
        AGENTS,
    ),
    rule("/cambium.stigmergy.v1.MarkerService/SenseMarkers", READERS),
    rule("/cambium.stigmergy.v1.MarkerService/SenseGradient", READERS),
    rule("/cambium.stigmergy.v1.MarkerService/GetMarker", READERS),
    rule("/cambium.stigmergy.v1.MarkerService/GetLineage", READERS),
    rule("/cambium.stigmergy.v1.MarkerService/WatchMarkers", READERS),
    rule("/cambium.stigmergy.v1.MarkerService/ListRegions", READERS),
    rule("/cambium.signal.v1.SignalService/Deliver", &[Kind::Service]),
];

const fn rule(method: &'static str, kinds: &'static [Kind]) -> Rule {
    Rule { method, kinds }
}

/// Where a payload travels.
const REQUEST_BYTES: usize = (1 << 20) + (64 << 10);
const REPLY_BYTES: usize = 4 << 20;

/// One for the committer, one for whoever tells of refusals.
const TOUCH_CONNECTIONS: u32 = 2;

/// Puts the service together and starts its loops, which end with `stop`.
pub async fn build(config: Config, stop: Stop) -> anyhow::Result<Service> {
    let url = database::planned(&config.database_url);
    let pool = database::connect(
        &url,
        PoolOptions {
            max: config.connections,
            service: NAME,
        },
    )?;
    let touch_pool = database::connect_unasked(
        &url,
        PoolOptions {
            max: TOUCH_CONNECTIONS,
            service: NAME,
        },
    )?;
    let addresses = config.immune.map(|address| ("immune".to_owned(), address));
    let routes = Routes::new(RECEIVERS, HashMap::from_iter(addresses));
    // A share of knowledge moves a score, and nobody waits for it.
    let relay =
        Relay::new(pool.clone(), SCHEMA, &routes, config.credentials)?.unhurried(&["immune"]);
    let (touches, toucher, ends) = touch::new(touch_pool, routes, relay.wake());
    let app = App {
        pool: pool.clone(),
        touches,
        news: toucher.news.clone(),
        watchers: Watchers::default(),
        stop: stop.clone(),
    };
    tokio::spawn(relay.run(stop.clone()));
    tokio::spawn(loops::commit::commit(
        toucher.clone(),
        ends.ops,
        stop.clone(),
    ));
    let news = toucher.news.clone();
    tokio::spawn(loops::tell::tell(toucher, ends.refused, stop.clone()));
    tokio::spawn(loops::fade::fade(pool.clone(), news, stop.clone()));
    tokio::spawn(loops::forget::forget(pool.clone(), stop.clone()));
    let ready = readiness::watch(pool.clone(), stop);
    let verifier = Verifier::new(config.bundle, NAME, Arc::new(SystemClock));
    let auth = Auth::new(verifier, NAME, PERMISSIONS);
    let service = Service::new(NAME, auth, ready, move |routes| {
        let markers = MarkerServiceServer::new(MarkerRpc(app.clone()));
        routes.add_service(
            markers
                .max_decoding_message_size(REQUEST_BYTES)
                .max_encoding_message_size(REPLY_BYTES),
        );
    });
    Ok(service.hearing(move |routes| {
        routes.add_service(SignalRpc::new(pool.clone(), SCHEMA, Receptors).into_service());
    }))
}

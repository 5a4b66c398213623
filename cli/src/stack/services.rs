//! Builds the services from the data folder's files. One port serves all of them to people and workers; each also has one of
//! its own, where it hears the others.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use cambium_service_kit::config::Env;
use cambium_service_kit::postgres::Private;
use cambium_service_kit::service::{self, Service};
use cambium_service_kit::shutdown::Stop;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::{DATABASE, listen};
use crate::folder::Folder;

/// The services, as their environment variables and their schemas begin.
pub(super) const NAMES: [&str; 5] = ["hypha", "genesis", "immune", "stigmergy", "swarm"];

/// Who tells whom, where hypha asks for agents, and swarm for runs (design: architecture, "Signals").
const TELLS: [(&str, &str); 11] = [
    ("genesis", "hypha"),
    ("genesis", "immune"),
    ("genesis", "stigmergy"),
    ("hypha", "genesis"),
    ("hypha", "immune"),
    ("hypha", "swarm"),
    ("stigmergy", "immune"),
    ("immune", "genesis"),
    ("immune", "hypha"),
    ("immune", "stigmergy"),
    ("swarm", "hypha"),
];

/// What an operator may set as for a service that runs alone.
const TUNED: [&str; 8] = [
    "HYPHA_LEASE_MS",
    "HYPHA_GRACE_MS",
    "HYPHA_COMMITTERS",
    "HYPHA_EVENT_LIMIT",
    "HYPHA_EVENT_DAYS",
    "HYPHA_FORGET_MS",
    "HYPHA_SPAWN_AFTER_MS",
    "SWARM_PULSE_MS",
];

/// Where the services find what they need.
pub(super) struct Sources<'a> {
    pub(super) folder: &'a Folder,
    pub(super) postgres: &'a Private,
}

pub(super) struct Running {
    pub(super) serving: JoinHandle<anyhow::Result<()>>,
    /// Whether the database answers.
    pub(super) ready: watch::Receiver<bool>,
}

pub(super) async fn start(
    sources: &Sources<'_>,
    listener: TcpListener,
    stop: Stop,
) -> anyhow::Result<Running> {
    let mut own = Vec::new();
    for _ in NAMES {
        own.push(listen(0).await?);
    }
    let env = sources.environment(&own)?;
    let hypha = hypha_svc::build(hypha_svc::Config::from_env(&env)?, stop.clone()).await?;
    let genesis = genesis_svc::build(genesis_svc::Config::from_env(&env)?, stop.clone()).await?;
    let immune = immune_svc::build(immune_svc::Config::from_env(&env)?, stop.clone()).await?;
    let stigmergy =
        stigmergy_svc::build(stigmergy_svc::Config::from_env(&env)?, stop.clone()).await?;
    let swarm = swarm_svc::build(swarm_svc::Config::from_env(&env)?, stop.clone()).await?;
    let ready = hypha.ready();
    let services = [hypha, genesis, immune, stigmergy, swarm];
    let services = services.map(Arc::new).to_vec();
    let serving = tokio::spawn(serve(listener, own, services, stop));
    Ok(Running { serving, ready })
}

/// Serves until told to stop, or until one of the ports fails.
async fn serve(
    listener: TcpListener,
    own: Vec<TcpListener>,
    services: Vec<Arc<Service>>,
    stop: Stop,
) -> anyhow::Result<()> {
    let mut ports = JoinSet::new();
    for (listener, service) in own.into_iter().zip(&services) {
        ports.spawn(service::serve_all(
            listener,
            vec![Arc::clone(service)],
            stop.clone(),
        ));
    }
    ports.spawn(service::serve_all(listener, services, stop));
    while let Some(ended) = ports.join_next().await {
        ended.context("a service ended unexpectedly")??;
    }
    Ok(())
}

impl Sources<'_> {
    /// What each service would be told by its environment.
    fn environment(&self, own: &[TcpListener]) -> anyhow::Result<Env> {
        let file = |path: &Path| path.display().to_string();
        let mut env = vec![("CAMBIUM_BUNDLE".to_owned(), file(&self.folder.bundle()))];
        for (name, listener) in NAMES.iter().zip(own) {
            let upper = name.to_uppercase();
            let key = |key: &str| file(&self.folder.key(key));
            env.extend([
                (
                    format!("{upper}_DATABASE_URL"),
                    self.postgres.url(name, DATABASE),
                ),
                (format!("{upper}_KEY"), key(name)),
                (
                    format!("{upper}_SERVICE_KEY"),
                    key(&format!("{name}-service")),
                ),
            ]);
            let address = format!("http://{}", listener.local_addr()?);
            let tellers = TELLS.iter().filter(|(_, told)| told == name);
            env.extend(tellers.map(|(teller, _)| {
                let variable = format!("{}_{upper}_ADDR", teller.to_uppercase());
                (variable, address.clone())
            }));
        }
        let outer = Env::process();
        let tuned = TUNED.iter();
        env.extend(tuned.filter_map(|name| Some(((*name).to_owned(), outer.text(name)?))));
        Ok(Env::of(env))
    }
}

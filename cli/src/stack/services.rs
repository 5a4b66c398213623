//! Builds the services from the data folder's files and serves all of them on one port.

use std::path::Path;

use cambium_service_kit::config::Env;
use cambium_service_kit::postgres::Private;
use cambium_service_kit::service;
use cambium_service_kit::shutdown::Stop;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::DATABASE;
use crate::folder::Folder;

/// Where the services find what they need.
pub(super) struct Sources<'a> {
    pub(super) folder: &'a Folder,
    pub(super) postgres: &'a Private,
    /// Where all of them will listen.
    pub(super) url: &'a str,
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
    let env = sources.environment();
    let hypha = hypha_svc::build(hypha_svc::Config::from_env(&env)?, stop.clone()).await?;

    let genesis = genesis_svc::build(genesis_svc::Config::from_env(&env)?, stop.clone()).await?;
    let ready = hypha.ready();
    let serving = tokio::spawn(service::serve(listener, vec![hypha, genesis], stop));
    Ok(Running { serving, ready })
}

impl Sources<'_> {
    /// What each service would be told by its environment.
    fn environment(&self) -> Env {
        let file = |path: &Path| path.display().to_string();
        let key = |name| file(&self.folder.key(name));
        let url = |role| self.postgres.url(role, DATABASE);
        let own = [
            ("CAMBIUM_BUNDLE", file(&self.folder.bundle())),
            ("HYPHA_DATABASE_URL", url("hypha")),
            ("HYPHA_KEY", key("hypha")),
            ("HYPHA_SERVICE_KEY", key("hypha-service")),
            ("GENESIS_DATABASE_URL", url("genesis")),
            ("GENESIS_KEY", key("genesis")),
            ("GENESIS_SERVICE_KEY", key("genesis-service")),
            ("GENESIS_HYPHA_ADDR", self.url.to_owned()),
        ];
        Env::of(own.map(|(name, value)| (name.to_owned(), value)))
    }
}

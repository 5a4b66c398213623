//! What the environment sets.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use cambium_service_kit::config::{Env, Secret};
use cambium_service_kit::outbox::Credentials;
use cambium_service_kit::token::{Bundle, SigningKey};

use crate::server::NAME;

/// Where the service listens, what it reads, and how it leases.
#[derive(Clone, Debug)]
pub struct Config {
    pub listen: SocketAddr,
    pub admin: SocketAddr,
    pub database_url: Secret,
    /// Signs workers' next tokens.
    pub key: Arc<SigningKey>,
    /// As whom hypha calls other services.
    pub credentials: Credentials,
    /// The public keys whose tokens are believed.
    pub bundle: Bundle,
    /// How long an attempt is leased without a heartbeat; 1 s to 10 min.
    pub lease: Duration,
    /// How long running tasks of a run that failed fast may go on.
    pub grace: Duration,
    /// Transactions at once; more than one pays above some 200 waiting calls.
    pub committers: usize,
    /// Addresses of services that hear signals, by name.
    pub receivers: HashMap<String, String>,
}

impl Config {
    pub fn from_env(env: &Env) -> anyhow::Result<Self> {
        let lease = env.parsed("HYPHA_LEASE_MS", 10_000_u64)?;
        anyhow::ensure!(
            (1_000..=600_000).contains(&lease),
            "HYPHA_LEASE_MS is {lease}: set it to 1000 to 600000"
        );
        let committers = env.parsed("HYPHA_COMMITTERS", 1_usize)?;
        anyhow::ensure!(
            (1..=16).contains(&committers),
            "HYPHA_COMMITTERS is {committers}: set it to 1 to 16"
        );
        let mut receivers = HashMap::new();
        for (name, variable) in [("immune", "HYPHA_IMMUNE_ADDR")] {
            if let Some(url) = env.text(variable) {
                receivers.insert(name.to_owned(), url);
            }
        }
        Ok(Self {
            listen: env.parsed("HYPHA_LISTEN", SocketAddr::from(([127, 0, 0, 1], 7071)))?,
            admin: env.parsed("HYPHA_ADMIN", SocketAddr::from(([127, 0, 0, 1], 9071)))?,
            database_url: env.secret("HYPHA_DATABASE_URL")?,
            key: key(env, "HYPHA_KEY")?,
            credentials: Credentials {
                key: key(env, "HYPHA_SERVICE_KEY")?,
                service: NAME,
            },
            bundle: Bundle::load(Path::new(&env.required("CAMBIUM_BUNDLE")?))
                .context("CAMBIUM_BUNDLE")?,
            lease: Duration::from_millis(lease),
            grace: Duration::from_millis(env.parsed("HYPHA_GRACE_MS", 30_000_u64)?),
            committers,
            receivers,
        })
    }
}

fn key(env: &Env, name: &'static str) -> anyhow::Result<Arc<SigningKey>> {
    let key = SigningKey::load(Path::new(&env.required(name)?)).context(name)?;
    Ok(Arc::new(key))
}

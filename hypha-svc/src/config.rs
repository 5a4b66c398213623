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
    pub retention: Retention,
    /// Addresses of services that hear signals, by name.
    pub receivers: HashMap<String, String>,
    /// How long work may wait for somebody who can do it before genesis is asked for an agent.
    pub spawn_after: Duration,
}

/// What is kept of runs, beside what their graphs say.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// Events of one run: the newest stay, and now and then up to a tenth more.
    pub event_limit: u32,
    /// Days past a run's end in which its events can be read.
    pub event_days: u32,
    /// How often all runs are looked through for what is past its time.
    pub every: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            event_limit: 100_000,
            event_days: 7,
            every: Duration::from_secs(600),
        }
    }
}

impl Retention {
    fn from_env(env: &Env) -> anyhow::Result<Self> {
        let usual = Self::default();
        let event_limit = env.parsed("HYPHA_EVENT_LIMIT", usual.event_limit)?;
        anyhow::ensure!(
            event_limit >= 1,
            "HYPHA_EVENT_LIMIT is {event_limit}: set it to 1 or more"
        );
        let event_days = env.parsed("HYPHA_EVENT_DAYS", usual.event_days)?;
        anyhow::ensure!(
            (1..=3_660).contains(&event_days),
            "HYPHA_EVENT_DAYS is {event_days}: set it to 1 to 3660"
        );
        let every = env.parsed("HYPHA_FORGET_MS", 600_000_u64)?;
        anyhow::ensure!(
            every >= 100,
            "HYPHA_FORGET_MS is {every}: set it to 100 or more"
        );
        Ok(Self {
            event_limit,
            event_days,
            every: Duration::from_millis(every),
        })
    }
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
        for (name, variable) in [
            ("immune", "HYPHA_IMMUNE_ADDR"),
            ("genesis", "HYPHA_GENESIS_ADDR"),
            ("swarm", "HYPHA_SWARM_ADDR"),
        ] {
            if let Some(url) = env.text(variable) {
                receivers.insert(name.to_owned(), url);
            }
        }
        Ok(Self {
            listen: env.parsed("HYPHA_LISTEN", SocketAddr::from(([127, 0, 0, 1], 7071)))?,
            admin: env.parsed("HYPHA_ADMIN", SocketAddr::from(([127, 0, 0, 1], 9071)))?,
            database_url: env.secret("HYPHA_DATABASE_URL")?,
            key: SigningKey::named(env, "HYPHA_KEY")?,
            credentials: Credentials {
                key: SigningKey::named(env, "HYPHA_SERVICE_KEY")?,
                service: NAME,
            },
            bundle: Bundle::load(Path::new(&env.required("CAMBIUM_BUNDLE")?))
                .context("CAMBIUM_BUNDLE")?,
            lease: Duration::from_millis(lease),
            grace: Duration::from_millis(env.parsed("HYPHA_GRACE_MS", 30_000_u64)?),
            committers,
            retention: Retention::from_env(env)?,
            receivers,
            spawn_after: Duration::from_millis(env.parsed("HYPHA_SPAWN_AFTER_MS", 5_000)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, value: &str) -> Result<Retention, String> {
        let env = Env::of([(name.to_owned(), value.to_owned())]);
        Retention::from_env(&env).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_kept_is_set_within_bounds() {
        let limit = read("HYPHA_EVENT_LIMIT", "1").unwrap();
        let days = read("HYPHA_EVENT_DAYS", "3660").unwrap();
        let every = read("HYPHA_FORGET_MS", "100").unwrap();

        assert_eq!((limit.event_limit, limit.event_days), (1, 7));
        assert_eq!((days.event_limit, days.event_days), (100_000, 3_660));
        assert_eq!(every.every, Duration::from_millis(100));
    }

    #[test]
    fn a_bound_that_is_passed_is_named() {
        let refused = [
            ("HYPHA_EVENT_LIMIT", "0"),
            ("HYPHA_EVENT_DAYS", "0"),
            ("HYPHA_EVENT_DAYS", "3661"),
            ("HYPHA_FORGET_MS", "99"),
        ];

        for (name, value) in refused {
            let told = read(name, value).unwrap_err();
            assert!(told.starts_with(&format!("{name} is {value}")), "{told}");
        }
    }
}

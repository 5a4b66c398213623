//! What swarm is told from outside: where it listens, where its database and hypha are, whom it trusts.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use cambium_service_kit::config::{Env, Secret};
use cambium_service_kit::peer::Credentials;
use cambium_service_kit::token::{Bundle, SigningKey};

use crate::server::NAME;

/// Checked, and with its key files read.
#[derive(Debug)]
pub struct Config {
    pub listen: SocketAddr,
    /// Probes and metrics.
    pub admin: SocketAddr,
    pub database_url: Secret,
    /// How many connections to the database at most.
    pub connections: u32,
    /// Signs the tokens of minds.
    pub key: Arc<SigningKey>,
    /// As whom swarm calls hypha.
    pub credentials: Credentials,
    /// The public keys whose tokens are believed.
    pub bundle: Bundle,
    /// Where graphs run. Without it no turn of a graph starts.
    pub hypha: Option<String>,
    /// How often the loops look although nothing woke them; none where somebody else asks for every turn.
    pub pulse: Option<Duration>,
}

impl Config {
    pub fn from_env(env: &Env) -> anyhow::Result<Self> {
        let pulse: u64 = env.parsed("SWARM_PULSE_MS", 1_000)?;
        Ok(Self {
            listen: env.parsed("SWARM_LISTEN", SocketAddr::from(([127, 0, 0, 1], 7_075)))?,
            admin: env.parsed("SWARM_ADMIN", SocketAddr::from(([127, 0, 0, 1], 9_075)))?,
            database_url: env.secret("SWARM_DATABASE_URL")?,
            connections: env.parsed("SWARM_CONNECTIONS", 8)?,
            key: SigningKey::named(env, "SWARM_KEY")?,
            credentials: Credentials {
                key: SigningKey::named(env, "SWARM_SERVICE_KEY")?,
                service: NAME,
            },
            bundle: Bundle::load(Path::new(&env.required("CAMBIUM_BUNDLE")?))
                .context("CAMBIUM_BUNDLE")?,
            hypha: env.text("SWARM_HYPHA_ADDR"),
            pulse: (pulse > 0).then(|| Duration::from_millis(pulse)),
        })
    }
}

#[cfg(test)]
mod tests {
    use cambium_service_kit::token::Issuer;

    use super::*;

    /// Key files as an operator would have made them.
    fn variables(folder: &Path) -> Vec<(String, String)> {
        let own = SigningKey::generate("swarm-1", Issuer::Swarm).unwrap();
        let service = SigningKey::generate("swarm-service-1", Issuer::Service).unwrap();
        let file = |name: &str| folder.join(name);
        own.save(&file("own")).unwrap();
        service.save(&file("service")).unwrap();
        Bundle::default()
            .with(own.public())
            .save(&file("bundle"))
            .unwrap();
        let path = |name: &str| file(name).display().to_string();
        [
            (
                "SWARM_DATABASE_URL",
                "postgres://swarm:hush@127.0.0.1/cambium".to_owned(),
            ),
            ("SWARM_KEY", path("own")),
            ("SWARM_SERVICE_KEY", path("service")),
            ("CAMBIUM_BUNDLE", path("bundle")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    #[test]
    fn keys_and_a_database_are_enough() {
        let folder = tempfile::tempdir().unwrap();

        let config = Config::from_env(&Env::of(variables(folder.path()))).unwrap();

        assert_eq!(config.bundle.keys(), [config.key.public()]);
        assert_eq!(config.credentials.service, "swarm");
        assert_eq!(config.hypha, None);
        assert_eq!(config.pulse, Some(Duration::from_secs(1)));
        assert!(config.listen.ip().is_loopback() && config.admin.ip().is_loopback());
        assert!(!format!("{config:?}").contains("hush"));
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let whole = variables(folder.path());

        for (missing, _) in &whole {
            let rest = whole.iter().filter(|(name, _)| name != missing).cloned();
            let error = Config::from_env(&Env::of(rest)).unwrap_err();

            assert!(format!("{error:#}").contains(missing.as_str()), "{error:#}");
        }
    }
}

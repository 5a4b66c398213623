//! What genesis is told from outside: where it listens, where its database is, whom it trusts, whom it tells.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use cambium_service_kit::config::{Env, Secret};
use cambium_service_kit::outbox::Credentials;
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
    /// Signs the tokens of agents and of their workers.
    pub key: Arc<SigningKey>,
    /// As whom genesis calls other services.
    pub credentials: Credentials,
    /// The public keys whose tokens are believed.
    pub bundle: Bundle,
    /// Where others hear signals, by name. Whoever has no address is not told.
    pub receivers: HashMap<String, String>,
}

impl Config {
    pub fn from_env(env: &Env) -> anyhow::Result<Self> {
        Ok(Self {
            listen: env.parsed("GENESIS_LISTEN", SocketAddr::from(([127, 0, 0, 1], 7_072)))?,
            admin: env.parsed("GENESIS_ADMIN", SocketAddr::from(([127, 0, 0, 1], 9_072)))?,
            database_url: env.secret("GENESIS_DATABASE_URL")?,
            connections: env.parsed("GENESIS_CONNECTIONS", 8)?,
            key: SigningKey::named(env, "GENESIS_KEY")?,
            credentials: Credentials {
                key: SigningKey::named(env, "GENESIS_SERVICE_KEY")?,
                service: NAME,
            },
            bundle: Bundle::load(Path::new(&env.required("CAMBIUM_BUNDLE")?))
                .context("CAMBIUM_BUNDLE")?,
            receivers: receivers(env),
        })
    }
}

fn receivers(env: &Env) -> HashMap<String, String> {
    let addresses = [
        ("hypha", "GENESIS_HYPHA_ADDR"),
        ("immune", "GENESIS_IMMUNE_ADDR"),
        ("stigmergy", "GENESIS_STIGMERGY_ADDR"),
    ];
    let known = addresses
        .into_iter()
        .filter_map(|(name, variable)| Some((name.to_owned(), env.text(variable)?)));
    known.collect()
}

#[cfg(test)]
mod tests {
    use cambium_service_kit::token::Issuer;

    use super::*;

    /// Key files as an operator would have made them.
    fn variables(folder: &Path) -> Vec<(String, String)> {
        let own = SigningKey::generate("genesis-1", Issuer::Genesis).unwrap();
        let service = SigningKey::generate("genesis-service-1", Issuer::Service).unwrap();
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
                "GENESIS_DATABASE_URL",
                "postgres://genesis:hush@127.0.0.1/cambium".to_owned(),
            ),
            ("GENESIS_KEY", path("own")),
            ("GENESIS_SERVICE_KEY", path("service")),
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
        assert_eq!(config.credentials.service, "genesis");
        assert_eq!(config.receivers, HashMap::new());
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

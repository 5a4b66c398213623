//! What stigmergy is told from outside: where it listens, where its database is, whom it trusts, whom it tells.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context as _;
use cambium_service_kit::config::{Env, Secret};
use cambium_service_kit::outbox::Credentials;
use cambium_service_kit::token::{Bundle, SigningKey};

use crate::server::NAME;

/// Checked, and with its key files read. It has no key of its own to mint with: nobody gets a token here.
#[derive(Debug)]
pub struct Config {
    pub listen: SocketAddr,
    /// Probes and metrics.
    pub admin: SocketAddr,
    pub database_url: Secret,
    /// How many connections to the database at most, for all but the batches, which have two of their own.
    pub connections: u32,
    /// As whom stigmergy calls other services.
    pub credentials: Credentials,
    /// The public keys whose tokens are believed.
    pub bundle: Bundle,
    /// Where immune hears signals. Without it, immune is not told.
    pub immune: Option<String>,
}

impl Config {
    pub fn from_env(env: &Env) -> anyhow::Result<Self> {
        let key = "STIGMERGY_SERVICE_KEY";
        let key = SigningKey::named(env, key)?;
        let bundle = "CAMBIUM_BUNDLE";
        Ok(Self {
            listen: env.parsed(
                "STIGMERGY_LISTEN",
                SocketAddr::from(([127, 0, 0, 1], 7_074)),
            )?,
            admin: env.parsed("STIGMERGY_ADMIN", SocketAddr::from(([127, 0, 0, 1], 9_074)))?,
            database_url: env.secret("STIGMERGY_DATABASE_URL")?,
            connections: env.parsed("STIGMERGY_CONNECTIONS", 6)?,
            credentials: Credentials { key, service: NAME },
            bundle: Bundle::load(Path::new(&env.required(bundle)?)).context(bundle)?,
            immune: env.text("STIGMERGY_IMMUNE_ADDR"),
        })
    }
}

#[cfg(test)]
mod tests {
    use cambium_service_kit::token::Issuer;

    use super::*;

    /// Key files as an operator would have made them.
    fn variables(folder: &Path) -> Vec<(String, String)> {
        let service = SigningKey::generate("stigmergy-service-1", Issuer::Service).unwrap();
        let file = |name: &str| folder.join(name);
        service.save(&file("service")).unwrap();
        Bundle::default()
            .with(service.public())
            .save(&file("bundle"))
            .unwrap();
        let path = |name: &str| file(name).display().to_string();
        [
            (
                "STIGMERGY_DATABASE_URL",
                "postgres://stigmergy:hush@127.0.0.1/cambium".to_owned(),
            ),
            ("STIGMERGY_SERVICE_KEY", path("service")),
            ("CAMBIUM_BUNDLE", path("bundle")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    #[test]
    fn a_key_and_a_database_are_enough() {
        let folder = tempfile::tempdir().unwrap();

        let config = Config::from_env(&Env::of(variables(folder.path()))).unwrap();

        assert_eq!(config.bundle.keys(), [config.credentials.key.public()]);
        assert_eq!(config.credentials.service, "stigmergy");
        assert_eq!(config.immune, None);
        assert_eq!((config.listen.port(), config.admin.port()), (7_074, 9_074));
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

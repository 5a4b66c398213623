//! What immune is told from outside: where it listens, where its database is, whom it trusts, whom it tells.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;

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
    /// As whom immune calls other services.
    pub credentials: Credentials,
    /// The public keys whose tokens are believed.
    pub bundle: Bundle,
    /// Where other services hear signals, by name. One that is not here is not told.
    pub receivers: HashMap<String, String>,
}

/// Who may be told, and where its address is.
const RECEIVERS: [(&str, &str); 3] = [
    ("hypha", "IMMUNE_HYPHA_ADDR"),
    ("stigmergy", "IMMUNE_STIGMERGY_ADDR"),
    ("genesis", "IMMUNE_GENESIS_ADDR"),
];

impl Config {
    pub fn from_env(env: &Env) -> anyhow::Result<Self> {
        let service_key = "IMMUNE_SERVICE_KEY";
        let key = SigningKey::named(env, service_key)?;
        let receivers = RECEIVERS
            .iter()
            .filter_map(|(name, variable)| Some(((*name).to_owned(), env.text(variable)?)));
        Ok(Self {
            listen: env.parsed("IMMUNE_LISTEN", SocketAddr::from(([127, 0, 0, 1], 7_073)))?,
            admin: env.parsed("IMMUNE_ADMIN", SocketAddr::from(([127, 0, 0, 1], 9_073)))?,
            database_url: env.secret("IMMUNE_DATABASE_URL")?,
            connections: env.parsed("IMMUNE_CONNECTIONS", 8)?,
            credentials: Credentials { key, service: NAME },
            bundle: Bundle::load(Path::new(&env.required("CAMBIUM_BUNDLE")?))
                .context("CAMBIUM_BUNDLE")?,
            receivers: receivers.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use cambium_service_kit::token::Issuer;

    use super::*;

    /// Key files as an operator would have made them.
    fn variables(folder: &Path) -> Vec<(String, String)> {
        let service = SigningKey::generate("immune-service-1", Issuer::Service).unwrap();
        let file = |name: &str| folder.join(name);
        service.save(&file("service")).unwrap();
        Bundle::default()
            .with(service.public())
            .save(&file("bundle"))
            .unwrap();
        let path = |name: &str| file(name).display().to_string();
        [
            (
                "IMMUNE_DATABASE_URL",
                "postgres://immune:hush@127.0.0.1/cambium".to_owned(),
            ),
            ("IMMUNE_SERVICE_KEY", path("service")),
            ("CAMBIUM_BUNDLE", path("bundle")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    #[test]
    fn a_key_and_a_database_are_enough() {
        let folder = tempfile::tempdir().unwrap();

        let config = Config::from_env(&Env::of(variables(folder.path()))).unwrap();

        assert_eq!(config.credentials.service, "immune");
        assert!(config.receivers.is_empty());
        assert_eq!((config.listen.port(), config.admin.port()), (7_073, 9_073));
        assert!(config.listen.ip().is_loopback() && config.admin.ip().is_loopback());
        assert!(!format!("{config:?}").contains("hush"));
    }

    #[test]
    fn a_receiver_has_the_address_that_its_variable_holds() {
        let folder = tempfile::tempdir().unwrap();
        let told = ("IMMUNE_HYPHA_ADDR".to_owned(), "http://hypha".to_owned());
        let all = variables(folder.path()).into_iter().chain([told]);

        let config = Config::from_env(&Env::of(all)).unwrap();

        let hypha = ("hypha".to_owned(), "http://hypha".to_owned());
        assert_eq!(config.receivers, HashMap::from([hypha]));
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

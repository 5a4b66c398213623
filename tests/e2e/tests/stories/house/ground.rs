//! What a house stands on: a Postgres with a schema for each service, and their keys. Starts no service.

use std::collections::BTreeMap;

use cambium_service_kit::config::Secret;
use cambium_service_kit::database::{self, PoolOptions};
use cambium_service_kit::migrate;
use cambium_service_kit::postgres::{Listen, Options, Private};
use cambium_service_kit::token::{Issuer, SigningKey};
use cambium_testkit::Keys;
use sqlx::PgPool;
use tempfile::TempDir;

/// Keys where processes find them. Answers where the public ones are.
pub(super) fn furnish(folder: &TempDir, keys: &Keys, services: &[&'static str]) -> String {
    let mut bundle = keys.bundle();
    let own = services.iter().map(|name| {
        let key = SigningKey::generate(&format!("{name}-service-1"), Issuer::Service).unwrap();
        (format!("{name}-service.key"), key)
    });
    let hypha = SigningKey::generate("hypha-1", Issuer::Hypha).unwrap();
    keys.swarm().save(&folder.path().join("swarm.key")).unwrap();
    for (file, key) in own.chain([("hypha.key".to_owned(), hypha)]) {
        key.save(&folder.path().join(file)).unwrap();
        bundle = bundle.with(key.public());
    }
    let path = folder.path().join("bundle.json");
    bundle.save(&path).unwrap();
    path.display().to_string()
}

/// What a service's environment says of itself and of whom it tells.
pub(super) fn settings(
    name: &str,
    folder: &TempDir,
    postgres: &Private,
    doors: &BTreeMap<&'static str, String>,
) -> Vec<(String, String)> {
    let upper = name.to_uppercase();
    let file = |file: String| folder.path().join(file).display().to_string();
    let own = vec![
        (
            format!("{upper}_DATABASE_URL"),
            postgres.url(name, "postgres"),
        ),
        (format!("{upper}_KEY"), file(format!("{name}.key"))),
        (
            format!("{upper}_SERVICE_KEY"),
            file(format!("{name}-service.key")),
        ),
    ];
    let told = doors.iter().filter(|(other, _)| **other != name);
    let told = told.map(|(other, url)| {
        let other = other.to_uppercase();
        (format!("{upper}_{other}_ADDR"), url.clone())
    });
    own.into_iter().chain(told).collect()
}

pub(super) async fn start_postgres(
    folder: &TempDir,
    durable: bool,
    services: &[&'static str],
) -> (Private, PgPool) {
    let options = Options {
        folder: folder.path().join("postgres"),
        durable,
        listen: Listen::Loopback,
    };
    let started = tokio::task::spawn_blocking(move || Private::start(options)).await;
    let postgres = started.unwrap().unwrap();
    let superuser = Secret::new(postgres.superuser_url("postgres"));
    let options = PoolOptions {
        max: 3,
        service: "stories",
    };
    let pool = database::connect(&superuser, options).unwrap();
    for name in services {
        let migrator = match *name {
            "hypha" => &hypha_svc::MIGRATOR,
            "immune" => &immune_svc::MIGRATOR,
            "stigmergy" => &stigmergy_svc::MIGRATOR,
            "swarm" => &swarm_svc::MIGRATOR,
            other => panic!("no story knows {other}"),
        };
        let migrated = migrate::apply(&pool, name, migrator, name).await;
        migrated.unwrap();
        postgres.admit(&pool, name).await.unwrap();
    }
    (postgres, pool)
}

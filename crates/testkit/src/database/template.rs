//! The database that a test's own is copied from: one per set of migrations, whichever process comes first.

use std::collections::HashMap;
use std::sync::Arc;

use cambium_service_kit::migrate;
use sqlx::migrate::Migrator;
use sqlx::{Connection, PgConnection};
use tokio::sync::{Mutex, OnceCell};

use super::run;
use crate::postgres::Server;

type Made = Mutex<HashMap<String, Arc<OnceCell<()>>>>;

/// What this process has seen to, so that most tests need not ask the server.
static MADE: OnceCell<Made> = OnceCell::const_new();

/// The name of the template that `migrator` makes of `schema`, which then exists.
pub(super) async fn prepared(server: &Server, schema: &'static str, migrator: &Migrator) -> String {
    let name = format!("template_{schema}_{:016x}", digest(migrator));
    let made = MADE.get_or_init(|| async { Made::default() }).await;
    let made = made.lock().await.entry(name.clone()).or_default().clone();
    made.get_or_init(|| make(server, schema, migrator, &name))
        .await;
    name
}

/// Makes it under a lock that all processes of the run share, and names it only when it is whole.
async fn make(server: &Server, schema: &'static str, migrator: &Migrator, name: &str) {
    let mut maker = server.connect().await;
    let locked = sqlx::query("SELECT pg_advisory_lock(hashtext($1))")
        .bind(name)
        .execute(&mut maker)
        .await;
    locked.expect("the lock is granted");
    if !exists(&mut maker, name).await {
        let draft = format!("{name}_draft");
        run(
            &mut maker,
            format!("DROP DATABASE IF EXISTS {draft} WITH (FORCE)"),
        )
        .await;
        run(&mut maker, format!("CREATE DATABASE {draft}")).await;
        let pool = server.pool(&draft, 1);
        let migrated = migrate::apply(&pool, schema, migrator, schema).await;
        pool.close().await;
        migrated.unwrap_or_else(|error| panic!("{error:#}"));
        // A database that somebody is connected to cannot be copied.
        run(
            &mut maker,
            format!("ALTER DATABASE {draft} ALLOW_CONNECTIONS false"),
        )
        .await;
        run(
            &mut maker,
            format!("ALTER DATABASE {draft} RENAME TO {name}"),
        )
        .await;
    }
    maker
        .close()
        .await
        .expect("the lock goes with its connection");
}

async fn exists(conn: &mut PgConnection, name: &str) -> bool {
    let found = sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)");
    found
        .bind(name)
        .fetch_one(conn)
        .await
        .expect("the catalogue can be read")
}

/// FNV-1a over the migrations' own checksums: a changed migration is another template.
fn digest(migrator: &Migrator) -> u64 {
    let bytes = migrator
        .iter()
        .flat_map(|migration| migration.checksum.iter());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

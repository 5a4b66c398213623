//! A database per test, copied from one that was migrated once, with a clock that the test moves.

use std::sync::{Mutex, PoisonError};

use cambium_service_kit::config::Secret;
use cambium_service_kit::database::{PoolOptions, connect};
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use sqlx::migrate::Migrator;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection, PgPool};
use uuid::Uuid;

use crate::postgres::Server;

mod template;

/// A test's own database. Dropping it drops the database too, as far as that works.
#[derive(Debug)]
pub struct Database {
    /// Connected as the service is: by its own login, under its grants and time limits.
    pub pool: PgPool,
    /// Where the service's login reaches the database.
    pub url: String,
    /// The superuser's pool, to arrange or inspect what the service may not.
    pub owner: PgPool,
    schema: &'static str,
    name: String,
    server: &'static Server,
    advanced: Mutex<TimeDelta>,
}

/// Makes a database with `schema` migrated, and a login of the schema's name.
///
/// # Panics
/// When there is no Postgres, or the migrations fail.
pub async fn database(schema: &'static str, migrator: &Migrator) -> Database {
    let server = Server::shared().await;
    let template = template::prepared(server, schema, migrator).await;
    let name = format!("t_{}", Uuid::new_v4().simple());
    let mut maker = server.connect().await;
    run(
        &mut maker,
        format!("CREATE DATABASE {name} TEMPLATE {template}"),
    )
    .await;
    let url = server.at(&name).username(schema).to_url_lossy().to_string();
    let options = PoolOptions {
        max: 8,
        service: schema,
    };
    let pool = connect(&Secret::new(url.as_str()), options).expect("our own URL is one");
    let owner = server.pool(&name, 2);
    Database {
        pool,
        url,
        owner,
        schema,
        name,
        server,
        advanced: Mutex::default(),
    }
}

impl Database {
    /// Moves the schema's clock on. Stored times follow it; waits inside a process do not.
    ///
    /// # Panics
    /// When the schema has no function `now()`.
    pub async fn advance(&self, by: TimeDelta) {
        let advanced = {
            let mut advanced = self.advanced.lock().unwrap_or_else(PoisonError::into_inner);
            *advanced += by;
            advanced
                .num_microseconds()
                .expect("tests stay within a quarter of a million years")
        };
        let told = format!("clock_timestamp() + interval '{advanced} microseconds'");
        self.tell_time(&told).await;
    }

    /// Stops the schema's clock at an instant, until the next call: what is measured in it can be foretold to the microsecond.
    ///
    /// # Panics
    /// When the schema has no function `now()`.
    pub async fn stop_clock_at(&self, at: DateTime<Utc>) {
        let at = at.to_rfc3339_opts(SecondsFormat::Micros, true);
        self.tell_time(&format!("timestamptz '{at}'")).await;
    }

    async fn tell_time(&self, told: &str) {
        let schema = self.schema;
        let replace = format!(
            "CREATE OR REPLACE FUNCTION {schema}.now() RETURNS timestamptz LANGUAGE sql VOLATILE RETURN {told}"
        );
        let replaced = sqlx::raw_sql(AssertSqlSafe(replace))
            .execute(&self.owner)
            .await;
        replaced.expect("the clock is a function of the schema");
    }

    /// Moves the clock on by `by` in steps of 2 s, and does `step` after each: a sweep must never find that
    /// the service was deaf for longer than its leases allow.
    pub async fn advance_in_steps(&self, by: TimeDelta, mut step: impl AsyncFnMut()) {
        let mut left = by;
        while left > TimeDelta::zero() {
            let next = left.min(TimeDelta::seconds(2));
            self.advance(next).await;
            step().await;
            left -= next;
        }
    }

    /// The URL of the superuser, for tests that migrate or look around by themselves.
    #[must_use]
    pub fn superuser_url(&self) -> String {
        self.server.at(&self.name).to_url_lossy().to_string()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = drop_database(self.server.at("postgres"), self.name.clone());
        // A runtime of its own: the test's is on its way out.
        let dropping = std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.map(|runtime| runtime.block_on(drop))
        });
        if self.server.is_of_the_run() {
            let _ = dropping.join();
        }
    }
}

async fn drop_database(server: PgConnectOptions, name: String) -> Result<(), sqlx::Error> {
    let mut conn = server.connect().await?;
    let statement = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(&mut conn)
        .await?;
    Ok(())
}

async fn run(conn: &mut PgConnection, statement: String) {
    let done = sqlx::raw_sql(AssertSqlSafe(statement.clone()))
        .execute(conn)
        .await;
    done.unwrap_or_else(|error| panic!("`{statement}` failed: {error}"));
}

//! The database of stigmergy: schema `stigmergy` alone. Decides nothing; callers own the transactions.

pub(crate) mod agent;
pub(crate) mod event;
pub(crate) mod fading;
pub(crate) mod forget;
pub(crate) mod marker;
pub(crate) mod payload;
pub(crate) mod rate;
pub(crate) mod region;
pub(crate) mod sense;
pub(crate) mod standing;
pub(crate) mod touch;
pub(crate) mod workspace;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::migrate::Migrator;

/// Everything that makes the schema, in order.
pub static MIGRATOR: Migrator = sqlx::migrate!();

pub(crate) const SCHEMA: &str = "stigmergy";

/// The service's only clock for whatever is stored.
pub(crate) async fn now(conn: &mut PgConnection) -> Result<DateTime<Utc>, sqlx::Error> {
    sqlx::query_scalar!(r#"SELECT stigmergy.now() AS "now!""#)
        .fetch_one(conn)
        .await
}

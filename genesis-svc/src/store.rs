//! The database of genesis: schema `genesis` alone. Decides nothing; callers own the transactions.
//!
//! Rows are locked in one order: workspace, template, agents by id. A lock and what relies on it are two statements.

pub(crate) mod agent;
pub(crate) mod compost;
pub(crate) mod confirmation;
pub(crate) mod evidence;
pub(crate) mod inbox;
pub(crate) mod learning;
pub(crate) mod pattern;
pub(crate) mod receipt;
pub(crate) mod spawn;
pub(crate) mod standing;
pub(crate) mod tally;
pub(crate) mod template;
pub(crate) mod version;
pub(crate) mod workspace;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::migrate::Migrator;

use crate::error::Error;

/// Everything that makes the schema, in order.
pub static MIGRATOR: Migrator = sqlx::migrate!();

pub(crate) const SCHEMA: &str = "genesis";

/// The time by which everything here is stored.
pub(crate) async fn now(conn: &mut PgConnection) -> Result<DateTime<Utc>, Error> {
    let now = sqlx::query_scalar!(r#"SELECT genesis.now() AS "now!""#);
    Ok(now.fetch_one(conn).await?)
}

//! The database of swarm: schema `swarm` alone. Decides nothing; callers own the transactions.
//!
//! Rows are locked in one order: bucket, turn, launch (several: by name), brake; the lock of the records comes after launch, and what
//! numbers audit and events last. A lock and what relies on it are two statements.

pub(crate) mod audit;
pub(crate) mod brake;
pub(crate) mod bucket;
pub(crate) mod charge;
pub(crate) mod citation;
pub(crate) mod document;
pub(crate) mod event;
pub(crate) mod grant;
pub(crate) mod launch;
pub(crate) mod lead;
pub(crate) mod loan;
pub(crate) mod mind;
pub(crate) mod persona;
pub(crate) mod reset;
pub(crate) mod retention;
pub(crate) mod review;
pub(crate) mod session;
pub(crate) mod setting;
pub(crate) mod share;
pub(crate) mod standing;
pub(crate) mod steward;
pub(crate) mod timeline;
pub(crate) mod transfer;
pub(crate) mod turn;
pub(crate) mod warning;
pub(crate) mod work;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::migrate::Migrator;

use crate::error::Error;

/// Everything that makes the schema, in order.
pub static MIGRATOR: Migrator = sqlx::migrate!();

pub(crate) const SCHEMA: &str = "swarm";

/// Where every commit of an event is told.
pub(crate) const CHANNEL: &str = "swarm_event";

/// The time by which everything here is stored.
pub(crate) async fn now(conn: &mut PgConnection) -> Result<DateTime<Utc>, Error> {
    let now = sqlx::query_scalar!(r#"SELECT swarm.now() AS "now!""#);
    Ok(now.fetch_one(conn).await?)
}

/// A stored name of a mind.
pub(crate) fn instance(text: &str) -> Result<cambium_swarm::Instance, Error> {
    cambium_swarm::Instance::parse(text).map_err(|why| Error::broken(format!("mind `{text}`"), why))
}

//! The database of genesis: schema `genesis` alone. Decides nothing; callers own the transactions.

pub(crate) mod agent;
pub(crate) mod receipt;

use sqlx::migrate::Migrator;

/// Everything that makes the schema, in order.
pub static MIGRATOR: Migrator = sqlx::migrate!();

pub(crate) const SCHEMA: &str = "genesis";

//! What the kit keeps in Postgres, tried against a real one.
#![expect(
    clippy::unwrap_used,
    reason = "fixtures are not test functions, and may fail like them"
)]

mod database;
mod fixture;
mod inbox;
mod outbox;
mod postgres;
mod receipt;

/// The smallest service.
static MIGRATOR: sqlx::migrate::Migrator = sqlx::migrate!("tests/store/migrations");
const SCHEMA: &str = "ledger";

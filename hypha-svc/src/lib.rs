//! hypha: durable graphs of work. Stores graphs, runs them, hands tasks to workers and measures what their outputs did.
//! Refuses to score anybody, to run agents' code, and to guess.

mod app;
mod config;
mod convert;
mod engine;
mod error;
mod loops;
mod peers;
mod receptors;
mod rpc;
mod server;
mod store;

pub use config::{Config, Retention};
pub use server::build;

/// The schema `hypha`, from nothing to now.
pub static MIGRATOR: sqlx::migrate::Migrator = sqlx::migrate!("./migrations");

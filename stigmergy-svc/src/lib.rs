//! stigmergy: marks that agents leave for one another in a shared environment, and that fade.
//! Scores no agent and gives nobody work: what a mark is worth to immune or hypha is their business.

mod app;
mod config;
mod convert;
mod error;
mod loops;
mod receptors;
mod rpc;
mod server;
mod store;
mod touch;

pub use config::Config;
pub use server::build;
pub use store::MIGRATOR;

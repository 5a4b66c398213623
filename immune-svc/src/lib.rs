//! immune: one standing per agent that explains itself. Believes hypha, stigmergy, genesis and operators, never an agent
//! about itself; and changes no score without a row in its ledger.

mod app;
mod config;
mod convert;
mod error;
mod loops;
mod receptors;
mod rpc;
mod server;
mod store;

pub use config::Config;
pub use server::build;
pub use store::MIGRATOR;

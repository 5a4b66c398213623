//! genesis: who the agents are. Other services hear of them by signals, people ask here.
//! Gives nobody work and judges nobody: that is for hypha and immune.

mod app;
mod config;
mod convert;
mod error;
mod loops;
mod rpc;
mod server;
mod store;

pub use config::Config;
pub use server::build;
pub use store::MIGRATOR;

//! genesis: who the agents are, what they are made from, and what their lives taught. Other services hear of it by signals,
//! people ask here.
//! Gives nobody work and judges nobody: that is for hypha and immune.

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

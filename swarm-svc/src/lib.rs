//! swarm: several minds, one wallet, fair turns by cost. Who the minds are, what they wrote down, whose turn it is and what it cost.
//! Runs no task itself: a turn is a graph of hypha's or a body of the operator's own, and what it cost is measured elsewhere.

mod app;
mod config;
mod convert;
mod error;
mod loops;
mod peers;
mod receptors;
mod rpc;
mod server;
mod store;

pub use config::Config;
pub use server::build;
pub use store::MIGRATOR;

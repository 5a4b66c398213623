//! The rules of genesis: who an agent is, and when a name is already somebody's.
//! Schedules nothing, judges nobody, and knows neither database nor wire.

mod agent;
mod capabilities;
mod error;

pub use agent::{Agent, AgentName, State};
pub use capabilities::Capabilities;
pub use error::Error;

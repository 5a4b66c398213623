//! The rules of genesis: who an agent is, what it is made from, when it may be spawned, and what its life leaves behind.
//! Schedules nothing, judges nobody, and knows neither database nor wire.

mod agent;
mod capabilities;
pub mod compost;
mod error;
pub mod harvest;
pub mod holdout;
mod id;
pub mod learning;
pub mod matching;
pub mod minds;
mod pattern;
pub mod secret;
pub mod spawn;
pub mod template;

pub use agent::{Agent, AgentName, Origin, State};
pub use capabilities::Capabilities;
pub use error::Error;
pub use id::{LearningId, SpawnId};
pub use pattern::{Pattern, PatternError, PatternKind};
pub use template::TemplateName;

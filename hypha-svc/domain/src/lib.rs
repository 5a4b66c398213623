//! The rules of durable execution: graphs and their checks, joins, conditions, retries, timeouts, payloads and gift chains.
//! Refuses to wait, to store, to read a clock and to score anybody: it decides from the values it is given.

pub mod condition;
pub mod error;
pub mod fair;
pub mod fan_out;
pub mod gift;
pub mod graph;
pub mod join;
pub mod matching;
pub mod path;
pub mod payload;
pub mod rerun;
pub mod retention;
pub mod retry;
pub mod state;
pub mod timeouts;
pub mod turn;

pub use condition::Condition;
pub use error::Error;
pub use graph::{Graph, NodeKey};
pub use join::Join;
pub use path::Path;
pub use retry::Retry;
pub use state::{EndState, EndStates};
pub use timeouts::Timeouts;
pub use turn::{Mind, TurnId};

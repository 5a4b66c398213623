//! What tests of several crates need: a database of their own with a clock they can move, keys, a receiver of
//! signals, and waiting with a bound. Mocks nothing that is ours: what it starts is real.

mod database;
mod keys;
mod postgres;
mod sink;
mod wait;

pub use database::{Database, database};
pub use keys::{Bearer, Keys, with_token};
pub use sink::SignalSink;
pub use wait::{free_port, wait_until};

//! The worker runtime against a service that follows a script.

#![expect(clippy::unwrap_used, reason = "fixtures may unwrap as tests do")]

mod environment;
mod fixture;
mod token;
mod worker;

//! Speaks to Cambium's services for programs and people: connections with deadlines, tokens and bounded
//! retries, and a worker runtime around any piece of work. Holds no rule of any service, reads no environment.

mod connection;
mod environment;
mod error;
pub mod refusal;
mod retry;
mod token;
pub mod worker;

pub use connection::{Authorized, Bearer, Connection, NoDeadline, Options};
pub use environment::{Environment, Mark};
pub use error::Error;
pub use retry::{Budget, Policy};
pub use token::{Signed, StaticToken, TokenFile, TokenSource};

//! Every RPC of genesis, on a real port and a real Postgres.
#![expect(clippy::unwrap_used, reason = "fixtures are not test functions")]

mod enroll_agent;
mod fixture;
mod get_agent;
mod list_agents;
mod signals;

//! Every RPC of genesis, on a real port and a real Postgres.
#![expect(clippy::unwrap_used, reason = "fixtures are not test functions")]

mod decide_spawn;
mod enroll_agent;
mod export_template;
mod fixture;
mod get_agent;
mod get_ancestry;
mod learnings;
mod list_agents;
mod permissions;
mod poison;
mod put_template;
mod retire_agent;
mod signals;
mod spawn;
mod spawn_offering;
mod storm;
mod watch_agents;

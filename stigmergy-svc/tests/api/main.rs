//! Every RPC of stigmergy, on a real port and a real Postgres.
#![expect(clippy::unwrap_used, reason = "fixtures are not test functions")]

mod fixture;
mod fixture_signals;
mod get_lineage;
mod get_marker;
mod idempotency;
mod list_regions;
mod permissions;
mod place_marker;
mod quarantine;
mod races;
mod rate;
mod reading_plan;
mod reinforce_marker;
mod sense_gradient;
mod sense_markers;
mod signals;
mod sweeping;
mod transform_marker;
mod watch_markers;

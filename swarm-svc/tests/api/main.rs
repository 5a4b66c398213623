//! Every RPC of swarm, on a real port and a real Postgres.
#![expect(clippy::unwrap_used, reason = "fixtures are not test functions")]

mod agenda;
mod audit;
mod authority;
mod brakes;
mod control_races;
mod control_steps;
mod dial;
mod fixture;
mod forgetting;
mod hand_off;
mod lead;
mod loans;
mod looking;
mod minds;
mod personas;
mod record;
mod remnants;
mod retirement;
mod rulings;
mod sessions;
mod shares;
mod signals;
mod standing;
mod timeline;
mod vectors;
mod wallet;
mod work;

//! Stories over real processes: the programs as they are shipped, gRPC between them, Postgres below. What one rule or one
//! RPC does is tested where it stands.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests to everyone but the lint"
)]

mod cancel;
mod chaos;
mod commands;
mod demo;
mod examples;
mod faults;
mod first_steps;
mod genesis;
mod history;
mod house;
mod marks;
mod minds;
mod quarantine;
mod recovery;
mod reflection;
mod remnant;
mod replicas;
mod schedulers;
mod stage;
mod standing;
mod steering;
mod zombies;

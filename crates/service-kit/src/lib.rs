//! The plumbing every service shares: configuration, telemetry, limits, identity, receipts, signals and storage.
//! Knows no domain: a rule of one subsystem never stands here.

pub mod admin;
pub mod auth;
pub mod batch;
pub mod call;
pub mod config;
pub mod database;
pub mod inbox;
pub mod migrate;
pub mod outbox;
pub mod page;
pub mod peer;
pub mod postgres;
pub mod principal;
pub mod readiness;
pub mod receipt;
pub mod reflection;
pub mod server;
pub mod service;
pub mod shutdown;
pub mod status;
pub mod telemetry;
pub mod token;
pub mod watchers;

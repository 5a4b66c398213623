//! Every RPC of immune, and every signal it hears, on a real port and a real Postgres.
#![expect(clippy::unwrap_used, reason = "fixtures are not test functions")]

mod alerts;
mod caps;
mod fixture;
mod generosity;
mod health;
mod policy;
mod quarantine;
mod reading_plan;
mod receptors;
mod refusals;
mod restart;
mod rules;
mod signals;
mod standings;
mod told;
mod trust;
mod watches;

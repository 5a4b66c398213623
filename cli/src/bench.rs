//! `cambium bench`: measures the engine against what this machine can do (design: performance).
//!
//! The stack runs in this process and the load in a child, so that the costs of service, client and Postgres can be told
//! apart. Judges nothing: it prints figures beside what they are to be held against.

mod dag5;
mod load;
mod meter;

use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;

/// Measure a scenario on this machine
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium bench dag5 --in-flight 400 --json")]
pub(crate) struct Args {
    #[command(subcommand)]
    scenario: Scenario,
}

#[derive(Debug, Subcommand)]
enum Scenario {
    Dag5(dag5::Args),
    #[command(hide = true)]
    Load(load::Args),
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match args.scenario {
        Scenario::Dag5(args) => Box::pin(dag5::run(args, context)).await,
        Scenario::Load(args) => Box::pin(load::run(args, context)).await,
    }
}

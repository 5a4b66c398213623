//! `cambium bench`: measures the engine against what this machine can do (docs/performance.md).
//!
//! The stack runs in this process and the load in a child, so that the costs of service, client and Postgres can be told
//! apart. Prints figures, and on standard error how they stand to the goals; never fails for a figure.

mod backlog;
mod chains;
mod child;
mod client;
mod dag5;
mod frame;
mod goal;
mod gratitude;
mod heap;
mod job;
mod latency;
mod layered;
mod line;
mod load;
mod markers;
mod meter;
mod process;
mod replay;
mod spread;
mod wide;

use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;

/// Measure a scenario on this machine
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium bench dag5 --in-flight 400 --batch 64 --json\n  cambium bench latency\n  cambium bench backlog --tasks 1000000"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    scenario: Scenario,
}

#[derive(Debug, Subcommand)]
enum Scenario {
    Dag5(dag5::Args),
    Latency(latency::Args),
    Wide(wide::Args),
    Layered(layered::Args),
    Backlog(backlog::Args),
    Replay(replay::Args),
    Gratitude(gratitude::Args),
    Markers(markers::Args),
    Chains(chains::Args),
    #[command(hide = true)]
    Load(load::Args),
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let plan = match args.scenario {
        Scenario::Dag5(args) => args.plan(),
        Scenario::Latency(args) => args.plan(),
        Scenario::Wide(args) => args.plan(),
        Scenario::Layered(args) => args.plan(),
        Scenario::Backlog(args) => args.plan(),
        Scenario::Replay(args) => args.plan()?,
        Scenario::Gratitude(args) => args.plan()?,
        Scenario::Markers(args) => return Box::pin(markers::run(args, context)).await,
        Scenario::Chains(args) => return chains::run(&args, context),
        Scenario::Load(args) => return Box::pin(load::run(args, context)).await,
    };
    Box::pin(frame::run(plan, context)).await
}

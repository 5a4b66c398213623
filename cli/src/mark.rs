//! `cambium mark`: leaves marks in the shared environment, reads them and builds on them, as whoever the token names: an
//! operator, or inside a task its agent.

mod act;
mod look;
mod watch;
mod which;

use clap::Subcommand;

use crate::context::Context;
use crate::exit::Exit;

/// Leave marks, sense those of others, and build on them
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium mark place repo/docs knowledge.pattern --payload '{\"use\":\"short words\"}'\n  cambium mark sense repo --below\n\nInside a program of `cambium worker --exec` they are the marks of the task's agent."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Place(act::Place),
    Reinforce(act::Reinforce),
    Transform(act::Transform),
    Sense(look::Sense),
    Show(look::Show),
    Lineage(look::Lineage),
    Gradient(look::Gradient),
    Regions(look::Regions),
    Watch(watch::Watch),
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    match args.what {
        What::Place(args) => act::place(args, context).await,
        What::Reinforce(args) => act::reinforce(args, context).await,
        What::Transform(args) => act::transform(args, context).await,
        What::Sense(args) => look::sense(args, context).await,
        What::Show(args) => look::show(args, context).await,
        What::Lineage(args) => look::lineage(args, context).await,
        What::Gradient(args) => look::gradient(args, context).await,
        What::Regions(args) => look::regions(args, context).await,
        What::Watch(args) => watch::watch(args, context).await,
    }
}

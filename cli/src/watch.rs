//! `cambium watch`: a run until it ends, drawn on a terminal, event by event for whoever reads on.

use cambium_proto::hypha::v1::Run;
use cambium_proto::hypha::v1::watch_run_response::Item;

use crate::context::{Context, emit};
use crate::exit::Exit;
use crate::follow::{self, Follow};
use crate::live::{self, Last, Screen};
use crate::run_name::RunName;
use crate::{json, summary};

/// Watch a run until it ends; exit 1 if it does not succeed
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium watch nightly\n  cambium watch nightly --events\n  cambium watch nightly --from 3 --json\n\nOn a terminal the run is drawn as it goes on, in colours unless NO_COLOR is set; anywhere else its events are printed, one a line."
)]
pub(crate) struct Args {
    /// A run's id, or the key that it was started with (`key:KEY` where that looks like an id)
    #[arg(value_name = "RUN")]
    run: RunName,
    /// Print events on a terminal too
    #[arg(long)]
    events: bool,
    /// Print the events after this sequence, the last one seen; 0 is all
    #[arg(long, value_name = "SEQ")]
    from: Option<i64>,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let run_id = args.run.id(&connection, &context.workspace()).await?;
    let follow = Follow {
        connection: &connection,
        workspace: context.workspace(),
        run_id,
        after_seq: args.from.unwrap_or(0),
    };
    let run = match screen(&args, context) {
        Some(screen) => live::draw(follow, screen, Last::Stays).await?,
        None => print(follow, context).await?,
    };
    Ok(summary::exit(run.state()))
}

/// Where to draw, if events were not asked for and somebody looks.
fn screen(args: &Args, context: &Context) -> Option<Screen> {
    let wants_events = args.events || args.from.is_some() || context.globals.json;
    Screen::stdout().filter(|_| !wants_events)
}

async fn print(follow: Follow<'_>, context: &Context) -> anyhow::Result<Run> {
    let (connection, run_id) = (follow.connection, follow.run_id.clone());
    let as_json = context.globals.json;
    follow
        .each(|item| {
            if as_json {
                emit(&json::reply(item)?);
            } else if let Some(Item::Event(event)) = &item.item {
                emit(&follow::line(event));
            }
            Ok(())
        })
        .await?;
    follow::get(connection, &context.workspace(), &run_id).await
}

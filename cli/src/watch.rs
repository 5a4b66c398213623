//! `cambium watch`: the events of a run, until it ends.

use cambium_proto::hypha::v1::watch_run_response::Item;

use crate::context::{Context, emit};
use crate::exit::Exit;
use crate::follow::{self, Follow};
use crate::{json, summary};

/// Print a run's events as they happen; exit 1 if it does not succeed
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium watch 0197b1c2-7d3e-7a00-8000-000000000001\n  cambium watch 0197b1c2-7d3e-7a00-8000-000000000001 --from 120 --json"
)]
pub(crate) struct Args {
    #[arg(value_name = "RUN")]
    run_id: String,
    /// The last sequence seen; 0 shows all
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    from: i64,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let follow = Follow {
        connection: &connection,
        workspace: context.workspace(),
        run_id: args.run_id.clone(),
        after_seq: args.from,
    };
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
    let run = follow::get(&connection, &context.workspace(), &args.run_id).await?;
    Ok(summary::exit(run.state()))
}

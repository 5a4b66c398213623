//! `cambium run-show`: one run.

use std::time::Duration;

use cambium_proto::hypha::v1::{GetRunResponse, Run};

use crate::context::Context;
use crate::exit::Exit;
use crate::summary::{self, Summary};
use crate::table::moment;
use crate::{follow, run, runs};

/// Show one run
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium run-show 0197b1c2-7d3e-7a00-8000-000000000001")]
pub(crate) struct Args {
    #[arg(value_name = "RUN")]
    run_id: String,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let run = follow::get(&connection, &context.workspace(), &args.run_id).await?;
    let failed = if context.globals.json {
        Vec::new()
    } else {
        summary::failed_tasks(&connection, &run).await?
    };
    let shown = Summary::of(&run, failed, lasted(&run));
    context.print(&GetRunResponse { run: Some(run) }, |reply| {
        let run = reply.run.clone().unwrap_or_default();
        let tasks = run.tasks.unwrap_or_default();
        format!(
            "{}\n  state        {}, {} of {} tasks open\n  graph        {}\n  key          {}\n  started      {}\n  ended        {}",
            shown.for_people(),
            runs::state(&run),
            tasks.open,
            tasks.total,
            run::titled(run.graph.as_ref()),
            run.request_key,
            moment(run.start_time.as_ref()),
            moment(run.end_time.as_ref()),
        )
    })?;
    Ok(Exit::Done)
}

/// From start to end; nothing for a run that has not ended.
fn lasted(run: &Run) -> Duration {
    let millis = |at: &prost_types::Timestamp| at.seconds * 1_000 + i64::from(at.nanos) / 1_000_000;
    let (start, end) = (
        run.start_time.as_ref().map(millis),
        run.end_time.as_ref().map(millis),
    );
    let took = end.unwrap_or_default() - start.or(end).unwrap_or_default();
    Duration::from_millis(u64::try_from(took).unwrap_or(0))
}

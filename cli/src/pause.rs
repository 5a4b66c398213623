//! `cambium pause`: stops a run from starting anything new.

use cambium_proto::hypha::v1::PauseRunRequest;

use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::json::word;
use crate::run_name::RunName;

/// Pause a run: nothing new starts, running tasks finish
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium pause nightly")]
pub(crate) struct Args {
    /// A run's id, or the key that it was started with (`key:KEY` where that looks like an id)
    #[arg(value_name = "RUN")]
    run: RunName,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = PauseRunRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        run_id: args.run.id(&connection, &context.workspace()).await?,
    };
    let reply = connection.retrying(|| {
        let (mut runs, request) = (connection.runs(), request.clone());
        async move { runs.pause_run(request).await }
    });
    context.print(&reply.await?, |reply| {
        word(reply.state().as_str_name(), "RUN_STATE_")
    })?;
    Ok(Exit::Done)
}

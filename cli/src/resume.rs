//! `cambium resume`: lets a paused run go on.

use cambium_proto::hypha::v1::ResumeRunRequest;

use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::json::word;
use crate::run_name::RunName;

/// Resume a paused run
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium resume nightly")]
pub(crate) struct Args {
    /// A run's id, or the key that it was started with (`key:KEY` where that looks like an id)
    #[arg(value_name = "RUN")]
    run: RunName,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ResumeRunRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        run_id: args.run.id(&connection, &context.workspace()).await?,
    };
    let reply = connection.retrying(|| {
        let (mut runs, request) = (connection.runs(), request.clone());
        async move { runs.resume_run(request).await }
    });
    context.print(&reply.await?, |reply| {
        word(reply.state().as_str_name(), "RUN_STATE_")
    })?;
    Ok(Exit::Done)
}

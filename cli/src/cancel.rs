//! `cambium cancel`: ends a run early.

use cambium_proto::hypha::v1::CancelRunRequest;

use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::json::word;
use crate::run_name::RunName;

/// Cancel a run: what has not started ends at once, what runs is told to stop
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium cancel weekly --reason 'wrong input' --grace-ms 5000")]
pub(crate) struct Args {
    /// A run's id, or the key that it was started with (`key:KEY` where that looks like an id)
    #[arg(value_name = "RUN")]
    run: RunName,
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    reason: String,
    /// How long running tasks may take to stop [default: 30000]
    #[arg(long, value_name = "MS")]
    grace_ms: Option<u32>,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = CancelRunRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        run_id: args.run.id(&connection, &context.workspace()).await?,
        reason: args.reason,
        grace_ms: args.grace_ms,
        ..CancelRunRequest::default()
    };
    let reply = connection.retrying(|| {
        let (mut runs, request) = (connection.runs(), request.clone());
        async move { runs.cancel_run(request).await }
    });
    context.print(&reply.await?, |reply| {
        word(reply.state().as_str_name(), "RUN_STATE_")
    })?;
    Ok(Exit::Done)
}

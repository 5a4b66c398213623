//! `cambium signal`: tells a run something that a task waits for.

use cambium_proto::hypha::v1::SignalRunRequest;

use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::file;
use crate::run_name::RunName;

/// Send a signal to a run, by id or by key; it is kept until a task waits for it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium signal nightly approved '{\"by\":\"ada\"}'\n  cambium signal nightly approved @answer.json"
)]
pub(crate) struct Args {
    /// A run's id, or the key that it was or will be started with (`key:KEY` where that looks like an id)
    #[arg(value_name = "RUN")]
    run: RunName,
    name: String,
    /// JSON, or @FILE
    #[arg(value_name = "JSON")]
    payload: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let (run_id, request_key) = args.run.parts();
    let request = SignalRunRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        run_id,
        request_key,
        name: args.name,
        payload: args
            .payload
            .as_deref()
            .map(file::json)
            .transpose()?
            .unwrap_or_default(),
    };
    let reply = connection.retrying(|| {
        let (mut runs, request) = (connection.runs(), request.clone());
        async move { runs.signal_run(request).await }
    });
    context.print(&reply.await?, |reply| {
        let told = if reply.delivered {
            "delivered: a task took it"
        } else {
            "kept: no task waits for it yet"
        };
        told.to_owned()
    })?;
    Ok(Exit::Done)
}

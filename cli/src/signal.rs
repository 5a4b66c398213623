//! `cambium signal`: tells a run something that a task waits for.

use cambium_proto::hypha::v1::SignalRunRequest;
use uuid::Uuid;

use crate::context::{Context, request_id};
use crate::exit::Exit;
use crate::file;

/// Send a signal to a run, by id or by key; it is kept until a task waits for it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium signal 0197b1c2-7d3e-7a00-8000-000000000001 approved '{\"by\":\"ada\"}'\n  cambium signal nightly-2026-03-01 approved @answer.json"
)]
pub(crate) struct Args {
    /// A run's id, or the key that it was or will be started with
    #[arg(value_name = "RUN")]
    run: String,
    name: String,
    /// JSON, or @FILE
    #[arg(value_name = "JSON")]
    payload: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let is_id = Uuid::try_parse(&args.run).is_ok();
    let (run_id, request_key) = if is_id {
        (args.run, String::new())
    } else {
        (String::new(), args.run)
    };
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

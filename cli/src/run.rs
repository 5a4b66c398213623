//! `cambium run`: stores a file's graph and starts a run of it.

use std::time::Instant;

use anyhow::Context as _;
use cambium_client::Connection;
use cambium_proto::hypha::v1::{
    GraphVersion, ImportGraphRequest, ImportGraphResponse, StartRunRequest, StartRunResponse,
};

use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::follow::{self, Follow};
use crate::summary::{self, Summary};
use crate::{commons, file, graph};

/// Import a file, start a run of it, and watch it if asked
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium run graph.yaml --watch\n  cambium run tasks.yaml --agents agents.yaml --input '{\"topic\":\"lichen\"}'\n  cambium run graph.yaml --key nightly --json"
)]
pub(crate) struct Args {
    #[command(flatten)]
    file: graph::File,
    /// The run's input: JSON, or @FILE
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Starting twice with one key is one run [default: a new key]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Follow the run to its end; exit 1 if it does not succeed
    #[arg(long)]
    watch: bool,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let input = args
        .input
        .as_deref()
        .map(file::json)
        .transpose()?
        .unwrap_or_default();
    let imported = import(&connection, args.file.request(context)?).await?;
    let version = imported
        .version
        .context("the service's reply holds no version")?;
    let started = Instant::now();
    let request = StartRunRequest {
        workspace_id: context.workspace(),
        request_key: args.key.unwrap_or_else(request_id),
        graph: version.name,
        version: version.version,
        input,
        ..StartRunRequest::default()
    };
    let reply = start(&connection, request).await?;
    if !args.watch {
        context.print(&reply, |reply| {
            format!("run {} of {}", reply.run_id, titled(reply.graph.as_ref()))
        })?;
        hint(&format!(
            "follow it with: cambium watch {}{}",
            reply.run_id,
            context.globals.again()
        ));
        return Ok(Exit::Done);
    }
    hint(&format!(
        "run {} of {}",
        reply.run_id,
        titled(reply.graph.as_ref())
    ));
    watch(reply.run_id, started, &connection, context).await
}

/// Follows a run to its end and prints what it came to.
pub(crate) async fn watch(
    run_id: String,
    started: Instant,
    connection: &Connection,
    context: &Context,
) -> anyhow::Result<Exit> {
    let follow = Follow {
        connection,
        workspace: context.workspace(),
        run_id,
        after_seq: 0,
    };
    let run = follow::to_the_end(follow).await?;
    let failed = summary::failed_tasks(connection, &run).await?;
    let wall = started.elapsed();
    let commons = commons::of(connection, &run).await;
    let summary = Summary::of(&run, failed, wall).with(commons);
    context.print_value(&summary, Summary::for_people)?;
    Ok(summary::exit(run.state()))
}

/// Stores the graph of a file, telling what deserves a look.
pub(crate) async fn import(
    connection: &Connection,
    request: ImportGraphRequest,
) -> anyhow::Result<ImportGraphResponse> {
    let reply = connection.retrying(|| {
        let (mut graphs, request) = (connection.graphs(), request.clone());
        async move { graphs.import_graph(request).await }
    });
    let reply = reply.await?;
    for warning in &reply.warnings {
        hint(&format!("warning: {warning}"));
    }
    Ok(reply)
}

pub(crate) async fn start(
    connection: &Connection,
    request: StartRunRequest,
) -> anyhow::Result<StartRunResponse> {
    let reply = connection.retrying(|| {
        let (mut runs, request) = (connection.runs(), request.clone());
        async move { runs.start_run(request).await }
    });
    Ok(reply.await?)
}

/// A version as people say it.
pub(crate) fn titled(version: Option<&GraphVersion>) -> String {
    version.map_or_else(
        || "an unknown graph".to_owned(),
        |version| {
            format!(
                "{} v{} ({} nodes, {} edges)",
                version.name, version.version, version.nodes, version.edges
            )
        },
    )
}

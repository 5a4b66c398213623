//! `cambium runs`: the runs of a workspace, newest first.

use std::time::Duration;

use cambium_proto::hypha::v1::{ListRunsRequest, Run, RunState};
use clap::ValueEnum;

use crate::context::{Context, hint};
use crate::exit::Exit;
use crate::json::word;
use crate::table::{moment, table};

/// List runs, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium runs\n  cambium runs --state failed --json")]
pub(crate) struct Args {
    #[arg(long, value_enum)]
    state: Option<State>,
    #[arg(long, value_name = "N", default_value_t = 50)]
    page_size: i32,
    #[arg(
        long,
        value_name = "TOKEN",
        default_value = "",
        hide_default_value = true
    )]
    page_token: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum State {
    Running,
    Cancelling,
    Succeeded,
    Failed,
    Cancelled,
}

impl From<State> for RunState {
    fn from(state: State) -> Self {
        match state {
            State::Running => Self::Running,
            State::Cancelling => Self::Cancelling,
            State::Succeeded => Self::Succeeded,
            State::Failed => Self::Failed,
            State::Cancelled => Self::Cancelled,
        }
    }
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let request = ListRunsRequest {
        workspace_id: context.workspace(),
        page_size: args.page_size,
        page_token: args.page_token,
        state: args
            .state
            .map_or(RunState::Unspecified, RunState::from)
            .into(),
    };
    let reply = connection.retrying(|| {
        let (mut runs, request) = (connection.runs(), request.clone());
        async move { runs.list_runs(request).await }
    });
    let reply = reply.await?;
    if !reply.next_page_token.is_empty() && !context.globals.json {
        hint(&format!(
            "more: cambium runs --page-token {}",
            reply.next_page_token
        ));
    }
    context.print(&reply, |reply| {
        table(
            ["run", "graph", "state", "tasks", "started", "ended"],
            reply.runs.iter().map(row),
        )
    })?;
    Ok(Exit::Done)
}

fn row(run: &Run) -> [String; 6] {
    let tasks = run.tasks.unwrap_or_default();
    let graph = run
        .graph
        .as_ref()
        .map(|graph| format!("{} v{}", graph.name, graph.version));
    [
        run.run_id.clone(),
        graph.unwrap_or_default(),
        state(run),
        format!("{}/{}", tasks.total - tasks.open, tasks.total),
        moment(run.start_time.as_ref()),
        moment(run.end_time.as_ref()),
    ]
}

/// A run's state as people say it.
pub(crate) fn state(run: &Run) -> String {
    let state = word(run.state().as_str_name(), "RUN_STATE_");
    if run.paused {
        format!("{state}, paused")
    } else {
        state
    }
}

/// From start to end; nothing for a run that has not ended.
pub(crate) fn lasted(run: &Run) -> Duration {
    let millis = |at: &prost_types::Timestamp| at.seconds * 1_000 + i64::from(at.nanos) / 1_000_000;
    let (start, end) = (
        run.start_time.as_ref().map(millis),
        run.end_time.as_ref().map(millis),
    );
    let took = end.unwrap_or_default() - start.or(end).unwrap_or_default();
    Duration::from_millis(u64::try_from(took).unwrap_or(0))
}

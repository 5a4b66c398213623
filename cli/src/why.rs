//! `cambium why`: why a run, or one of its tasks, is not further on, and what would change it.

mod advice;

use std::collections::BTreeMap;

use cambium_client::Connection;
use cambium_kernel::{Clock as _, SystemClock};
use cambium_proto::hypha::v1::{
    ExplainRunRequest, ExplainRunResponse, ExplainTaskRequest, GetGraphRequest, Reason, ReasonKind,
    Run, RunState, TaskState,
};

use crate::context::Context;
use crate::exit::Exit;
use crate::json::word;
use crate::run_name::RunName;
use crate::tasks;
use advice::Facts;

/// A larger graph is not fetched for the sake of a hint.
const LARGEST_GRAPH: u32 = 5_000;
/// Nodes that a hint names, at most.
const MOST_NODES: usize = 3;

/// Say why a run or a task is not further on, and what to type next
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  cambium why nightly\n  cambium why nightly draft")]
pub(crate) struct Args {
    /// A run's id, or the key that it was started with (`key:KEY` where that looks like an id)
    #[arg(value_name = "RUN")]
    run: RunName,
    /// A node's key, or a fan-out member such as `draft[2]`
    task: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let run = args.run.run(&connection, &context.workspace()).await?;
    match &args.task {
        None => {
            let request = ExplainRunRequest {
                workspace_id: run.workspace_id.clone(),
                run_id: run.run_id.clone(),
            };
            let reply = connection.retrying(|| {
                let (mut runs, request) = (connection.runs(), request.clone());
                async move { runs.explain_run(request).await }
            });
            let reply = reply.await?;
            let facts = gather(&reply.reasons, &run, &args, context, &connection).await?;
            context.print(&reply, |reply| {
                let mut text = advice::told(&standing(reply), &reply.reasons, &facts);
                if reply.more > 0 {
                    text += &format!(
                        "\n  and {} more tasks, each with reasons of its own",
                        reply.more
                    );
                }
                text
            })?;
        }
        Some(task) => {
            let request = ExplainTaskRequest {
                workspace_id: run.workspace_id.clone(),
                task_id: task_id(&run.run_id, task),
            };
            let reply = connection.retrying(|| {
                let (mut tasks, request) = (connection.tasks(), request.clone());
                async move { tasks.explain_task(request).await }
            });
            let reply = reply.await?;
            let facts = gather(&reply.reasons, &run, &args, context, &connection).await?;
            let facts = Facts {
                task: reply.state(),
                ..facts
            };
            context.print(&reply, |reply| {
                let state = word(reply.state().as_str_name(), "TASK_STATE_");
                advice::told(&state, &reply.reasons, &facts)
            })?;
        }
    }
    Ok(Exit::Done)
}

/// A task may be named in full or within its run.
fn task_id(run_id: &str, task: &str) -> String {
    if task.starts_with(&format!("{run_id}/")) {
        return task.to_owned();
    }
    format!("{run_id}/{task}")
}

/// A run's state, and how many of its tasks stand where.
fn standing(reply: &ExplainRunResponse) -> String {
    let state = word(reply.state().as_str_name(), "RUN_STATE_");
    if reply.summary.is_empty() {
        return state;
    }
    format!("{state}: {}", reply.summary)
}

/// Asks for what the hints need beside the reasons; for programs there are none.
async fn gather(
    reasons: &[Reason],
    run: &Run,
    args: &Args,
    context: &Context,
    connection: &Connection,
) -> anyhow::Result<Facts> {
    let mut facts = Facts {
        run: args.run.to_string(),
        flags: context.globals.again(),
        state: run.state(),
        task: TaskState::Unspecified,
        now: SystemClock.now(),
        requires: BTreeMap::new(),
        undone: Vec::new(),
    };
    if context.globals.json {
        return Ok(facts);
    }
    let lacks_agents = |reason: &Reason| {
        matches!(
            reason.kind(),
            ReasonKind::NoEligibleAgent | ReasonKind::AllBusy
        )
    };
    if reasons.iter().any(lacks_agents) {
        facts.requires = requires(run, connection).await?;
    }
    facts.undone = match run.state() {
        RunState::Failed => keys_in(TaskState::Failed, run, connection).await?,
        RunState::Cancelled => keys_in(TaskState::Cancelled, run, connection).await?,
        _ => Vec::new(),
    };
    Ok(facts)
}

/// What each node of the run's graph requires.
async fn requires(
    run: &Run,
    connection: &Connection,
) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let Some(graph) = run
        .graph
        .as_ref()
        .filter(|graph| graph.nodes <= LARGEST_GRAPH)
    else {
        return Ok(BTreeMap::new());
    };
    let request = GetGraphRequest {
        workspace_id: run.workspace_id.clone(),
        name: graph.name.clone(),
        version: graph.version,
    };
    let reply = connection.retrying(|| {
        let (mut graphs, request) = (connection.graphs(), request.clone());
        async move { graphs.get_graph(request).await }
    });
    let nodes = reply.await?.graph.unwrap_or_default().nodes;
    Ok(nodes
        .into_iter()
        .map(|node| (node.key, node.requires))
        .collect())
}

/// The first tasks of the run that ended so.
async fn keys_in(
    state: TaskState,
    run: &Run,
    connection: &Connection,
) -> anyhow::Result<Vec<String>> {
    let found = tasks::in_state(connection, run, state, MOST_NODES).await?;
    Ok(found.into_iter().map(|task| task.key).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_may_be_named_in_full_or_within_its_run() {
        assert_eq!(task_id("r", "draft[2]"), "r/draft[2]");
        assert_eq!(task_id("r", "r/draft"), "r/draft");
    }

    #[test]
    fn a_run_is_told_with_where_its_tasks_stand() {
        let reply = ExplainRunResponse {
            state: RunState::Running.into(),
            summary: "1 of 9 tasks have ended".to_owned(),
            ..ExplainRunResponse::default()
        };

        assert_eq!(standing(&reply), "running: 1 of 9 tasks have ended");
    }
}

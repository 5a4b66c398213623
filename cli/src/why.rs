//! `cambium why`: why a run, or one of its tasks, is not further on.

use cambium_proto::hypha::v1::{ExplainRunRequest, ExplainRunResponse, ExplainTaskRequest, Reason};

use crate::context::Context;
use crate::exit::Exit;
use crate::json::word;

/// Say why a run or a task is not further on
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium why 0197b1c2-7d3e-7a00-8000-000000000001\n  cambium why 0197b1c2-7d3e-7a00-8000-000000000001 'draft[2]'"
)]
pub(crate) struct Args {
    #[arg(value_name = "RUN")]
    run_id: String,
    /// A node's key, or a fan-out member such as `draft[2]`
    task: Option<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    match args.task {
        None => {
            let request = ExplainRunRequest {
                workspace_id: context.workspace(),
                run_id: args.run_id,
            };
            let reply = connection.retrying(|| {
                let (mut runs, request) = (connection.runs(), request.clone());
                async move { runs.explain_run(request).await }
            });
            context.print(&reply.await?, told_of_run)?;
        }
        Some(task) => {
            let request = ExplainTaskRequest {
                workspace_id: context.workspace(),
                task_id: task_id(&args.run_id, &task),
            };
            let reply = connection.retrying(|| {
                let (mut tasks, request) = (connection.tasks(), request.clone());
                async move { tasks.explain_task(request).await }
            });
            context.print(&reply.await?, |reply| {
                told(
                    &word(reply.state().as_str_name(), "TASK_STATE_"),
                    &reply.reasons,
                )
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

fn told_of_run(reply: &ExplainRunResponse) -> String {
    let state = word(reply.state().as_str_name(), "RUN_STATE_");
    let mut text = told(&format!("{state}: {}", reply.summary), &reply.reasons);
    if reply.more > 0 {
        text += &format!(
            "\n  and {} more tasks, each with reasons of its own",
            reply.more
        );
    }
    text
}

fn told(state: &str, reasons: &[Reason]) -> String {
    let mut lines = vec![state.to_owned()];
    for reason in reasons {
        let kind = word(reason.kind().as_str_name(), "REASON_KIND_");
        let task = if reason.task.is_empty() {
            String::new()
        } else {
            format!("{}: ", reason.task)
        };
        lines.push(format!("  {task}{kind}: {}", reason.text));
        if !reason.subjects.is_empty() {
            lines.push(format!("    {}", reason.subjects.join(", ")));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use cambium_proto::hypha::v1::{ReasonKind, RunState};

    use super::*;

    #[test]
    fn a_task_may_be_named_in_full_or_within_its_run() {
        assert_eq!(task_id("r", "draft[2]"), "r/draft[2]");
        assert_eq!(task_id("r", "r/draft"), "r/draft");
    }

    #[test]
    fn a_run_is_told_with_where_its_tasks_stand_and_what_was_left_out() {
        let reply = ExplainRunResponse {
            state: RunState::Running.into(),
            summary: "1 of 9 tasks have ended".to_owned(),
            more: 3,
            ..ExplainRunResponse::default()
        };

        assert_eq!(
            told_of_run(&reply),
            "running: 1 of 9 tasks have ended\n  and 3 more tasks, each with reasons of its own"
        );
    }

    #[test]
    fn reasons_are_told_with_what_they_are_about() {
        let reason = Reason {
            kind: ReasonKind::NoEligibleAgent.into(),
            task: "draft".to_owned(),
            text: "no agent can do it".to_owned(),
            subjects: vec!["role:writer".to_owned()],
            ..Reason::default()
        };

        assert_eq!(
            told("running", &[reason]),
            "running\n  draft: no eligible agent: no agent can do it\n    role:writer"
        );
    }
}

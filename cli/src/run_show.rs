//! `cambium run-show`: one run.

use cambium_proto::hypha::v1::{GetRunResponse, Run};

use crate::context::Context;
use crate::exit::Exit;
use crate::run_name::RunName;
use crate::summary::{self, Summary};
use crate::table::moment;
use crate::{run, runs};

/// Show one run
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium run-show nightly")]
pub(crate) struct Args {
    /// A run's id, or the key that it was started with (`key:KEY` where that looks like an id)
    #[arg(value_name = "RUN")]
    run: RunName,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let run = args.run.run(&connection, &context.workspace()).await?;
    let failed = if context.globals.json {
        Vec::new()
    } else {
        summary::failed_tasks(&connection, &run).await?
    };
    let shown = Summary::of(&run, failed, runs::lasted(&run));
    context.print(&GetRunResponse { run: Some(run) }, |reply| {
        let run = reply.run.as_ref();
        run.map_or_else(String::new, |run| told(run, &shown))
    })?;
    Ok(Exit::Done)
}

fn told(run: &Run, shown: &Summary) -> String {
    let tasks = run.tasks.unwrap_or_default();
    let open = format!(
        "{}, {} of {} tasks open",
        runs::state(run),
        tasks.open,
        tasks.total
    );
    let mut lines = vec![
        ("state", open),
        ("graph", run::titled(run.graph.as_ref())),
        ("key", run.request_key.clone()),
        ("started", moment(run.start_time.as_ref())),
        ("ended", moment(run.end_time.as_ref())),
    ];
    if !run.rerun_of_run_id.is_empty() {
        let source = &run.rerun_of_run_id;
        let reused = format!("{source}, {} of {} tasks reused", tasks.reused, tasks.total);
        lines.push(("rerun of", reused));
    }
    if !run.parent_run_id.is_empty() {
        let parent = &run.parent_run_id;
        let task = run.parent_task_id.strip_prefix(&format!("{parent}/"));
        let task = task.map(|task| format!(", by its task {task}"));
        lines.push((
            "parent run",
            format!("{parent}{}", task.unwrap_or_default()),
        ));
    }
    let lines = lines
        .into_iter()
        .map(|(name, value)| format!("\n  {name:<12} {value}"));
    shown.for_people() + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cambium_proto::hypha::v1::TaskCounts;

    use super::*;

    fn told_of(run: &Run) -> String {
        told(run, &Summary::of(run, Vec::new(), Duration::ZERO))
    }

    #[test]
    fn a_run_says_what_it_repeats_and_what_started_it() {
        let run = Run {
            rerun_of_run_id: "r1".to_owned(),
            parent_run_id: "r0".to_owned(),
            parent_task_id: "r0/plan".to_owned(),
            tasks: Some(TaskCounts {
                total: 5,
                reused: 3,
                ..TaskCounts::default()
            }),
            ..Run::default()
        };

        let told = told_of(&run);

        assert!(
            told.contains("\n  rerun of     r1, 3 of 5 tasks reused"),
            "{told}"
        );
        assert!(
            told.contains("\n  parent run   r0, by its task plan"),
            "{told}"
        );
    }

    #[test]
    fn an_ordinary_run_says_nothing_of_either() {
        let told = told_of(&Run::default());

        assert!(
            !told.contains("rerun of") && !told.contains("parent run"),
            "{told}"
        );
    }
}

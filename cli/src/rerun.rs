//! `cambium rerun`: does a part of an ended run again, and takes over the rest.

use std::time::Instant;

use cambium_client::Connection;
use cambium_proto::hypha::v1::{RerunFromRequest, RerunFromResponse};

use crate::context::{Context, hint, request_id};
use crate::exit::Exit;
use crate::run;
use crate::run_name::RunName;

/// Nodes that a plan names, at most, of each kind.
const MOST_NAMES: usize = 20;

/// Run some nodes of an ended run again, with everything downstream of them; the rest is reused
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium rerun nightly --from draft --dry-run\n  cambium rerun nightly --from draft --from check --key nightly-again --watch\n  cambium rerun nightly --from draft check --json"
)]
pub(crate) struct Args {
    /// A run's id, or the key that it was started with (`key:KEY` where that looks like an id)
    #[arg(value_name = "RUN")]
    run: RunName,
    /// The key of a node to do again; repeat it, or name several. What was cancelled, or failed unhandled, is done
    /// again in any case
    #[arg(long, value_name = "NODE", required = true, num_args = 1..)]
    from: Vec<String>,
    /// Only show what would be reused and what would be done again
    #[arg(long, conflicts_with_all = ["key", "watch"])]
    dry_run: bool,
    /// Repeating twice with one key is one run [default: a new key]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Follow the new run to its end; exit 1 if it does not succeed
    #[arg(long)]
    watch: bool,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let connection = context.connection().await?;
    let preview = RerunFromRequest {
        workspace_id: context.workspace(),
        request_key: String::new(),
        run_id: args.run.id(&connection, &context.workspace()).await?,
        nodes: args.from,
        dry_run: true,
    };
    let plan = ask(&connection, &preview).await?;
    if args.dry_run {
        context.print(&plan, told)?;
        return Ok(Exit::Done);
    }
    hint(&told(&plan));

    let started = Instant::now();
    let request = RerunFromRequest {
        request_key: args.key.unwrap_or_else(request_id),
        dry_run: false,
        ..preview
    };
    let reply = ask(&connection, &request).await?;
    let graph = run::titled(reply.graph.as_ref());
    if args.watch {
        hint(&format!("run {} of {graph}", reply.run_id));
        return run::watch(reply.run_id, started, &connection, context).await;
    }
    context.print(&reply, |reply| format!("run {} of {graph}", reply.run_id))?;
    hint(&format!(
        "follow it with: cambium watch {}{}",
        reply.run_id,
        context.globals.again()
    ));
    Ok(Exit::Done)
}

async fn ask(
    connection: &Connection,
    request: &RerunFromRequest,
) -> anyhow::Result<RerunFromResponse> {
    let reply = connection.retrying(|| {
        let (mut runs, request) = (connection.runs(), request.clone());
        async move { runs.rerun_from(request).await }
    });
    Ok(reply.await?)
}

/// What is taken over and what is done again.
fn told(plan: &RerunFromResponse) -> String {
    format!(
        "reused      {}\ndone again  {}",
        names(&plan.reused),
        names(&plan.rerun)
    )
}

fn names(nodes: &[String]) -> String {
    let shown = nodes.iter().take(MOST_NAMES).map(String::as_str);
    let shown = shown.collect::<Vec<_>>().join(", ");
    let count = nodes.len();
    match count.checked_sub(MOST_NAMES) {
        _ if nodes.is_empty() => "nothing".to_owned(),
        None | Some(0) => format!("{count}: {shown}"),
        Some(more) => format!("{count}: {shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(count: usize) -> Vec<String> {
        (1..=count).map(|n| format!("n{n}")).collect()
    }

    #[test]
    fn a_plan_names_what_is_reused_and_what_is_done_again() {
        let plan = RerunFromResponse {
            reused: nodes(2),
            ..RerunFromResponse::default()
        };

        assert_eq!(told(&plan), "reused      2: n1, n2\ndone again  nothing");
    }

    #[test]
    fn a_long_plan_says_how_much_more_there_is() {
        assert!(names(&nodes(20)).ends_with("n19, n20"));
        assert!(names(&nodes(23)).ends_with("n20 and 3 more"));
    }
}

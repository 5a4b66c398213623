//! `cambium worker`: does tasks for agents, by any program, by a service of one's own, or by simulation.

mod adopt;
mod how;
mod told;

use anyhow::Context as _;
use cambium_client::Connection;
use cambium_client::worker::{Ended, Options, Runtime, Work};
use cambium_proto::genesis::v1::Agent;
use cambium_service_kit::telemetry;

use crate::context::{Context, hint};
use crate::credentials::{self, WorkerWish};
use crate::discovery::Credentials;
use crate::enroll::enroll;
use crate::exit::Exit;
use adopt::Family;
use how::How;
use told::Told;

/// Work for agents: run a program for each task, post it to a service, or simulate it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium worker --agent bob --capability role:writer --exec './write.sh'\n  cambium worker --agent ada --token-file ada.token --slots 4 --exec 'jq .inputs'\n  cambium worker --agent carol --capability role:editor --http http://127.0.0.1:8000/tasks\n  cambium worker --agent dan --capability role:lead -- ./lead.sh\n  cambium worker --agent eve --capability role:tester --simulate --speed 100\n  cambium worker --template writer --slots 2 --exec './write.sh'\n\nWith --template it works for every agent of that template, from its spawn until it leaves, each with slots of its own.\n\nThe task arrives as JSON on the program's standard input, the output leaves as JSON on its standard output; an exit code other than 0 fails the task. With --http it arrives as the body of a POST, and the body of a reply of 2xx is the output; any other status fails the task, for good unless it is 408, 429 or 5xx. A reply {\"output\": …, \"usage\": {\"micro_usd\": N}} also declares what it cost.\n\nA program acts as its task's agent: CAMBIUM_TOKEN, CAMBIUM_SERVER and CAMBIUM_WORKSPACE in its environment are read by this command too, so that `cambium mark place` leaves the agent's mark, and a run it starts is a child of the task's run; CAMBIUM_AGENT_ID and CAMBIUM_TASK_ID say whose task it is. With --http --with-token a service finds the token as `authorization: Bearer`. It is good for 15 minutes or less."
)]
pub(crate) struct Args {
    /// An agent's name or id; repeat for more
    #[arg(
        long = "agent",
        value_name = "NAME",
        required_unless_present = "template"
    )]
    agents: Vec<String>,
    /// Instead of --agent: every agent of this template, as they come and go
    #[arg(long, value_name = "NAME", conflicts_with_all = ["agents", "capabilities"])]
    template: Option<String>,
    /// What the agents can do; with it an agent that is not there yet is enrolled (operators only)
    #[arg(long = "capability", value_name = "CAPABILITY")]
    capabilities: Vec<String>,
    #[command(flatten)]
    how: how::Manner,
    /// How many tasks at once; with --template, of each agent
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    slots: u32,
    /// This worker's name; a second of the same name replaces the first [default: agent, host and process]. With --template the
    /// agent's name comes before it
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// End when standard input closes, so that a worker never outlives who started it
    #[arg(long, hide = true)]
    until_stdin_closes: bool,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    telemetry::init("cambium-worker", telemetry::Format::Pretty)?;
    let how = args.how.how(&context.place()?.url)?;
    let told = Told::listen(args.until_stdin_closes);
    let working = async {
        match how {
            How::Simulate(simulate) => serve(&args, simulate, &told, context).await,
            How::Exec(exec) => serve(&args, exec, &told, context).await,
            How::Http(http) => serve(&args, *http, &told, context).await,
        }
    };
    tokio::select! {
        ended = working => {
            hint(match ended? {
                Ended::Drained => "drained",
                Ended::Replaced => "a newer worker of this name took over",
            });
            Ok(Exit::Done)
        }
        // What is held is dropped, programs and all; its leases run out.
        () = told.end.stopped() => Ok(Exit::Failed),
    }
}

async fn serve(
    args: &Args,
    work: impl Work + Clone,
    told: &Told,
    context: &Context,
) -> anyhow::Result<Ended> {
    if let Some(template) = &args.template {
        let family = Family::new(context, template, args.slots, args.name.as_deref(), work)?;
        hint(&format!(
            "working for every agent of {template}; Ctrl-C or SIGTERM drains"
        ));
        return family.serve(told.drain.clone()).await;
    }
    let worker = args
        .name
        .clone()
        .unwrap_or_else(|| default_name(&args.agents));
    let (connection, agents) = enter(args, &worker, context).await?;
    let options = Options {
        workspace: context.workspace(),
        worker: worker.clone(),
        agent_ids: agents.iter().map(|agent| agent.agent_id.clone()).collect(),
        slots: args.slots,
        capabilities: Vec::new(),
    };
    hint(&format!(
        "worker {worker} works for {}; Ctrl-C or SIGTERM drains it",
        args.agents.join(", ")
    ));
    let runtime = Runtime::new(&connection, options, work);
    Ok(runtime.run(told.drain.stopped()).await?)
}

/// Finds the agents and gets the worker's credentials: the token it was given, or one signed where the keys are.
async fn enter(
    args: &Args,
    worker: &str,
    context: &Context,
) -> anyhow::Result<(Connection, Vec<Agent>)> {
    let own = context.own_connection()?;
    let mut agents = Vec::new();
    for name in &args.agents {
        agents.push(find(&own, name, args, context).await?);
    }
    Ok((signed(&own, worker, &agents, context)?, agents))
}

/// A connection with the worker's token: what it was given, or one signed where the keys are.
fn signed(
    own: &Connection,
    worker: &str,
    agents: &[Agent],
    context: &Context,
) -> anyhow::Result<Connection> {
    if context.place()?.credentials != Credentials::Folder {
        return Ok(own.clone());
    }
    let capabilities = agents
        .iter()
        .flat_map(|agent| agent.capabilities.clone())
        .collect();
    let wish = WorkerWish {
        worker: worker.to_owned(),
        workspace: context.workspace(),
        agent_ids: agents.iter().map(|agent| agent.agent_id.clone()).collect(),
        capabilities: sorted(capabilities),
    };
    let tokens = credentials::worker(&context.folder(), wish)?;
    Ok(own.with_tokens(tokens))
}

/// With capabilities, an agent that is not there yet is made: only operators may.
async fn find(
    own: &Connection,
    name: &str,
    args: &Args,
    context: &Context,
) -> anyhow::Result<Agent> {
    if args.capabilities.is_empty() || context.place()?.credentials != Credentials::Folder {
        return context.agent(own, name).await;
    }
    let reply = enroll(own, &context.workspace(), name, &args.capabilities).await?;
    reply.agent.context("the service's reply holds no agent")
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names.dedup();
    names
}

fn default_name(agents: &[String]) -> String {
    let name = format!("{}@{}", agents.join("+"), host());
    name.chars().take(128).collect()
}

/// This process on this machine.
fn host() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{}", host.trim(), std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_name_is_never_too_long() {
        let agents = vec!["a".repeat(100), "b".repeat(100)];

        assert!(default_name(&agents).chars().count() <= 128);
    }
}

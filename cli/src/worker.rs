//! `cambium worker`: does tasks for agents, by any program or by simulation.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use cambium_client::worker::exec::Program;
use cambium_client::worker::{Ended, Exec, Options, Runtime, Simulate, Work};
use cambium_client::{Connection, TokenFile, TokenSource};
use cambium_proto::genesis::v1::Agent;
use cambium_service_kit::shutdown::{self, Stop};
use cambium_service_kit::telemetry;

use crate::context::{Context, hint};
use crate::credentials::{self, WorkerWish};
use crate::discovery::Credentials;
use crate::enroll::enroll;
use crate::exit::Exit;
use crate::failure::Refusal;

/// Work for agents: run a program for each task, or simulate it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium worker --agent ada --capability role:writer --exec './write.py'\n  cambium worker --agent ada --token-file ada.token --slots 4 --exec 'jq .inputs'\n  cambium worker --agent bob --capability role:tester --simulate --speed 100\n\nThe task arrives as JSON on the program's standard input, the output leaves as JSON on its standard output. An exit code other than 0 fails the task."
)]
pub(crate) struct Args {
    /// An agent's name or id; repeat for more
    #[arg(long = "agent", value_name = "NAME", required = true)]
    agents: Vec<String>,
    /// What the agents can do; with it an agent that is not there yet is enrolled (operators only)
    #[arg(long = "capability", value_name = "CAPABILITY")]
    capabilities: Vec<String>,
    /// A line for `sh -c`, run for each task
    #[arg(long, value_name = "CMD", conflicts_with_all = ["simulate", "program"])]
    exec: Option<String>,
    /// Do nothing but take the recorded time
    #[arg(long, conflicts_with = "program")]
    simulate: bool,
    /// How many times faster than recorded [default: as fast as possible]
    #[arg(long, value_name = "X", requires = "simulate", value_parser = crate::demo::speed)]
    speed: Option<f64>,
    /// How many tasks at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    slots: u32,
    /// What each task costs, in dollars, as a measured figure
    #[arg(long, value_name = "USD", value_parser = micro_usd)]
    usd_per_task: Option<i64>,
    /// Between asking a program to end and ending it, in seconds
    #[arg(long, value_name = "S", default_value_t = 10)]
    grace_s: u64,
    /// This worker's name; a second of the same name replaces the first [default: agent, host and process]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// End when standard input closes, so that a worker never outlives who started it
    #[arg(long, hide = true)]
    until_stdin_closes: bool,
    /// A program and its arguments, instead of --exec
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<String>,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    telemetry::init("cambium-worker", telemetry::Format::Pretty)?;
    let worker = args
        .name
        .clone()
        .unwrap_or_else(|| default_name(&args.agents));
    let (connection, agents) = enter(&args, &worker, context).await?;
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
    let told = Told::listen(args.until_stdin_closes);
    let working = async {
        match work(&args)? {
            Either::Simulate(simulate) => serve(&connection, options, simulate, &told).await,
            Either::Exec(exec) => serve(&connection, options, exec, &told).await,
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
    connection: &Connection,
    options: Options,
    work: impl Work,
    told: &Told,
) -> anyhow::Result<Ended> {
    let runtime = Runtime::new(connection, options, work);
    Ok(runtime.run(told.drain.stopped()).await?)
}

enum Either {
    Simulate(Simulate),
    Exec(Exec),
}

fn work(args: &Args) -> Result<Either, Refusal> {
    let program = match (&args.exec, args.program.as_slice()) {
        _ if args.simulate => {
            return Ok(Either::Simulate(Simulate {
                speed: args.speed,
                micro_usd: args.usd_per_task.unwrap_or(0),
            }));
        }
        (Some(line), _) => Program::Shell(line.clone()),
        (None, []) => {
            let text = "say how tasks are done: --exec CMD, --simulate, or -- PROGRAM";
            return Err(Refusal::Usage(text.to_owned()));
        }
        (None, words) => Program::Argv(words.to_vec()),
    };
    Ok(Either::Exec(Exec {
        program,
        grace: Duration::from_secs(args.grace_s),
        micro_usd_per_task: args.usd_per_task,
    }))
}

/// Finds the agents and gets the worker's credentials: from the token file, or signed where the keys are.
async fn enter(
    args: &Args,
    worker: &str,
    context: &Context,
) -> anyhow::Result<(Connection, Vec<Agent>)> {
    let place = context.place()?;
    let own = match &place.credentials {
        Credentials::File(path) => {
            let tokens: Arc<dyn TokenSource> = Arc::new(TokenFile::new(path));
            Connection::open(&place.url, tokens, Default::default())?
        }
        Credentials::Folder | Credentials::None => context.own_connection()?,
    };
    let mut agents = Vec::new();
    for name in &args.agents {
        agents.push(find(&own, name, args, context).await?);
    }
    if place.credentials != Credentials::Folder {
        return Ok((own, agents));
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
    Ok((
        own.with_tokens(credentials::worker(&context.folder(), wish)?),
        agents,
    ))
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
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = format!(
        "{}@{}-{}",
        agents.join("+"),
        host.trim(),
        std::process::id()
    );
    name.chars().take(128).collect()
}

/// What a worker is told from outside: first to drain, then to end at once.
#[derive(Clone, Debug, Default)]
struct Told {
    drain: Stop,
    end: Stop,
}

impl Told {
    fn listen(until_stdin_closes: bool) -> Self {
        let told = Self::default();
        if until_stdin_closes {
            let end = told.end.clone();
            // A thread of its own: the runtime would wait for a read that may never end.
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
                end.stop();
            });
        }
        let heard = told.clone();
        tokio::spawn(async move {
            shutdown::signalled().await;
            hint("draining: finishing what is held; once more ends it at once");
            heard.drain.stop();
            shutdown::signalled().await;
            heard.end.stop();
        });
        told
    }
}

/// Dollars to whole micro-dollars, without floating point.
fn micro_usd(text: &str) -> anyhow::Result<i64> {
    let say = "write dollars with at most six decimals, as in 0.0025";
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    anyhow::ensure!(
        digits(whole) && digits(part) && part.len() <= 6 && !text.is_empty(),
        say
    );
    let whole: i64 = if whole.is_empty() {
        0
    } else {
        whole.parse().context(say)?
    };
    let part: i64 = format!("{part:0<6}").parse().context(say)?;
    whole
        .checked_mul(1_000_000)
        .and_then(|whole| whole.checked_add(part))
        .context(say)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_become_exact_micro_dollars() {
        assert_eq!(micro_usd("0.0025").unwrap(), 2_500);
        assert_eq!(micro_usd("3").unwrap(), 3_000_000);
        assert_eq!(micro_usd(".000001").unwrap(), 1);
        for bad in ["", "-1", "0.0000001", "1e3", "ten", "99999999999999"] {
            assert!(micro_usd(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_default_name_is_never_too_long() {
        let agents = vec!["a".repeat(100), "b".repeat(100)];

        assert!(default_name(&agents).chars().count() <= 128);
    }
}

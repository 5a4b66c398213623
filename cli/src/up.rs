//! `cambium up`: everything on this machine, until it is told to stop.

use cambium_client::Connection;
use cambium_client::worker::{Options, Runtime, Simulate};
use cambium_service_kit::shutdown::{self, Stop};
use cambium_service_kit::telemetry;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::context::Context;
use crate::credentials::{self, WorkerWish};
use crate::enroll::enroll;
use crate::exit::Exit;
use crate::stack::{Stack, StackOptions};

/// How many tasks a simulated worker does at once.
const SLOTS: u32 = 8;

/// Start everything here: a private Postgres and all services on one port; what was there goes on
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium up\n  cambium up --data ./cambium-data --port 0\n  cambium up --workers 2 --capability role:writer\n\nThe folder of --data is made if it is not there. Ctrl-C or SIGTERM drains and stops."
)]
pub(crate) struct Args {
    /// The port of all services on 127.0.0.1; 0 picks a free one
    #[arg(long, value_name = "N", default_value_t = 7070)]
    port: u16,
    /// Simulated workers to run along, each with an agent of its own
    #[arg(long, value_name = "N", default_value_t = 0)]
    workers: u16,
    /// What the simulated workers' agents can do; repeat for more
    #[arg(long = "capability", value_name = "CAPABILITY", requires = "workers")]
    capabilities: Vec<String>,
}

/// What `up` tells programs.
#[derive(Debug, Serialize)]
struct Started {
    url: String,
    admin: String,
    data: String,
    pid: u32,
}

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    telemetry::init("cambium-up", telemetry::Format::Pretty)?;
    let asked = asked_to_stop();
    let folder = context.folder();
    let mut stack = Stack::start(StackOptions {
        folder: folder.clone(),
        port: args.port,
    })
    .await?;
    let started = Started {
        url: stack.url().to_owned(),
        admin: format!("http://127.0.0.1:{}", stack.address().admin_port),
        data: folder.path().display().to_string(),
        pid: stack.address().pid,
    };
    let named = context.globals.data.as_ref();
    let data_flag = named
        .map(|data| format!(" --data {}", data.display()))
        .unwrap_or_default();
    context.print_value(&started, |started| greeting(started, &data_flag))?;

    let drain = Stop::new();
    let mut workers = start_workers(&args, &stack, context, &drain).await?;
    let ended = tokio::select! {
        () = asked.stopped() => Ok(()),
        ended = stack.ended() => ended,
    };
    drain.stop();
    while workers.join_next().await.is_some() {}
    stack.stop().await?;
    ended?;
    Ok(Exit::Done)
}

/// Listens for the signal from now on, however long the start takes.
pub(crate) fn asked_to_stop() -> Stop {
    let stop = Stop::new();
    let heard = stop.clone();
    tokio::spawn(async move {
        shutdown::signalled().await;
        heard.stop();
    });
    stop
}

fn greeting(started: &Started, data_flag: &str) -> String {
    let Started {
        url, admin, data, ..
    } = started;
    format!(
        "cambium is up\n  services  {url} (gRPC, plain HTTP/2, this machine only)\n  admin     {admin}/metrics\n  data      {data}\n  a token   cambium token{data_flag}\n  try       cambium run FILE --watch{data_flag}\n  stop      Ctrl-C, or kill {}",
        started.pid
    )
}

/// Simulated workers in this process; they speak to the stack as any other would.
async fn start_workers(
    args: &Args,
    stack: &Stack,
    context: &Context,
    drain: &Stop,
) -> anyhow::Result<JoinSet<()>> {
    let mut workers = JoinSet::new();
    let operator = Connection::open(stack.url(), stack.token_source()?, Default::default())?;
    for number in 1..=args.workers {
        let name = format!("sim-{number}");
        let reply = enroll(&operator, &context.workspace(), &name, &args.capabilities).await?;
        let agent_ids = vec![reply.agent.unwrap_or_default().agent_id];
        let wish = WorkerWish {
            worker: name.clone(),
            workspace: context.workspace(),
            agent_ids: agent_ids.clone(),
            capabilities: args.capabilities.clone(),
        };
        let connection = operator.with_tokens(credentials::worker(&context.folder(), wish)?);
        let options = Options {
            workspace: context.workspace(),
            worker: name,
            agent_ids,
            slots: SLOTS,
            capabilities: Vec::new(),
        };
        let stopped = drain.stopped();
        workers.spawn(async move {
            let ended = Runtime::new(&connection, options, Simulate::default())
                .run(stopped)
                .await;
            if let Err(error) = ended {
                tracing::error!(%error, "a simulated worker ended");
            }
        });
    }
    Ok(workers)
}

//! The five-task graph a -> (b, c) -> d -> e, over and over, with so many runs in flight.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::meter::{Meter, Spent};
use crate::context::Context;
use crate::exit::Exit;
use crate::folder::Folder;
use crate::stack::{Stack, StackOptions};

/// Run a five-task graph again and again, so many at once
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium bench dag5 --in-flight 32 --seconds 5 --json")]
pub(crate) struct Args {
    /// Runs at once
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    in_flight: u32,
    /// How long to measure, after a warm-up of 2 s
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
}

/// What the load says when it has ended.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Loaded {
    pub(super) workflows: u64,
    pub(super) tasks: u64,
    pub(super) wall_s: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// The line of design performance, "`./dev bench`".
#[derive(Debug, Serialize)]
struct Line {
    scenario: &'static str,
    client: &'static str,
    in_flight: u32,
    tasks_per_s: f64,
    workflows_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    cpu_ms_per_task: Cpu,
    commits_per_task: f64,
    wal_bytes_per_task: f64,
    rss_mb: f64,
    cal_commits_per_s: f64,
    tasks_per_cal: f64,
    other_cores: f64,
}

#[derive(Debug, Serialize)]
struct Cpu {
    postgres: f64,
    service: f64,
    client: f64,
    all: f64,
}

/// What the child prints when its warm-up is over.
pub(super) const BEGIN: &str = "begin";

/// Postgres tells its statistics at most once a second.
const STATISTICS: Duration = Duration::from_millis(1_500);

pub(crate) async fn run(args: Args, context: &Context) -> anyhow::Result<Exit> {
    let home = tempfile::Builder::new()
        .prefix("cambium-bench-")
        .tempdir()?;
    let folder = Folder::at(home.path().join("data"));
    let stack = Stack::start(StackOptions {
        folder: folder.clone(),
        port: 0,
    })
    .await?;
    let measured = measure(&args, &stack, &folder).await;
    let stopped = stack.stop().await;
    let line = measured?;
    stopped?;
    context.print_value(&line, human)?;
    Ok(Exit::Done)
}

async fn measure(args: &Args, stack: &Stack, folder: &Folder) -> anyhow::Result<Line> {
    let meter = Meter::new(stack.postgres()?).await?;
    let before = meter.calibrate().await?;
    let mut child = spawn(args, folder)?;
    let out = child.stdout.take().context("the load has no output")?;
    let mut lines = BufReader::new(out).lines();
    expect(&mut lines, BEGIN).await?;
    let client = child.id().context("the load has ended")?;
    let start = meter.read(client).await?;
    let begun = Instant::now();
    let loaded = ended(&mut lines).await?;
    let wall = begun.elapsed();
    let cpu = meter.read_cpu(client)?;
    tokio::time::sleep(STATISTICS).await;
    let end = meter.read(client).await.unwrap_or(start);
    wait(&mut child).await?;
    let after = meter.calibrate().await?;
    let spent = Spent::between(&start, &cpu, &end, wall);
    Ok(line(args, &loaded, &spent, f64::midpoint(before, after)))
}

fn spawn(args: &Args, folder: &Folder) -> anyhow::Result<Child> {
    let child = Command::new(std::env::current_exe()?)
        .arg("--data")
        .arg(folder.path())
        .args(["bench", "load", "--in-flight", &args.in_flight.to_string()])
        .args(["--seconds", &args.seconds.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    child.context("the load cannot be started")
}

async fn expect(lines: &mut Lines<BufReader<ChildStdout>>, word: &str) -> anyhow::Result<()> {
    let line = lines.next_line().await?.context("the load ended early")?;
    anyhow::ensure!(line == word, "the load said `{line}` instead of `{word}`");
    Ok(())
}

async fn ended(lines: &mut Lines<BufReader<ChildStdout>>) -> anyhow::Result<Loaded> {
    let line = lines.next_line().await?.context("the load ended early")?;
    serde_json::from_str(&line).with_context(|| format!("the load said `{line}`"))
}

/// Closing its input lets the load go: until then its cost can be read.
async fn wait(child: &mut Child) -> anyhow::Result<()> {
    drop(child.stdin.take());
    let status = child.wait().await?;
    anyhow::ensure!(status.success(), "the load failed: {status}");
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]
fn line(args: &Args, loaded: &Loaded, spent: &Spent, cal: f64) -> Line {
    let tasks = loaded.tasks.max(1) as f64;
    let per_task = |seconds: f64| round(seconds * 1_000.0 / tasks, 4);
    let tasks_per_s = loaded.tasks as f64 / loaded.wall_s;
    Line {
        scenario: "dag5",
        client: "unary",
        in_flight: args.in_flight,
        tasks_per_s: round(tasks_per_s, 0),
        workflows_per_s: round(loaded.workflows as f64 / loaded.wall_s, 0),
        p50_ms: round(loaded.p50_ms, 2),
        p99_ms: round(loaded.p99_ms, 2),
        cpu_ms_per_task: Cpu {
            postgres: per_task(spent.postgres_s),
            service: per_task(spent.service_s),
            client: per_task(spent.client_s),
            all: per_task(spent.postgres_s + spent.service_s + spent.client_s),
        },
        commits_per_task: round(spent.commits / tasks, 4),
        wal_bytes_per_task: round(spent.wal_bytes / tasks, 0),
        rss_mb: round(spent.rss_mb, 0),
        cal_commits_per_s: round(cal, 0),
        tasks_per_cal: round(tasks_per_s / cal, 3),
        other_cores: round(spent.other_cores, 2),
    }
}

fn round(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

fn human(line: &Line) -> String {
    format!(
        "{} in flight: {:.0} tasks/s ({:.0} workflows/s), p50 {:.1} ms, p99 {:.1} ms\n\
         per task: {:.3} ms of CPU (postgres {:.3}, service {:.3}, client {:.3}), {:.4} commits, {:.0} bytes of WAL\n\
         service memory {:.0} MB; calibration {:.0} commits/s, so {:.3} tasks per calibrated commit; others used {:.2} cores",
        line.in_flight,
        line.tasks_per_s,
        line.workflows_per_s,
        line.p50_ms,
        line.p99_ms,
        line.cpu_ms_per_task.all,
        line.cpu_ms_per_task.postgres,
        line.cpu_ms_per_task.service,
        line.cpu_ms_per_task.client,
        line.commits_per_task,
        line.wal_bytes_per_task,
        line.rss_mb,
        line.cal_commits_per_s,
        line.tasks_per_cal,
        line.other_cores,
    )
}

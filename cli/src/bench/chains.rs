//! Gift metrics of a very large run, in this process: no service, no Postgres, no load.

use std::time::{Duration, Instant};

use cambium_hypha::EndState;
use cambium_hypha::gift::{Execution, Lineage, Metrics, TaskRef};
use serde::Serialize;

use super::goal::{self, Goal};
use super::process::{self, Processes};
use super::spread::{percentile_ms, rounded};
use crate::context::{Context, hint};
use crate::exit::Exit;

/// Measure the gift metrics of a very large run
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cambium bench chains --edges 1000000 --json")]
pub(crate) struct Args {
    /// Handoffs of the run, about
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(20_000..=20_000_000))]
    edges: u32,
    /// How often
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
}

#[derive(Debug, Serialize)]
struct Line {
    scenario: &'static str,
    nodes: usize,
    edges: u64,
    p50_ms: f64,
    p99_ms: f64,
    rss_mb: f64,
    other_cores: f64,
    judged: bool,
}

const WIDTH: u32 = 1_000;
const PARENTS: u32 = 20;

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let executions = layers(args.edges / (WIDTH * PARENTS) + 1);
    let (start, begun) = (used()?, Instant::now());
    let mut took: Vec<Duration> = Vec::new();
    let mut metrics = Metrics::default();
    for _ in 0..args.rounds {
        let start = Instant::now();
        metrics = Lineage::of(&executions).compute_metrics();
        took.push(start.elapsed());
    }
    let others = (used()? - start).max(0.0) / begun.elapsed().as_secs_f64();
    took.sort_unstable();
    let line = Line {
        scenario: "chains",
        nodes: executions.len(),
        edges: metrics.total_handoffs,
        p50_ms: rounded(percentile_ms(&took, 50), 2),
        p99_ms: rounded(percentile_ms(&took, 99), 2),
        rss_mb: rounded(process::resident_mb(), 0),
        other_cores: rounded(others, 2),
        judged: goal::is_judged(others),
    };
    context.print_value(&line, human)?;
    let goals = [Goal::at_most("/p50_ms", 160.0)];
    let goals = if line.edges == 1_000_000 {
        &goals[..]
    } else {
        &[]
    };
    for verdict in goal::verdicts(&serde_json::to_value(&line)?, goals) {
        hint(&verdict);
    }
    Ok(Exit::Done)
}

/// CPU that others have used.
fn used() -> anyhow::Result<f64> {
    Ok(process::machine_s()? - Processes::now()?.of(std::process::id()))
}

/// Layers of a thousand tasks, each taking from twenty of the layer before.
fn layers(count: u32) -> Vec<Execution> {
    let sources = |node: u32| {
        let before = (node / WIDTH).checked_sub(1);
        let parents = before.into_iter().flat_map(move |before| {
            (0..PARENTS).map(move |nth| before * WIDTH + (node * 7 + nth * 37) % WIDTH)
        });
        parents.map(TaskRef::node).collect()
    };
    let execution = |node| Execution {
        id: TaskRef::node(node),
        state: EndState::Succeeded,
        agent: None,
        sources: sources(node),
        consumed_by: Vec::new(),
    };
    (0..count * WIDTH).map(execution).collect()
}

fn human(line: &Line) -> String {
    format!(
        "gift metrics of {} tasks and {} handoffs: p50 {:.1} ms, p99 {:.1} ms; memory {:.0} MB; others used {:.2} cores",
        line.nodes, line.edges, line.p50_ms, line.p99_ms, line.rss_mb, line.other_cores
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_after_the_first_takes_twenty_times_its_width() {
        let executions = layers(3);

        let metrics = Lineage::of(&executions).compute_metrics();

        assert_eq!(executions.len(), 3_000);
        assert_eq!((metrics.total_handoffs, metrics.chain_length), (40_000, 2));
    }
}

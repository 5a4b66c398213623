//! Graphs in layers, large or small: whether a task costs more in a large graph.

use super::client::Flags;
use super::frame::Plan;
use super::job::Job;
use super::load::Shape;
use super::wide::{AT_ONCE, BATCH};

/// Run graphs in layers, each task waiting for three of the layer before
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium bench layered --tasks 50000 --depth 50 --json\n  cambium bench layered --tasks 50 --depth 10 --runs 1000 --in-flight 20 --json"
)]
pub(crate) struct Args {
    /// Tasks of one run
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    tasks: u32,
    /// Layers
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    depth: u32,
    /// How many runs, after so many as are in flight to warm up
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// Runs at once
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    in_flight: u32,
    #[command(flatten)]
    client: Flags,
}

impl Args {
    pub(super) fn plan(self) -> Plan {
        let means = self.client.means(AT_ONCE, BATCH);
        Plan {
            scenario: "layered",
            client: means.to_string(),
            in_flight: self.in_flight,
            job: Job::Bulk {
                means,
                shape: Shape::Layered {
                    tasks: self.tasks,
                    depth: self.depth.min(self.tasks),
                },
                runs: self.runs,
                in_flight: self.in_flight,
            },
            goals: Vec::new(),
        }
    }
}

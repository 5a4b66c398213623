//! How long one small workflow takes when nothing else is going on.

use super::client::Flags;
use super::dag5;
use super::frame::Plan;
use super::goal::Goal;
use super::job::Job;

/// Run a five-task graph again and again, one at a time
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium bench latency --json\n  cambium bench latency --stream"
)]
pub(crate) struct Args {
    /// How long to measure, after a warm-up of 2 s
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    #[command(flatten)]
    client: Flags,
}

impl Args {
    pub(super) fn plan(self) -> Plan {
        let means = dag5::means(&self.client, 1);
        Plan {
            scenario: "latency",
            client: means.to_string(),
            in_flight: 1,
            job: Job::Cycle {
                means,
                in_flight: 1,
                seconds: self.seconds,
            },
            goals: vec![Goal::at_most("/p50_ms", 4.0), Goal::at_most("/p99_ms", 8.0)],
        }
    }
}

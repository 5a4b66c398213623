//! Very many ready tasks and nobody to take them, then everybody at once: whether a long queue is a slow one.

use super::client::Flags;
use super::frame::Plan;
use super::goal::Goal;
use super::job::Job;
use super::wide::{AT_ONCE, BATCH};

/// Let ready tasks pile up, then drain them to the end
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium bench backlog --json\n  cambium bench backlog --tasks 1000000 --stream"
)]
pub(crate) struct Args {
    /// Ready tasks of the large backlog; the small one has 1,000
    #[arg(long, value_name = "N", default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    tasks: u32,
    #[command(flatten)]
    client: Flags,
}

impl Args {
    pub(super) fn plan(self) -> Plan {
        let means = self.client.means(AT_ONCE, BATCH);
        Plan {
            scenario: "backlog",
            client: means.to_string(),
            in_flight: 0,
            job: Job::Backlog {
                means,
                tasks: self.tasks,
            },
            goals: vec![Goal::at_most("/slowdown", 1.5)],
        }
    }
}

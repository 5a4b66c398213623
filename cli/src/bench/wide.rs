//! One root, then very many tasks at once: how fast a single large graph goes.

use super::client::Flags;
use super::frame::Plan;
use super::goal::Goal;
use super::job::Job;
use super::load::Shape;

/// Run one graph of a root and very many children
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium bench wide --tasks 20000 --json\n  cambium bench wide --tasks 10000 --join --stream"
)]
pub(crate) struct Args {
    /// Children of the root
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=49_998))]
    tasks: u32,
    /// A last task waits for all children
    #[arg(long)]
    join: bool,
    /// How often, one after the other, after once to warm up
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    runs: u32,
    #[command(flatten)]
    client: Flags,
}

/// What a large graph keeps running: more would only wait in the client.
pub(super) const AT_ONCE: u32 = 512;
pub(super) const BATCH: u32 = 64;

impl Args {
    pub(super) fn plan(self) -> Plan {
        let means = self.client.means(AT_ONCE, BATCH);
        Plan {
            scenario: "wide",
            client: means.to_string(),
            in_flight: 1,
            job: Job::Bulk {
                means,
                shape: Shape::Wide {
                    children: self.tasks,
                    join: self.join,
                },
                runs: self.runs,
                in_flight: 1,
            },
            goals: vec![Goal::at_least("/tasks_per_cal", 0.85)],
        }
    }
}

//! How soon what an agent gave can be seen in its standing, while everybody works.

use super::client::Flags;
use super::dag5;
use super::frame::Plan;
use super::goal::Goal;
use super::job::Job;

/// Run a five-task graph again and again, and see how soon generosity follows
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium bench gratitude --json\n  cambium bench gratitude --in-flight 400 --batch 64 --seconds 30"
)]
pub(crate) struct Args {
    /// Runs at once
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    in_flight: u32,
    /// How long to measure, after a warm-up of 2 s
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    #[command(flatten)]
    client: Flags,
}

impl Args {
    pub(super) fn plan(self) -> anyhow::Result<Plan> {
        let means = dag5::means(&self.client, self.in_flight);
        anyhow::ensure!(
            !means.is_stream(),
            "a stream does not say which agent did what: leave --stream out"
        );
        Ok(Plan {
            scenario: "gratitude",
            client: means.to_string(),
            in_flight: self.in_flight,
            job: Job::Gratitude {
                means,
                in_flight: self.in_flight,
                seconds: self.seconds,
            },
            goals: vec![
                Goal::at_most("/visible_p50_ms", 50.0),
                Goal::at_most("/visible_p99_ms", 500.0),
                // One for each task; the two clocks of the window differ by a few hundredths.
                Goal::at_least("/signals_per_task", 0.95),
            ],
        })
    }
}

//! The five-task graph a -> (b, c) -> d -> e, over and over, with so many runs in flight.

use super::client::{Flags, Means};
use super::frame::Plan;
use super::goal::Goal;
use super::job::Job;

/// Run a five-task graph again and again, so many at once
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  cambium bench dag5 --in-flight 32 --seconds 5 --json\n  cambium bench dag5 --in-flight 400 --batch 64\n  cambium bench dag5 --in-flight 32 --stream"
)]
pub(crate) struct Args {
    /// Runs at once
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    in_flight: u32,
    /// How long to measure, after a warm-up of 2 s
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    #[command(flatten)]
    client: Flags,
}

impl Args {
    pub(super) fn plan(self) -> Plan {
        let means = means(&self.client, self.in_flight);
        Plan {
            scenario: "dag5",
            client: means.to_string(),
            in_flight: self.in_flight,
            job: Job::Cycle {
                means,
                in_flight: self.in_flight,
                seconds: self.seconds,
            },
            goals: goals(self.in_flight, means),
        }
    }
}

/// Two tasks of a run can be running at once.
pub(super) fn means(client: &Flags, in_flight: u32) -> Means {
    client.means(in_flight * 2, 1)
}

/// The goals are set for 32 and 400 in flight, and say nothing of other loads.
fn goals(in_flight: u32, means: Means) -> Vec<Goal> {
    let (cpu, commits) = ("/cpu_ms_per_task/all", "/commits_per_task");
    match (in_flight, means) {
        (32, means) => vec![
            Goal::at_least("/tasks_per_cal", if means.is_stream() { 0.4 } else { 0.25 }),
            Goal::at_most(cpu, 0.25),
            Goal::at_most(commits, 0.3),
            Goal::at_most("/wal_bytes_per_task", 2_000.0),
        ],
        (400, means) if means.is_grouped() => vec![
            Goal::at_least("/tasks_per_cal", 0.8),
            Goal::at_most(cpu, 0.1),
            Goal::at_most(commits, 0.1),
        ],
        (400, _) => vec![Goal::at_most(cpu, 0.1), Goal::at_most(commits, 0.1)],
        (2_000, _) => vec![Goal::at_most("/rss_mb", 64.0)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNARY: Means = Means::Calls {
        hands: 64,
        batch: 1,
    };
    const STREAM: Means = Means::Streams {
        streams: 4,
        credit: 16,
    };

    #[test]
    fn a_stream_is_held_to_a_higher_rate_than_plain_calls() {
        let rate = |bound| Goal::at_least("/tasks_per_cal", bound);

        assert!(goals(32, UNARY).contains(&rate(0.25)));
        assert!(goals(32, STREAM).contains(&rate(0.4)));
        assert!(goals(400, STREAM).contains(&rate(0.8)));
    }

    #[test]
    fn a_load_that_no_goal_speaks_of_has_none() {
        assert_eq!(goals(33, UNARY), []);
    }
}

//! The one line that every scenario prints: rates beside what they cost and beside what the machine could do. Computes
//! per task; measures nothing.

use serde::Serialize;
use serde_json::{Map, Value};

use super::goal;
use super::job::{Closed, Loaded};
use super::meter::Spent;
use super::spread::rounded;

#[derive(Debug, Serialize)]
pub(super) struct Line {
    scenario: &'static str,
    client: String,
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
    /// Whether the figures may be held against the goals.
    judged: bool,
    #[serde(flatten)]
    extra: Map<String, Value>,
}

#[derive(Debug, Serialize)]
struct Cpu {
    postgres: f64,
    service: f64,
    client: f64,
    all: f64,
}

/// What was measured where.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    /// From the word to begin to the stop of the clock.
    pub(super) loaded: Loaded,
    pub(super) spent: Spent,
    /// From the start of the load to its end, warm-up and all: Postgres counts commits late.
    pub(super) closed: Closed,
    pub(super) commits: f64,
    /// Commits a second that the machine could do, before and after.
    pub(super) cal: (f64, f64),
}

impl Line {
    #[expect(clippy::cast_precision_loss, reason = "counts of a bench are small")]
    pub(super) fn of(
        scenario: &'static str,
        client: String,
        in_flight: u32,
        figures: Figures,
    ) -> Self {
        let Figures { loaded, spent, .. } = figures;
        let tasks = loaded.tasks.max(1) as f64;
        let per_task = |seconds: f64| rounded(seconds * 1_000.0 / tasks, 4);
        let wall = loaded.wall_s.max(f64::EPSILON);
        let cal = f64::midpoint(figures.cal.0, figures.cal.1);
        let tasks_per_s = loaded.tasks as f64 / wall;
        Self {
            scenario,
            client,
            in_flight,
            tasks_per_s: rounded(tasks_per_s, 0),
            workflows_per_s: rounded(loaded.workflows as f64 / wall, 1),
            p50_ms: rounded(loaded.p50_ms, 2),
            p99_ms: rounded(loaded.p99_ms, 2),
            cpu_ms_per_task: Cpu {
                postgres: per_task(spent.postgres_s),
                service: per_task(spent.service_s),
                client: per_task(spent.client_s),
                all: per_task(spent.postgres_s + spent.service_s + spent.client_s),
            },
            commits_per_task: rounded(figures.commits / figures.closed.tasks.max(1) as f64, 4),
            wal_bytes_per_task: rounded(spent.wal_bytes / tasks, 0),
            rss_mb: rounded(spent.rss_mb, 0),
            cal_commits_per_s: rounded(cal, 0),
            tasks_per_cal: rounded(tasks_per_s / cal.max(f64::EPSILON), 3),
            other_cores: rounded(spent.other_cores, 2),
            judged: goal::is_judged(spent.other_cores),
            extra: loaded.extra,
        }
    }

    pub(super) fn for_people(&self) -> String {
        let mut text = format!(
            "{} by {}, {} in flight: {:.0} tasks/s ({:.1} workflows/s), p50 {:.1} ms, p99 {:.1} ms\n\
             per task: {:.3} ms of CPU (postgres {:.3}, service {:.3}, client {:.3}), {:.4} commits, {:.0} bytes of WAL\n\
             service memory {:.0} MB; calibration {:.0} commits/s, so {:.3} tasks per calibrated commit; others used {:.2} cores",
            self.scenario,
            self.client,
            self.in_flight,
            self.tasks_per_s,
            self.workflows_per_s,
            self.p50_ms,
            self.p99_ms,
            self.cpu_ms_per_task.all,
            self.cpu_ms_per_task.postgres,
            self.cpu_ms_per_task.service,
            self.cpu_ms_per_task.client,
            self.commits_per_task,
            self.wal_bytes_per_task,
            self.rss_mb,
            self.cal_commits_per_s,
            self.tasks_per_cal,
            self.other_cores,
        );
        for (name, value) in &self.extra {
            text.push_str(&format!("\n{name} {value}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn figures() -> Figures {
        let loaded = Loaded {
            workflows: 200,
            tasks: 1_000,
            wall_s: 2.0,
            p50_ms: 12.346,
            p99_ms: 30.0,
            extra: Map::new(),
        };
        let spent = Spent {
            postgres_s: 0.2,
            service_s: 0.1,
            client_s: 0.05,
            wal_bytes: 1_200_400.0,
            rss_mb: 31.4,
            other_cores: 0.312,
        };
        Figures {
            loaded,
            spent,
            closed: Closed {
                tasks: 1_500,
                lost: 0,
            },
            commits: 300.0,
            cal: (9_000.0, 11_000.0),
        }
    }

    fn line(figures: Figures) -> Line {
        Line::of("dag5", "unary".to_owned(), 32, figures)
    }

    #[test]
    fn a_line_holds_rates_costs_and_what_the_machine_could_do() {
        let line = serde_json::to_value(line(figures())).unwrap();

        assert_eq!(
            line,
            json!({
                "scenario": "dag5", "client": "unary", "in_flight": 32,
                "tasks_per_s": 500.0, "workflows_per_s": 100.0, "p50_ms": 12.35, "p99_ms": 30.0,
                "cpu_ms_per_task": {"postgres": 0.2, "service": 0.1, "client": 0.05, "all": 0.35},
                "commits_per_task": 0.2, "wal_bytes_per_task": 1_200.0, "rss_mb": 31.0,
                "cal_commits_per_s": 10_000.0, "tasks_per_cal": 0.05, "other_cores": 0.31, "judged": false,
            })
        );
    }

    #[test]
    fn what_a_scenario_adds_stands_beside_the_rest() {
        let mut figures = figures();
        figures
            .loaded
            .extra
            .insert("slowdown".to_owned(), json!(1.04));

        let line = line(figures);

        assert_eq!(
            serde_json::to_value(&line).unwrap()["slowdown"],
            json!(1.04)
        );
        assert!(line.for_people().ends_with("\nslowdown 1.04"));
    }

    #[test]
    fn nothing_done_costs_nothing() {
        let line = line(Figures {
            loaded: Loaded::default(),
            closed: Closed::default(),
            commits: 0.0,
            cal: (0.0, 0.0),
            ..figures()
        });

        assert_eq!((line.tasks_per_s, line.tasks_per_cal), (0.0, 0.0));
    }
}

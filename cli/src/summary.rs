//! What a run came to: the document that `demo` and `run --watch` end with.

use std::time::Duration;

use cambium_client::Connection;
use cambium_proto::hypha::v1::{Run, RunState, TaskState};
use serde::Serialize;

use crate::commons::{Commons, Moved};
use crate::exit::Exit;
use crate::json::word;
use crate::tasks;

/// Plain numbers, for programs.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) run_id: String,
    pub(crate) state: String,
    pub(crate) tasks: Tasks,
    pub(crate) gift: Gift,
    pub(crate) gratitude: i64,
    pub(crate) dead_ends: i64,
    /// Left out where nobody keeps standings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agents: Option<Vec<Moved>>,
    pub(crate) failed_tasks: Vec<FailedTask>,
    /// Left out where nobody keeps marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) markers: Option<usize>,
    pub(crate) wall_ms: u64,
    /// What people are told of agents and marks.
    #[serde(skip)]
    commons: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tasks {
    pub(crate) succeeded: i64,
    pub(crate) failed: i64,
    pub(crate) skipped: i64,
    pub(crate) omitted: i64,
    pub(crate) cancelled: i64,
}

#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Gift {
    pub(crate) chain_length: i64,
    pub(crate) chain_breadth: i64,
    pub(crate) total_handoffs: i64,
    pub(crate) circulation_score: f64,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FailedTask {
    pub(crate) node: String,
    pub(crate) code: String,
    pub(crate) detail: String,
}

impl Summary {
    /// Sums an ended run up.
    pub(crate) fn of(run: &Run, failed_tasks: Vec<FailedTask>, wall: Duration) -> Self {
        let tasks = run.tasks.unwrap_or_default();
        let gift = run.gift.unwrap_or_default();
        Self {
            run_id: run.run_id.clone(),
            state: word(run.state().as_str_name(), "RUN_STATE_"),
            tasks: Tasks {
                succeeded: tasks.succeeded,
                failed: tasks.failed,
                skipped: tasks.skipped,
                omitted: tasks.omitted,
                cancelled: tasks.cancelled,
            },
            gift: Gift {
                chain_length: gift.chain_length,
                chain_breadth: gift.chain_breadth,
                total_handoffs: gift.total_handoffs,
                circulation_score: gift.circulation_score,
            },
            gratitude: run.gratitude,
            dead_ends: run.dead_ends,
            agents: None,
            failed_tasks,
            markers: None,
            wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
            commons: Vec::new(),
        }
    }

    /// Adds what the run did to the commons.
    pub(crate) fn with(self, commons: Commons) -> Self {
        Self {
            commons: commons.for_people(),
            markers: commons.marks.map(|marks| marks.len()),
            agents: commons.agents,
            ..self
        }
    }

    fn headline(&self) -> String {
        if !self.is_ended() {
            return format!("run {} is {}", self.run_id, self.state);
        }
        let seconds = Duration::from_millis(self.wall_ms).as_secs_f64();
        format!("run {} {} after {seconds:.1} s", self.run_id, self.state)
    }

    /// The figures are written at the run's end.
    fn is_ended(&self) -> bool {
        !["running", "cancelling"].contains(&self.state.as_str())
    }

    pub(crate) fn for_people(&self) -> String {
        let Tasks {
            succeeded,
            failed,
            skipped,
            omitted,
            cancelled,
        } = self.tasks;
        let Gift {
            chain_length,
            chain_breadth,
            total_handoffs,
            circulation_score,
        } = self.gift;
        let mut lines = vec![
            self.headline(),
            format!(
                "  tasks        {succeeded} succeeded, {failed} failed, {skipped} skipped, {omitted} omitted, {cancelled} cancelled"
            ),
        ];
        if self.is_ended() {
            lines.extend([
                format!("  gift chain   length {chain_length}, breadth {chain_breadth}"),
                format!("  circulation  {circulation_score:.3} of the outputs were used"),
                format!(
                    "  handoffs     {total_handoffs}, thanked {}",
                    self.gratitude
                ),
                format!("  dead ends    {}", self.dead_ends),
            ]);
            lines.extend(self.commons.iter().cloned());
        }
        for task in &self.failed_tasks {
            let detail = task.detail.lines().last().unwrap_or_default();
            lines.push(format!(
                "  failed       {} {}: {detail}",
                task.node, task.code
            ));
        }
        lines.join("\n")
    }
}

/// How a command ends that waited for a run.
pub(crate) fn exit(state: RunState) -> Exit {
    if state == RunState::Succeeded {
        Exit::Done
    } else {
        Exit::Failed
    }
}

/// Every task of a run that failed, with why.
pub(crate) async fn failed_tasks(
    connection: &Connection,
    run: &Run,
) -> anyhow::Result<Vec<FailedTask>> {
    if run.tasks.is_none_or(|tasks| tasks.failed == 0) {
        return Ok(Vec::new());
    }
    let failed = tasks::in_state(connection, run, TaskState::Failed, usize::MAX).await?;
    let failed = failed.into_iter().map(|task| FailedTask {
        node: task.key,
        code: task.code,
        detail: task.detail,
    });
    Ok(failed.collect())
}

#[cfg(test)]
mod tests {
    use cambium_proto::hypha::v1::{GiftMetrics, TaskCounts};

    use super::*;

    fn summary() -> Summary {
        let run = Run {
            run_id: "r1".to_owned(),
            state: RunState::Failed.into(),
            tasks: Some(TaskCounts {
                succeeded: 2,
                failed: 1,
                ..TaskCounts::default()
            }),
            gift: Some(GiftMetrics {
                chain_length: 1,
                chain_breadth: 1,
                total_handoffs: 1,
                circulation_score: 0.5,
                ..GiftMetrics::default()
            }),
            gratitude: 1,
            ..Run::default()
        };
        let failed = FailedTask {
            node: "c".to_owned(),
            code: "EXIT_1".to_owned(),
            detail: "no".to_owned(),
        };
        Summary::of(&run, vec![failed], Duration::from_millis(1_500))
    }

    #[test]
    fn the_document_holds_plain_numbers() {
        let expected = r#"{"run_id":"r1","state":"failed","tasks":{"succeeded":2,"failed":1,"skipped":0,"omitted":0,"cancelled":0},"gift":{"chain_length":1,"chain_breadth":1,"total_handoffs":1,"circulation_score":0.5},"gratitude":1,"dead_ends":0,"failed_tasks":[{"node":"c","code":"EXIT_1","detail":"no"}],"wall_ms":1500}"#;

        assert_eq!(serde_json::to_string(&summary()).unwrap(), expected);
    }

    #[test]
    fn what_is_kept_here_stands_beside_the_rest() {
        let moved = Moved {
            name: "ada".to_owned(),
            generosity_before: 0.5,
            generosity_after: 0.53,
            trust: 0.51,
        };
        let commons = Commons {
            agents: Some(vec![moved]),
            marks: Some(Vec::new()),
        };

        let summary = summary().with(commons);

        let document = serde_json::to_string(&summary).unwrap();
        let agents = r#""agents":[{"name":"ada","generosity_before":0.5,"generosity_after":0.53,"trust":0.51}],"failed_tasks""#;
        assert!(document.contains(agents), "{document}");
        assert!(
            document.contains(r#""markers":0,"wall_ms":1500}"#),
            "{document}"
        );
        assert!(summary.for_people().contains("generosity   ada"));
    }

    #[test]
    fn people_read_state_figures_and_failures() {
        let text = summary().for_people();

        assert!(text.starts_with("run r1 failed after 1.5 s"));
        assert!(text.contains("failed       c EXIT_1: no"));
    }

    #[test]
    fn only_a_run_that_succeeded_ends_well() {
        assert_eq!(exit(RunState::Succeeded), Exit::Done);
        assert_eq!(exit(RunState::Cancelled), Exit::Failed);
    }
}

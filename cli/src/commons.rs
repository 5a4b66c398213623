//! What a run did to the commons: how generous its agents were before and are now, and the marks that they left. Waits a
//! little for what the run sent to be applied; a service that is absent is left out.

mod ledger;
mod marks;

use std::collections::BTreeSet;

use cambium_client::Connection;
use cambium_proto::hypha::v1::{Run, TaskState};
use serde::Serialize;
use tonic::Status;

use crate::bar::bar;
use crate::context::hint;
use crate::standing;
use crate::tasks;
use marks::Mark;

/// Agents that people are shown; programs get all.
const MOST_AGENTS: usize = 12;

/// Of one run. What nobody keeps here is `None`.
#[derive(Debug, Default)]
pub(crate) struct Commons {
    pub(crate) agents: Option<Vec<Moved>>,
    pub(crate) marks: Option<Vec<Mark>>,
}

/// An agent of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Moved {
    pub(crate) name: String,
    /// As the run started.
    pub(crate) generosity_before: f64,
    pub(crate) generosity_after: f64,
    pub(crate) trust: f64,
}

/// Looks at an ended run. Whoever may not see its tasks sees nothing of this either.
pub(crate) async fn of(connection: &Connection, run: &Run) -> Commons {
    let tasks = tasks::in_state(connection, run, TaskState::Unspecified, usize::MAX).await;
    let Ok(tasks) = tasks else {
        return Commons::default();
    };
    let agents: BTreeSet<String> = tasks
        .into_iter()
        .map(|task| task.agent_id)
        .filter(|agent| !agent.is_empty())
        .collect();
    Commons {
        agents: kept(ledger::read(connection, run, &agents).await),
        marks: kept(marks::left(connection, run, &agents).await),
    }
}

/// What came of it, or nothing. A service that is there and refuses is told.
fn kept<T>(asked: Result<T, Status>) -> Option<T> {
    match asked {
        Ok(found) => Some(found),
        Err(status) => {
            if !standing::is_absent(&status) {
                hint(&format!("left out: {}", status.message()));
            }
            None
        }
    }
}

impl Commons {
    /// The lines of a summary.
    pub(crate) fn for_people(&self) -> Vec<String> {
        let agents = self.agents.as_deref().unwrap_or_default();
        let marks = self.marks.as_deref().unwrap_or_default();
        generosity(agents).into_iter().chain(left(marks)).collect()
    }
}

/// Those that moved most come first.
fn generosity(agents: &[Moved]) -> Vec<String> {
    let by = |agent: &Moved| (agent.generosity_after - agent.generosity_before).abs();
    let mut agents: Vec<&Moved> = agents.iter().collect();
    agents.sort_by(|a, b| by(b).total_cmp(&by(a)));
    let width = agents.iter().map(|agent| agent.name.chars().count()).max();
    let width = width.unwrap_or_default();
    let line = |agent: &&Moved| {
        format!(
            "  generosity   {:width$}  {} -> {}  trust {}",
            agent.name,
            bar(agent.generosity_before),
            bar(agent.generosity_after),
            bar(agent.trust)
        )
    };
    let more = agents.len().saturating_sub(MOST_AGENTS);
    let more = (more > 0).then(|| format!("               and {more} more agents"));
    agents
        .iter()
        .take(MOST_AGENTS)
        .map(line)
        .chain(more)
        .collect()
}

fn left(marks: &[Mark]) -> Vec<String> {
    if marks.is_empty() {
        return Vec::new();
    }
    let count = format!("  marks        {}", marks.len());
    let lines = marks.iter().flat_map(Mark::for_people);
    std::iter::once(count).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(name: &str, before: f64, after: f64) -> Moved {
        Moved {
            name: name.to_owned(),
            generosity_before: before,
            generosity_after: after,
            trust: 0.51,
        }
    }

    #[test]
    fn whoever_moved_most_is_told_first() {
        let agents = [moved("still", 0.5, 0.5), moved("giver", 0.5, 0.59)];

        let lines = generosity(&agents);

        assert_eq!(
            lines[0],
            "  generosity   giver  █████░░░░░ 0.50 -> ██████░░░░ 0.59  trust █████░░░░░ 0.51"
        );
        assert!(lines[1].contains("still"), "{lines:?}");
    }

    #[test]
    fn of_very_many_agents_a_few_are_shown() {
        let agents: Vec<Moved> = (0..20).map(|n| moved(&n.to_string(), 0.5, 0.5)).collect();

        let lines = generosity(&agents);

        assert_eq!(lines.len(), MOST_AGENTS + 1);
        assert!(lines[MOST_AGENTS].ends_with("and 8 more agents"));
    }

    #[test]
    fn a_service_that_is_absent_leaves_nothing_to_tell() {
        assert_eq!(kept::<()>(Err(Status::unimplemented(""))), None);
        assert_eq!(Commons::default().for_people(), Vec::<String>::new());
    }
}

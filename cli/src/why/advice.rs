//! Reasons in words, each with what would change it: the next command to type, where there is one. Asks nobody.

use std::collections::{BTreeMap, BTreeSet};

use cambium_proto::hypha::v1::{Reason, ReasonKind, RunState, TaskState};
use chrono::{DateTime, Utc};

use crate::json::word;
use crate::{clock, shell};

/// Upstream nodes that a hint asks about, at most.
const MOST_UPSTREAM: usize = 3;

/// Agents in quarantine that a hint would let out, at most.
const MOST_QUARANTINED: usize = 3;

/// What is known beside the reasons.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// The run, as it can be typed.
    pub(super) run: String,
    /// The global flags that belong behind each command.
    pub(super) flags: String,
    pub(super) state: RunState,
    /// The task that was asked about; unspecified for a run.
    pub(super) task: TaskState,
    pub(super) now: DateTime<Utc>,
    /// What nodes require, where that is known.
    pub(super) requires: BTreeMap<String, Vec<String>>,
    /// Tasks that failed or were cancelled, of a run that has ended.
    pub(super) undone: Vec<String>,
}

/// The state, then the reasons. A command that helps against several is told once.
pub(super) fn told(state: &str, reasons: &[Reason], facts: &Facts) -> String {
    let mut lines = vec![state.to_owned()];
    let mut known = BTreeSet::new();
    for reason in reasons {
        lines.push(format!("  {}", sentence(reason)));
        lines.extend(details(reason, facts).map(|detail| format!("    {detail}")));
        let commands = next(reason, facts).into_iter();
        let fresh = commands.filter(|command| known.insert(command.clone()));
        lines.extend(fresh.map(|command| format!("    next: {command}{}", facts.flags)));
    }
    lines.join("\n")
}

fn sentence(reason: &Reason) -> String {
    let kind = word(reason.kind().as_str_name(), "REASON_KIND_");
    let task = match reason.task.as_str() {
        "" => String::new(),
        task => format!("{task}: "),
    };
    format!("{task}{kind}: {}", reason.text)
}

/// Times and places.
fn details(reason: &Reason, facts: &Facts) -> impl Iterator<Item = String> {
    let until = reason
        .until
        .as_ref()
        .map(|until| clock::away(until, facts.now));
    let time = until.and_then(|away| match reason.kind() {
        ReasonKind::BackingOff => Some(format!("tried again {away}")),
        ReasonKind::Parked => Some(format!("goes on without the signal {away}")),
        ReasonKind::Quarantined => Some(format!("the first of them is let out {away}")),
        ReasonKind::Running => Some(format!("its lease ends {away} unless it is renewed")),
        ReasonKind::Queued | ReasonKind::AllBusy | ReasonKind::NoEligibleAgent => {
            Some(format!("its time to wait for an agent is over {away}"))
        }
        ReasonKind::Unspecified
        | ReasonKind::WaitingOnEdges
        | ReasonKind::WaitingOnMembers
        | ReasonKind::Condition
        | ReasonKind::Paused
        | ReasonKind::Cancelling
        | ReasonKind::Ended => None,
    });
    let place = (reason.kind() == ReasonKind::Queued)
        .then(|| format!("place {} in its queue", reason.place + 1));
    time.into_iter().chain(place)
}

/// The commands that would change it, the best one first.
fn next(reason: &Reason, facts: &Facts) -> Vec<String> {
    let run = &facts.run;
    match reason.kind() {
        ReasonKind::WaitingOnEdges => {
            let upstream = reason.subjects.iter().take(MOST_UPSTREAM);
            upstream
                .map(|node| format!("cambium why {run} {}", shell::word(node)))
                .collect()
        }
        ReasonKind::Condition => vec![format!("cambium why {run} {}", shell::word(&reason.task))],
        ReasonKind::Parked => {
            let signal = reason.subjects.first().map_or("NAME", String::as_str);
            vec![format!(
                "cambium signal {run} {} '{{}}'",
                shell::word(signal)
            )]
        }
        ReasonKind::Paused => vec![format!("cambium resume {run}")],
        ReasonKind::NoEligibleAgent => vec![
            format!("cambium enroll NAME{}", capabilities(reason, facts, true)),
            "cambium worker --agent NAME --exec CMD".to_owned(),
        ],
        ReasonKind::Quarantined => out_of_quarantine(reason),
        ReasonKind::AllBusy | ReasonKind::Queued => vec![format!(
            "cambium worker --agent NAME{} --exec CMD",
            capabilities(reason, facts, false)
        )],
        ReasonKind::Running | ReasonKind::WaitingOnMembers | ReasonKind::Cancelling => {
            vec![format!("cambium watch {run}")]
        }
        ReasonKind::Ended => after_the_end(reason, facts),
        ReasonKind::BackingOff | ReasonKind::Unspecified => Vec::new(),
    }
}

/// Why they are in there comes first: whoever lets an agent out should know.
fn out_of_quarantine(reason: &Reason) -> Vec<String> {
    let agents = reason.subjects.iter().take(MOST_QUARANTINED);
    let release = agents.map(|agent| {
        let agent = shell::word(agent);
        format!("cambium release {agent} --reason TEXT")
    });
    let look = "cambium quarantines".to_owned();
    std::iter::once(look).chain(release).collect()
}

/// What an agent must have for this task: all that it requires, or at least what the nearest agent lacks.
fn capabilities(reason: &Reason, facts: &Facts, needed: bool) -> String {
    let required = facts.requires.get(node(&reason.task));
    let known = required.filter(|all| !all.is_empty());
    let all = known.unwrap_or(&reason.subjects);
    if all.is_empty() && needed {
        return " --capability CAPABILITY".to_owned();
    }
    let flags = all
        .iter()
        .map(|name| format!(" --capability {}", shell::word(name)));
    flags.collect()
}

fn after_the_end(reason: &Reason, facts: &Facts) -> Vec<String> {
    let run = &facts.run;
    let has_ended = !matches!(
        facts.state,
        RunState::Unspecified | RunState::Running | RunState::Cancelling
    );
    let again = |nodes: &BTreeSet<String>| {
        let nodes = nodes
            .iter()
            .map(|node| format!(" --from {}", shell::word(node)));
        format!("cambium rerun {run}{}", nodes.collect::<String>())
    };
    match facts.task {
        _ if !has_ended => vec![format!("cambium watch {run}")],
        TaskState::Succeeded | TaskState::Failed | TaskState::Cancelled => {
            vec![again(&BTreeSet::from([node(&reason.task).to_owned()]))]
        }
        TaskState::Unspecified if !facts.undone.is_empty() => {
            let nodes = facts.undone.iter().map(|key| node(key).to_owned());
            vec![again(&nodes.collect())]
        }
        _ => vec![format!("cambium run-show {run}")],
    }
}

/// The node of a fan-out's member.
fn node(task: &str) -> &str {
    task.split_once('[').map_or(task, |(node, _)| node)
}

#[cfg(test)]
mod tests;

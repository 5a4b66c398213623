//! Why a task ended as it did.

use cambium_hypha::EndState;
use cambium_hypha::graph::Node;
use cambium_proto::hypha::v1::{Reason, ReasonKind};
use sqlx::PgConnection;

use super::words::{Who, counted, moment, quoted, reason, series_of};
use super::{Case, omitted};
use crate::engine::edges::edge_outcomes;
use crate::engine::losers::NOT_NEEDED;
use crate::engine::op::EdgeOutcome;
use crate::engine::plan::{BUDGET, CANCELLED, CANCELLING, end_state};
use crate::error::Error;
use crate::store;
use crate::store::engine::TaskKey;
use crate::store::task::End;

/// Members and edges that one answer names.
pub(super) const NAMED: i64 = 5;
/// Failed nodes among which the one that ended the run is looked for.
const CULPRITS: i64 = 50;

/// A sentence, and what it is about.
pub(super) struct Told {
    pub(super) text: String,
    pub(super) subjects: Vec<String>,
}

impl From<String> for Told {
    fn from(text: String) -> Self {
        Self {
            text,
            subjects: Vec::new(),
        }
    }
}

/// Why one task ended, or the first of many that failed alike.
pub(super) async fn explain(
    conn: &mut PgConnection,
    case: &Case,
    end: &End,
    who: Who,
) -> Result<Reason, Error> {
    let node = &case.info.graph().nodes()[end.task.n as usize];
    let told = match end_state(end.state) {
        Some(EndState::Succeeded) => succeeded(conn, end).await?,
        Some(EndState::Failed) => failed(conn, case, node, end, who).await?,
        Some(EndState::Skipped) => skipped(node, end).into(),
        Some(EndState::Omitted) => omitted::explain(conn, case, node, end.task).await?,
        Some(EndState::Cancelled) => cancelled(conn, case, end).await?,
        None => String::new().into(),
    };
    let text = match case
        .standing
        .rerun_of
        .filter(|_| case.info.is_reused(end.task.n))
    {
        Some(from) => format!(
            "it was taken over from run {from} and not done again; there {}",
            told.text
        ),
        None => told.text,
    };
    let mut why = reason(ReasonKind::Ended, &case.name(end.task), text);
    why.subjects = told.subjects;
    Ok(why)
}

async fn succeeded(conn: &mut PgConnection, end: &End) -> Result<Told, Error> {
    let at = moment(end.at);
    let Some(agent) = end.agent else {
        return Ok(format!("it succeeded at {at}: all of its members did").into());
    };
    let names = store::agent::find(conn, &[agent]).await?;
    let name = names
        .first()
        .map_or_else(|| agent.to_string(), |one| one.name.clone());
    Ok(format!("it succeeded at {at}, done by agent `{name}`").into())
}

async fn failed(
    conn: &mut PgConnection,
    case: &Case,
    node: &Node,
    end: &End,
    who: Who,
) -> Result<Told, Error> {
    let then = consequence(case, end.task);
    let Some(code) = &end.code else {
        let failed = store::why::failed_members(conn, end.task, NAMED).await?;
        let fan = store::why::fan(conn, end.task.run, end.task.n).await?;
        let (all, total) = fan.map_or((0, 0), |fan| (fan.failed, fan.total));
        let members = failed
            .iter()
            .map(|i| case.name(TaskKey { i: *i, ..end.task }));
        let subjects: Vec<String> = members.collect();
        let named: Vec<String> = subjects.iter().map(|name| quoted(name)).collect();
        let named = series_of(&named, all as usize);
        let of = counted(total, "member");
        let text = format!("it failed, since {all} of its {of} did: {named}; {then}");
        return Ok(Told { text, subjects });
    };
    let first = who.does("failed", "failed");
    let detail = end.detail.as_deref().filter(|detail| !detail.is_empty());
    let detail = detail.map_or_else(String::new, |detail| format!(" ({detail})"));
    let attempts = if who.is_one() {
        attempts(node, end)
    } else {
        String::new()
    };
    let text = format!("{first} with {code}{detail}{attempts}; {then}");
    Ok(Told {
        text,
        subjects: vec![code.clone()],
    })
}

fn attempts(node: &Node, end: &End) -> String {
    let most = node.retry.max_attempts;
    match u32::try_from(end.failures).unwrap_or(0) {
        0 => String::new(),
        used if used < most => {
            format!(" in attempt {used} of {most}, and such a failure is not tried again")
        }
        used => format!(" after {used} of {most} attempts"),
    }
}

/// What a failure does to the run.
fn consequence(case: &Case, task: TaskKey) -> &'static str {
    if task.i > 0 {
        "so the fan-out it belongs to fails"
    } else if is_handled(case, task.n) {
        "an edge leads on from that"
    } else {
        "no edge leads on from that, so the run fails: once it has ended, RerunFrom does this again"
    }
}

fn is_handled(case: &Case, n: u32) -> bool {
    let outcomes = edge_outcomes(&case.info, n, EndState::Failed, None);
    outcomes.contains(&EdgeOutcome::Fired)
}

/// The first failure that nothing handled, with its code.
pub(super) async fn culprit(
    conn: &mut PgConnection,
    case: &Case,
) -> Result<Option<(String, String)>, Error> {
    let run = case.info.run;
    let failed = store::why::failed_nodes(conn, run, CULPRITS).await?;
    let first = failed.into_iter().find(|(n, _)| !is_handled(case, *n));
    Ok(first.map(|(n, code)| {
        let code = code.unwrap_or_else(|| "members failed".to_owned());
        (case.name(TaskKey { run, n, i: 0 }), code)
    }))
}

/// An empty list is noted; without a note it was the condition, where there is one.
fn skipped(node: &Node, end: &End) -> String {
    match (&node.fan_out, &node.when) {
        (Some(path), when) if end.detail.is_some() || when.is_none() => {
            format!("it was skipped, since the list `{path}` that it fans out over was empty")
        }
        (_, Some(condition)) => {
            let condition = condition.source();
            format!("it was skipped, since its condition `{condition}` was false")
        }
        (_, None) => "it was skipped".to_owned(),
    }
}

async fn cancelled(conn: &mut PgConnection, case: &Case, end: &End) -> Result<Told, Error> {
    let told = match end.code.as_deref() {
        None => "it was cancelled with its members".to_owned().into(),
        Some(NOT_NEEDED) => not_needed(case, end.task),
        Some("RUN_CANCELLED") => "it was cancelled with the run before it could start"
            .to_owned()
            .into(),
        Some(BUDGET) => {
            "it was cancelled before it could start, since its turn has cost as much as it may"
                .to_owned()
                .into()
        }
        Some("FAIL_FAST") => {
            with_culprit(conn, case, "it was cancelled before it could start").await?
        }
        Some("REVOKED") => {
            let told = "it was told to stop, and revoked when its grace was over";
            because_of_the_run(conn, case, told).await?
        }
        Some("RUN_CLOSED") => {
            let told = "its attempt was given up when nothing new could start";
            because_of_the_run(conn, case, told).await?
        }
        Some(code) => {
            let told = format!("its attempt failed with {code} and was not tried again");
            because_of_the_run(conn, case, &told).await?
        }
    };
    Ok(told)
}

/// A run that closes has one reason for all that it cuts short.
async fn because_of_the_run(
    conn: &mut PgConnection,
    case: &Case,
    told: &str,
) -> Result<Told, Error> {
    match case.standing.state {
        CANCELLING | CANCELLED => Ok(format!("{told}, since the run was cancelled").into()),
        _ => with_culprit(conn, case, told).await,
    }
}

async fn with_culprit(conn: &mut PgConnection, case: &Case, told: &str) -> Result<Told, Error> {
    Ok(match culprit(conn, case).await? {
        Some((name, code)) => Told {
            text: format!("{told}, since `{name}` failed ({code}) and the run fails fast"),
            subjects: vec![name],
        },
        None => format!("{told}, since the run fails fast").into(),
    })
}

/// The joins behind it that cancel their losers.
fn not_needed(case: &Case, task: TaskKey) -> Told {
    let graph = case.info.graph();
    let behind = graph
        .outgoing(task.n)
        .iter()
        .map(|e| graph.edges()[*e as usize].to);
    let joins = behind.filter(|n| graph.nodes()[*n as usize].cancel_losers);
    let subjects: Vec<String> = joins
        .map(|n| case.name(TaskKey { n, i: 0, ..task }))
        .collect();
    let text = match subjects.first() {
        Some(join) => format!("it was cancelled, since `{join}` was decided without it"),
        None => "it was cancelled, since no node waited for its output any more".to_owned(),
    };
    Told { text, subjects }
}

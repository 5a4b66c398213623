//! Why a task that is ready, leased or waiting for a moment is not further on.

use cambium_hypha::Join;
use cambium_proto::hypha::v1::{Reason, ReasonKind};
use sqlx::PgConnection;

use super::Case;
use super::ready;
use super::words::{Who, moment, quoted, reason, series};
use crate::convert;
use crate::engine::plan::hot;
use crate::error::Error;
use crate::store::engine::TaskKey;
use crate::store::why::Hot;

/// The reasons of one task, or of the first of many that are alike.
pub(super) async fn explain(
    conn: &mut PgConnection,
    case: &Case,
    task: TaskKey,
    row: &Hot,
    who: Who,
) -> Result<Vec<Reason>, Error> {
    let name = case.name(task);
    let mut why = match row.state {
        hot::READY => return ready::explain(conn, case, task, &name, who).await,
        hot::LEASED => leased(case, task, row, &name, who),
        hot::BACKING_OFF => backing_off(case, task, row, &name, who),
        hot::PARKED => parked(row, &name, who),
        hot::HELD => held(&name, who),
        _ => deciding(case, task, &name, who),
    };
    if matches!(row.state, hot::LEASED | hot::BACKING_OFF | hot::PARKED) && why.until.is_none() {
        why.until = row.until.map(convert::time_to_wire);
    }
    Ok(vec![why])
}

/// Where it runs, and until when, or until when it may go on though it was told to stop.
fn leased(case: &Case, task: TaskKey, row: &Hot, name: &str, who: Who) -> Reason {
    let agent = row.agent.as_deref().unwrap_or("an agent");
    let worker = row.worker.as_deref().unwrap_or("unknown");
    let attempt = i64::from(row.failures) + 1;
    let of = case.info.graph().nodes()[task.n as usize]
        .retry
        .max_attempts;
    let place = if who.is_one() {
        format!("it runs at agent `{agent}` of worker `{worker}`, in attempt {attempt} of {of}")
    } else {
        let all = who.does("runs", "run");
        format!("{all} at worker `{worker}`")
    };
    let told = case
        .closing()
        .or_else(|| row.stop.then_some("no node waits for its output any more"));
    if let Some(told) = told {
        let end = row.deadline.map_or_else(String::new, |at| {
            let at = moment(at);
            format!(": unless it has stopped before, it is revoked at {at}")
        });
        let text = format!("{place}, but was told to stop, because {told}{end}");
        let mut why = reason(ReasonKind::Cancelling, name, text);
        why.until = row.deadline.map(convert::time_to_wire);
        return why;
    }
    let lease = row.until.map_or_else(String::new, |at| {
        let at = moment(at);
        format!(": its lease lasts until {at}, and each heartbeat of the worker renews it")
    });
    let mut why = reason(ReasonKind::Running, name, format!("{place}{lease}"));
    why.subjects = row.worker.iter().cloned().collect();
    why
}

fn backing_off(case: &Case, task: TaskKey, row: &Hot, name: &str, who: Who) -> Reason {
    let failures = row.failures;
    let most = case.info.graph().nodes()[task.n as usize]
        .retry
        .max_attempts;
    let code = row.code.as_deref().unwrap_or("no code");
    let first = if who.is_one() {
        format!("it has failed {failures} of at most {most} times")
    } else {
        let all = who.does("has", "have");
        format!("{all} failed; the first {failures} of at most {most} times")
    };
    let at = row
        .until
        .map_or_else(|| "later".to_owned(), |at| format!("at {}", moment(at)));
    let text = format!("{first}, last with {code}, and is tried again {at}");
    let mut why = reason(ReasonKind::BackingOff, name, text);
    why.subjects = row.code.iter().cloned().collect();
    why
}

fn parked(row: &Hot, name: &str, who: Who) -> Reason {
    let signal = row.signal.clone().unwrap_or_default();
    let parked = who.does("has parked", "have parked");
    let until = row.until.map_or_else(String::new, |at| {
        format!(", or goes on without it at {}", moment(at))
    });
    let text =
        format!("{parked} until the signal `{signal}` arrives{until}: send it with SignalRun");
    let mut why = reason(ReasonKind::Parked, name, text);
    why.subjects = vec![signal];
    why
}

fn held(name: &str, who: Who) -> Reason {
    let ready = who.does("is ready", "are ready");
    let text = format!("{ready}, but the run is paused: resume it with ResumeRun");
    reason(ReasonKind::Paused, name, text)
}

fn deciding(case: &Case, task: TaskKey, name: &str, who: Who) -> Reason {
    let node = &case.info.graph().nodes()[task.n as usize];
    let mut parts = Vec::new();
    if let Join::Expr(condition) = &node.join {
        parts.push(format!(
            "its join expression {}",
            quoted(condition.source())
        ));
    }
    if let Some(condition) = &node.when {
        parts.push(format!("its condition {}", quoted(condition.source())));
    }
    if let Some(path) = &node.fan_out {
        parts.push(format!(
            "the list {path} that it fans out over",
            path = quoted(&path.to_string())
        ));
    }
    let others = if who.is_one() {
        String::new()
    } else {
        format!("; so are those of {} more tasks", who.0 - 1)
    };
    let is = if parts.len() == 1 { "is" } else { "are" };
    let text = format!(
        "{} {is} being evaluated, which takes a moment{others}",
        series(&parts)
    );
    reason(ReasonKind::Condition, name, text)
}

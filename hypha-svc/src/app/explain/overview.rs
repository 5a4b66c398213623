//! Where a run stands as a whole: how many tasks are where, and the reasons that matter most, one for many tasks alike.

use cambium_proto::hypha::v1::{ExplainRunResponse, Reason, ReasonKind};
use sqlx::PgConnection;

use super::words::{Who, moment, reason, series};
use super::{Case, ended, open};
use crate::convert;
use crate::engine::plan::{CANCELLED, CANCELLING, FAILED, hot};
use crate::error::Error;
use crate::store;
use crate::store::run::Full;

/// Reasons that one answer lists, at most.
const MOST: usize = 20;
/// Groups of tasks that are looked at.
const GROUPS: i64 = 40;

/// A reason, and for how many tasks it speaks.
struct Weighed {
    why: Reason,
    tasks: i64,
}

pub(super) async fn explain(
    conn: &mut PgConnection,
    case: &Case,
    run: &Full,
) -> Result<ExplainRunResponse, Error> {
    let states = store::why::states(conn, run.run, None).await?;
    let mut reasons = of_the_run(conn, case, run, &states).await?;
    reasons.extend(failures(conn, case).await?);
    reasons.extend(under_way(conn, case).await?);
    reasons.sort_by_key(|one| rank(&one.why));
    let concerned = states.iter().map(|(_, tasks)| tasks).sum::<i64>() + i64::from(run.failed);
    reasons.truncate(MOST);
    let told: i64 = reasons.iter().map(|one| one.tasks).sum();
    Ok(ExplainRunResponse {
        state: convert::run::state_to_wire(run.state).into(),
        summary: summary(run, &states),
        more: (concerned - told).max(0),
        reasons: reasons.into_iter().map(|one| one.why).collect(),
    })
}

/// What concerns the whole run: its end, or why it does not go on.
async fn of_the_run(
    conn: &mut PgConnection,
    case: &Case,
    run: &Full,
    states: &[(i16, i64)],
) -> Result<Vec<Weighed>, Error> {
    let mut reasons = Vec::new();
    let mut add = |why: Reason, tasks| reasons.push(Weighed { why, tasks });
    if run.state > CANCELLING {
        let text = end_of(conn, case, run).await?;
        add(reason(ReasonKind::Ended, "", text), 0);
    } else if let Some(closing) = case.closing() {
        let last = store::why::last_deadline(conn, run.run).await?;
        let at = last.map_or_else(String::new, |at| {
            format!(", at {} at the latest", moment(at))
        });
        let because = because(conn, case).await?;
        let text = format!(
            "{closing}{because}: it ends when what runs has stopped or its grace is over{at}"
        );
        let mut why = reason(ReasonKind::Cancelling, "", text);
        why.until = last.map(convert::time_to_wire);
        add(why, 0);
    }
    if run.paused && run.state <= CANCELLING {
        let held = count(states, hot::HELD);
        let waiting = match held {
            0 => "no task is ready meanwhile".to_owned(),
            1 => "1 task is ready meanwhile".to_owned(),
            _ => format!("{held} tasks are ready meanwhile"),
        };
        let text = format!("the run is paused, and {waiting}: resume it with ResumeRun");
        add(reason(ReasonKind::Paused, "", text), held);
    }
    Ok(reasons)
}

async fn because(conn: &mut PgConnection, case: &Case) -> Result<String, Error> {
    if !case.standing.failing {
        return Ok(String::new());
    }
    let culprit = ended::culprit(conn, case).await?;
    Ok(culprit.map_or_else(String::new, |(name, code)| {
        format!(", since `{name}` failed ({code})")
    }))
}

async fn end_of(conn: &mut PgConnection, case: &Case, run: &Full) -> Result<String, Error> {
    Ok(match run.state {
        FAILED => {
            let culprit = ended::culprit(conn, case).await?;
            let first = culprit.map_or_else(String::new, |(name, code)| {
                format!(": `{name}` failed ({code}), and no edge led on from that")
            });
            format!("the run has failed{first}; RerunFrom does what is missing again")
        }
        CANCELLED => "the run was cancelled; RerunFrom does what is missing again".to_owned(),
        _ => "the run has succeeded".to_owned(),
    })
}

async fn failures(conn: &mut PgConnection, case: &Case) -> Result<Vec<Weighed>, Error> {
    let mut reasons = Vec::new();
    for alike in store::why::failures(conn, case.info.run, GROUPS).await? {
        if let Some(end) = store::task::end(conn, alike.first).await? {
            reasons.push(Weighed {
                why: ended::explain(conn, case, &end, Who(alike.tasks)).await?,
                tasks: alike.tasks,
            });
        }
    }
    Ok(reasons)
}

/// What is ready, leased or waiting for a moment. What a pause holds, the run's own reason speaks for.
async fn under_way(conn: &mut PgConnection, case: &Case) -> Result<Vec<Weighed>, Error> {
    let mut reasons = Vec::new();
    for alike in store::why::alike(conn, case.info.run, GROUPS).await? {
        let Some(row) = store::why::hot(conn, alike.first).await? else {
            continue;
        };
        if row.state == hot::HELD {
            continue;
        }
        let of_first = open::explain(conn, case, alike.first, &row, Who(alike.tasks)).await?;
        // The first says what is wrong; how far back in the queue it stands is for whoever asks about the task.
        let first = of_first.into_iter().next();
        reasons.extend(first.map(|why| Weighed {
            why,
            tasks: alike.tasks,
        }));
    }
    Ok(reasons)
}

/// What matters most stands first: what has gone wrong, what waits for a person, what waits for a worker, what goes on.
fn rank(why: &Reason) -> u8 {
    let is_of_the_run = why.task.is_empty();
    match why.kind() {
        ReasonKind::Ended | ReasonKind::Cancelling if is_of_the_run => 0,
        ReasonKind::Ended => 1,
        ReasonKind::NoEligibleAgent | ReasonKind::Quarantined => 2,
        ReasonKind::Parked => 3,
        ReasonKind::Paused => 4,
        ReasonKind::AllBusy => 5,
        ReasonKind::Queued => 6,
        ReasonKind::BackingOff => 7,
        ReasonKind::Cancelling | ReasonKind::Running => 8,
        ReasonKind::Condition
        | ReasonKind::WaitingOnEdges
        | ReasonKind::WaitingOnMembers
        | ReasonKind::Unspecified => 9,
    }
}

fn count(states: &[(i16, i64)], state: i16) -> i64 {
    let found = states.iter().find(|(one, _)| *one == state);
    found.map_or(0, |(_, tasks)| *tasks)
}

/// How many tasks stand where.
fn summary(run: &Full, states: &[(i16, i64)]) -> String {
    let by_end = [
        (run.succeeded, "succeeded"),
        (run.failed, "failed"),
        (run.skipped, "skipped"),
        (run.omitted, "omitted"),
        (run.cancelled, "cancelled"),
    ];
    let ended: i64 = by_end.iter().map(|(tasks, _)| i64::from(*tasks)).sum();
    let deciding = count(states, hot::DECIDING);
    let hot: i64 = states.iter().map(|(_, tasks)| tasks).sum();
    let open = [
        (count(states, hot::LEASED), "running"),
        (
            count(states, hot::READY) + count(states, hot::HELD),
            "ready",
        ),
        (count(states, hot::BACKING_OFF), "backing off"),
        (count(states, hot::PARKED), "parked"),
        (i64::from(run.total) - ended - (hot - deciding), "waiting"),
    ];
    let mut text = format!("{ended} of {} tasks have ended", run.total);
    let ends = by_end.map(|(tasks, word)| (i64::from(tasks), word));
    text += &told(": ", &ends);
    if run.reused > 0 {
        text += &format!(
            " ({} taken over from the run that this one repeats)",
            run.reused
        );
    }
    text + &told("; ", &open)
}

fn told(before: &str, counts: &[(i64, &str)]) -> String {
    let some = counts.iter().filter(|(tasks, _)| *tasks > 0);
    let parts: Vec<String> = some
        .map(|(tasks, word)| format!("{tasks} {word}"))
        .collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("{before}{}", series(&parts))
    }
}

//! Why a ready task has not been taken: nobody can do it, nobody is there who could, or others come first.

use cambium_hypha::Mind;
use cambium_proto::hypha::v1::{Reason, ReasonKind};
use sqlx::PgConnection;

use super::Case;
use super::words::{Who, counted, quoted, reason, series_of};
use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::able::{Able, Nearest, Worker};
use crate::store::engine::TaskKey;
use crate::store::spawn::{Came, Refusal};

/// Agents and workers that one answer names.
const NAMED: usize = 5;
/// Workers that are looked at.
const WORKERS: i64 = 20;

pub(super) async fn explain(
    conn: &mut PgConnection,
    case: &Case,
    task: TaskKey,
    name: &str,
    who: Who,
) -> Result<Vec<Reason>, Error> {
    let workspace = &case.info.workspace;
    let node = &case.info.graph().nodes()[task.n as usize];
    let needs = convert::graph::requires(node);
    let mind = case.info.pinned.mind.as_ref().map_or("", Mind::as_str);
    let agents = store::able::agents(conn, workspace, &needs, mind, WORKERS).await?;
    if agents.is_empty() {
        let nearest = store::able::nearest(conn, workspace, &needs, mind).await?;
        let why = nobody(name, who, needs, nearest);
        return Ok(vec![asked(conn, task, why).await?]);
    }
    if agents.iter().all(|agent| agent.quarantined) {
        let why = quarantined(name, who, &agents);
        return Ok(vec![asked(conn, task, why).await?]);
    }
    let workers = store::able::workers(conn, workspace, &needs, mind, WORKERS).await?;
    if workers.is_empty() {
        return Ok(vec![unmanned(name, who, &agents)]);
    }
    let place = store::hot::place(conn, task).await?;
    let queue = case.info.pinned.queues[task.n as usize];
    let is_awaited = case.engine.offers.serves(queue);
    let mut reasons = Vec::new();
    if !is_awaited {
        reasons.push(busy(name, who, &workers, place));
    }
    if is_awaited || place > 0 {
        reasons.push(queued(name, who, place, is_awaited));
    }
    Ok(reasons)
}

/// No agent has all that is needed.
fn nobody(name: &str, who: Who, needs: Vec<String>, nearest: Option<Nearest>) -> Reason {
    let (lack, missing) = match nearest {
        None => {
            let lack = "the workspace has no agent: enrol one and run a worker for it";
            (lack.to_owned(), needs)
        }
        Some(nearest) => {
            let missing: Vec<String> = nearest.missing.iter().map(|one| quoted(one)).collect();
            let lack = format!(
                "no agent has all that is needed; `{}` comes nearest and lacks {}: \
                 enrol an agent that has it and run a worker for it",
                nearest.name,
                series_of(&missing, missing.len())
            );
            (lack, nearest.missing)
        }
    };
    let ready = who.does("is ready", "are ready");
    let mut why = reason(
        ReasonKind::NoEligibleAgent,
        name,
        format!("{ready}, but {lack}"),
    );
    why.subjects = missing;
    why
}

/// Adds what came of asking genesis for an agent, if the graph allows that.
async fn asked(conn: &mut PgConnection, task: TaskKey, mut why: Reason) -> Result<Reason, Error> {
    if let Some(came) = store::spawn::of(conn, task.run, task.n).await? {
        why.text.push_str(&asked_for(&came));
    }
    Ok(why)
}

fn asked_for(came: &Came) -> String {
    match came {
        Came::Agent(agent) => format!("; agent {agent} was spawned for it: run a worker for it"),
        Came::NotYet => {
            "; an agent will be spawned for it soon, if a template offers one".to_owned()
        }
        Came::Refused(Refusal { code, detail }) => {
            format!("; no agent was spawned for it ({code}): {detail}")
        }
    }
}

/// Whoever could do it is in quarantine.
fn quarantined(name: &str, who: Who, agents: &[Able]) -> Reason {
    let named: Vec<String> = named(agents);
    let ready = who.does("is ready", "are ready");
    let are = if agents.len() == 1 { "is" } else { "are" };
    let text = format!(
        "{ready}, but {} that could do it {are} in quarantine: wait for its end, release one, or enrol another agent",
        series_of(&named, agents.len())
    );
    let mut why = reason(ReasonKind::Quarantined, name, text);
    why.subjects = agents.iter().map(|one| one.name.clone()).collect();
    let first = agents.iter().filter_map(|one| one.quarantine_until).min();
    why.until = first.map(convert::time_to_wire);
    why
}

fn named(agents: &[Able]) -> Vec<String> {
    let named = agents.iter().take(NAMED);
    named.map(|one| quoted(&one.name)).collect()
}

/// There are agents, but nobody runs them.
fn unmanned(name: &str, who: Who, agents: &[Able]) -> Reason {
    let named: Vec<String> = named(agents);
    let named = series_of(&named, agents.len());
    let ready = who.does("is ready", "are ready");
    let text = format!(
        "{ready}, and {named} could do it, but no worker is registered for them: start one"
    );
    reason(ReasonKind::NoEligibleAgent, name, text)
}

/// Whoever could do it has no slot free, or does not ask.
fn busy(name: &str, who: Who, workers: &[Worker], place: i64) -> Reason {
    let named: Vec<String> = workers
        .iter()
        .take(NAMED)
        .map(|worker| {
            let slots = counted(worker.slots, "slot");
            format!("`{}` holds {} of {slots}", worker.name, worker.busy)
        })
        .collect();
    let named = series_of(&named, workers.len());
    let ready = who.does("is ready", "are ready");
    let text = if workers.iter().all(Worker::is_full) {
        format!(
            "{ready}, but every worker that could do it is busy ({named}): \
             wait for a free slot, or run another worker"
        )
    } else {
        format!(
            "{ready}, but no worker that could do it asks for work here ({named}): \
             see that they run, or run another"
        )
    };
    let mut why = reason(ReasonKind::AllBusy, name, text);
    why.subjects = workers
        .iter()
        .take(NAMED)
        .map(|one| one.name.clone())
        .collect();
    why.place = place;
    why
}

fn queued(name: &str, who: Who, place: i64, is_awaited: bool) -> Reason {
    let ready = who.does("is ready", "are ready");
    let before = match place {
        0 => "nothing is".to_owned(),
        1 => "1 task with the same needs is".to_owned(),
        1_000.. => "1,000 tasks or more with the same needs are".to_owned(),
        _ => format!("{place} tasks with the same needs are"),
    };
    let then = if is_awaited {
        ", and a worker that can do it waits for work: it is about to start"
    } else {
        ""
    };
    let text = format!("{ready}; {before} served before it{then}");
    let mut why = reason(ReasonKind::Queued, name, text);
    why.place = place;
    why
}

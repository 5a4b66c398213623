//! Which edges died, so that a node could no longer run.

use std::collections::HashMap;

use bytes::Bytes;
use cambium_hypha::graph::Node;
use cambium_hypha::{EndState, Join};
use cambium_kernel::RunId;
use sqlx::PgConnection;

use super::Case;
use super::ended::{NAMED, Told};
use super::words::{quoted, series, series_of};
use crate::app::attempt::gather;
use crate::engine::edges::edge_outcomes;
use crate::engine::op::EdgeOutcome;
use crate::engine::plan::{end_state, stored, task_state};
use crate::error::Error;
use crate::store;
use crate::store::engine::TaskKey;
use crate::store::why::Watched;

/// The lowest end state as the store numbers it: bit 0 of a mask.
const FIRST: i16 = 6;

pub(super) async fn explain(
    conn: &mut PgConnection,
    case: &Case,
    node: &Node,
    task: TaskKey,
) -> Result<Told, Error> {
    if let Join::Expr(condition) = &node.join {
        return by_expression(conn, case, task, condition.source()).await;
    }
    let mut dead = by_state(conn, case, task).await?;
    if i64::try_from(dead.len()).is_ok_and(|length| length < NAMED) {
        dead.extend(by_condition(conn, case, task).await?);
    }
    let rule = match &node.join {
        Join::All => "one of its edges could not fire".to_owned(),
        Join::Quorum(needed) => format!("fewer than {needed} of its edges could fire"),
        Join::Any | Join::Settled | Join::Expr(_) => "none of its edges fired".to_owned(),
    };
    let parts: Vec<String> = dead.iter().map(|(_, part)| part.clone()).collect();
    Ok(Told {
        text: format!("it was omitted, since {rule}: {}", series(&parts)),
        subjects: dead.into_iter().map(|(name, _)| name).collect(),
    })
}

/// The end states that a join's expression looked at.
async fn by_expression(
    conn: &mut PgConnection,
    case: &Case,
    task: TaskKey,
    source: &str,
) -> Result<Told, Error> {
    let upstream: Vec<u32> = watched(case, task.n).map(|edge| edge.from).collect();
    let total = upstream.len();
    let most = usize::try_from(NAMED).unwrap_or(usize::MAX);
    let asked: Vec<u32> = upstream.into_iter().take(most).collect();
    let states = store::task::states(conn, task.run, &asked).await?;
    let ended = states.into_iter().filter_map(|(n, state)| {
        let name = case.name(TaskKey { n, ..task });
        Some((name, end_state(state)?))
    });
    let (subjects, named): (Vec<String>, Vec<String>) = ended
        .map(|(name, state)| {
            let told = format!("{}, which {}", quoted(&name), ended_as(state));
            (name, told)
        })
        .unzip();
    let over = series_of(&named, total);
    Ok(Told {
        text: format!(
            "it was omitted, since its join expression `{source}` did not hold over {over}"
        ),
        subjects,
    })
}

/// The edges into a node, with what they fire on.
fn watched(case: &Case, n: u32) -> impl Iterator<Item = Watched> {
    let graph = case.info.graph();
    graph.incoming(n).iter().map(|at| {
        let edge = &graph.edges()[*at as usize];
        let bits = edge.on.iter().map(bit);
        Watched {
            edge: *at,
            from: edge.from,
            fires_on: bits.sum(),
        }
    })
}

fn bit(state: EndState) -> i32 {
    1 << (stored(task_state(state)) - FIRST)
}

/// Edges whose upstream node ended as something that does not fire them.
async fn by_state(
    conn: &mut PgConnection,
    case: &Case,
    task: TaskKey,
) -> Result<Vec<(String, String)>, Error> {
    let edges: Vec<Watched> = watched(case, task.n).collect();
    let dead = store::why::dead(conn, task.run, &edges, NAMED).await?;
    let graph = case.info.graph();
    let told = dead.into_iter().filter_map(|(at, state)| {
        let edge = &graph.edges()[at as usize];
        let name = case.name(TaskKey {
            n: edge.from,
            ..task
        });
        let on: Vec<String> = edge.on.iter().map(|state| state.to_string()).collect();
        let told = format!(
            "{} {}, and the edge from it fires on {}",
            quoted(&name),
            ended_as(end_state(state)?),
            on.join(" or ")
        );
        Some((name, told))
    });
    Ok(told.collect())
}

fn ended_as(state: EndState) -> String {
    match state {
        EndState::Succeeded | EndState::Failed => state.to_string(),
        EndState::Skipped | EndState::Omitted | EndState::Cancelled => format!("was {state}"),
    }
}

/// Edges whose own condition was false. Asked again of the stored outputs, since nobody wrote the answers down.
async fn by_condition(
    conn: &mut PgConnection,
    case: &Case,
    task: TaskKey,
) -> Result<Vec<(String, String)>, Error> {
    let graph = case.info.graph();
    let most = usize::try_from(NAMED).unwrap_or(usize::MAX);
    let conditional: Vec<u32> = graph
        .incoming(task.n)
        .iter()
        .copied()
        .filter(|at| graph.edges()[*at as usize].when.is_some())
        .take(most)
        .collect();
    let mut told = Vec::new();
    for at in conditional {
        let edge = &graph.edges()[at as usize];
        let Some(state) = ended(conn, task.run, edge.from).await? else {
            continue;
        };
        let output = output(conn, task.run, edge.from).await?;
        let outcomes = edge_outcomes(&case.info, edge.from, state, output.as_deref());
        let outgoing = graph.outgoing(edge.from).iter().copied();
        let outcomes: HashMap<u32, EdgeOutcome> = outgoing.zip(outcomes).collect();
        let is_dead = outcomes.get(&at) == Some(&EdgeOutcome::Dead);
        if let (true, true, Some(when)) = (is_dead, edge.on.contains(state), &edge.when) {
            let name = case.name(TaskKey {
                n: edge.from,
                ..task
            });
            let part = format!(
                "the condition `{}` on the edge from {} was false",
                when.source(),
                quoted(&name)
            );
            told.push((name, part));
        }
    }
    Ok(told)
}

async fn ended(conn: &mut PgConnection, run: RunId, n: u32) -> Result<Option<EndState>, Error> {
    let states = store::task::states(conn, run, &[n]).await?;
    Ok(states.first().and_then(|(_, state)| end_state(*state)))
}

async fn output(conn: &mut PgConnection, run: RunId, n: u32) -> Result<Option<Bytes>, Error> {
    let rows = store::task::outputs(conn, &[(run, n)]).await?;
    Ok(gather(
        rows.into_iter().map(|(task, output)| (task.i, output)),
    ))
}

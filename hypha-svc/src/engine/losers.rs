//! Losers of a join: upstream tasks whose output no node waits for any more, once a join with `cancel_losers` is decided
//! (design: hypha, section 2).
//!
//! A task still matters if it is a sink, for whoever asked for the run, or if any node behind it is undecided and matters
//! itself. Refuses to guess: what has not been read from the store is read.

use std::collections::{BTreeMap, BTreeSet};

use cambium_hypha::{EndState, Graph};
use cambium_kernel::RunId;
use cambium_proto::hypha::v1::RunEventKind;
use sqlx::PgConnection;

use super::plan::{Carried, Ending, Plan};
use crate::store;
use crate::store::engine::TaskKey;
use crate::store::event::Transition;
use crate::store::tally::Delta;

/// Why a loser ends.
pub(crate) const NOT_NEEDED: &str = "NOT_NEEDED";

/// How far a node has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    /// Its join is decided.
    Begun,
    Ended,
}

/// Cancels the losers of the joins that this transaction decided. Answers whether there were such joins: what ended then
/// has edges to follow.
pub(crate) async fn cancel(
    conn: &mut PgConnection,
    plan: &mut Plan,
    grace_ms: i64,
) -> Result<bool, sqlx::Error> {
    let decided: Vec<(RunId, Vec<u32>)> = plan
        .runs
        .iter_mut()
        .filter(|(_, run)| !run.decided.is_empty())
        .map(|(id, run)| (*id, std::mem::take(&mut run.decided)))
        .collect();
    for (run, nodes) in &decided {
        let closed = plan
            .runs
            .get(run)
            .is_none_or(super::plan::RunPlan::is_closed);
        if !closed {
            cancel_in(conn, plan, *run, nodes, grace_ms).await?;
        }
    }
    Ok(!decided.is_empty())
}

async fn cancel_in(
    conn: &mut PgConnection,
    plan: &mut Plan,
    run: RunId,
    decided: &[u32],
    grace_ms: i64,
) -> Result<(), sqlx::Error> {
    let losers = find(conn, plan, run, decided).await?;
    let nodes: Vec<u32> = losers.keys().copied().collect();
    if nodes.is_empty() {
        return Ok(());
    }
    for (task, epoch) in store::hot::stop_leased(conn, run, &nodes, grace_ms).await? {
        if let Some(run) = plan.run(run) {
            let kind = RunEventKind::TaskStopRequested.into();
            let told = Transition::of_task(kind, task, epoch);
            run.events.push(told.because(NOT_NEEDED, ""));
        }
    }
    for (task, epoch, failures, losses) in store::hot::take_unleased_of(conn, run, &nodes).await? {
        let carried = Carried {
            epoch,
            failures,
            losses,
            ..Carried::default()
        };
        end(plan, task, carried);
    }
    for row in plan.take_planned_of(run, &nodes) {
        let carried = Carried {
            epoch: row.epoch,
            failures: row.failures,
            losses: row.losses,
            ..Carried::default()
        };
        end(plan, row.task, carried);
    }
    end_waiting(conn, plan, run, &losers).await
}

/// Ends losers that had not begun, and fills their tallies: what arrives later finds them decided.
async fn end_waiting(
    conn: &mut PgConnection,
    plan: &mut Plan,
    run: RunId,
    losers: &BTreeMap<u32, Stage>,
) -> Result<(), sqlx::Error> {
    let mut full = Vec::new();
    for (n, _) in losers.iter().filter(|(_, stage)| **stage == Stage::Waiting) {
        let dead = plan
            .runs
            .get(&run)
            .map_or(0, |plan| plan.info.graph().incoming(*n).len());
        full.push(Delta {
            run,
            n: *n,
            fired: 0,
            dead: u32::try_from(dead).unwrap_or(u32::MAX),
        });
        end(plan, TaskKey { run, n: *n, i: 0 }, Carried::default());
    }
    if !full.is_empty() {
        store::tally::add(conn, &full).await?;
    }
    Ok(())
}

fn end(plan: &mut Plan, task: TaskKey, carried: Carried) {
    let ending = Ending::because(NOT_NEEDED, "");
    plan.end(task, EndState::Cancelled, carried, ending);
}

/// Walks upstream from the decided nodes, until nothing more turns out to be a loser.
async fn find(
    conn: &mut PgConnection,
    plan: &Plan,
    run: RunId,
    decided: &[u32],
) -> Result<BTreeMap<u32, Stage>, sqlx::Error> {
    let Some(info) = plan.runs.get(&run).map(|plan| plan.info.clone()) else {
        return Ok(BTreeMap::new());
    };
    let graph = info.graph();
    let mut stages: BTreeMap<u32, Stage> = BTreeMap::new();
    let mut losers: BTreeMap<u32, Stage> = BTreeMap::new();
    let mut candidates: BTreeSet<u32> = decided.iter().flat_map(|n| upstream(graph, *n)).collect();
    loop {
        learn(conn, plan, run, &candidates, &mut stages).await?;
        candidates.retain(|n| stages.get(n) != Some(&Stage::Ended));
        let lost: Vec<u32> = candidates
            .iter()
            .copied()
            .filter(|n| !matters(graph, *n, &stages, &losers))
            .collect();
        if lost.is_empty() {
            return Ok(losers);
        }
        for n in lost {
            candidates.remove(&n);
            losers.insert(n, stages.get(&n).copied().unwrap_or(Stage::Waiting));
            candidates.extend(upstream(graph, n).filter(|n| !losers.contains_key(n)));
        }
    }
}

fn upstream(graph: &Graph, n: u32) -> impl Iterator<Item = u32> {
    let edges = graph.incoming(n).iter();
    edges.map(|edge| graph.edges()[*edge as usize].from)
}

fn downstream(graph: &Graph, n: u32) -> impl Iterator<Item = u32> {
    let edges = graph.outgoing(n).iter();
    edges.map(|edge| graph.edges()[*edge as usize].to)
}

fn matters(
    graph: &Graph,
    n: u32,
    stages: &BTreeMap<u32, Stage>,
    losers: &BTreeMap<u32, Stage>,
) -> bool {
    let waits = |to: u32| stages.get(&to) == Some(&Stage::Waiting) && !losers.contains_key(&to);
    graph.outgoing(n).is_empty() || downstream(graph, n).any(waits)
}

/// Learns how far candidates and the nodes behind them have come, in the store and in this transaction.
async fn learn(
    conn: &mut PgConnection,
    plan: &Plan,
    run: RunId,
    candidates: &BTreeSet<u32>,
    stages: &mut BTreeMap<u32, Stage>,
) -> Result<(), sqlx::Error> {
    let Some(of_run) = plan.runs.get(&run) else {
        return Ok(());
    };
    let graph = of_run.info.graph();
    let with_targets = candidates
        .iter()
        .flat_map(|n| std::iter::once(*n).chain(downstream(graph, *n)));
    let unknown: BTreeSet<u32> = with_targets.filter(|n| !stages.contains_key(n)).collect();
    let asked: Vec<u32> = unknown.iter().copied().collect();
    if asked.is_empty() {
        return Ok(());
    }
    stages.extend(asked.iter().map(|n| (*n, Stage::Waiting)));
    for (n, ended) in store::hot::begun(conn, run, &asked).await? {
        stages.insert(n, if ended { Stage::Ended } else { Stage::Begun });
    }
    let planned = plan.hot.iter().map(|planned| planned.row.task);
    for task in planned.filter(|task| task.run == run && unknown.contains(&task.n)) {
        stages.insert(task.n, Stage::Begun);
    }
    let ended = plan.ends.iter().map(|end| end.task);
    for task in ended.filter(|task| task.run == run && task.i == 0 && unknown.contains(&task.n)) {
        stages.insert(task.n, Stage::Ended);
    }
    Ok(())
}

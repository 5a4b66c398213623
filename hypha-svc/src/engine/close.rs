//! Closing a run: what has not started ends as cancelled, and what runs gets its grace.

use std::collections::BTreeSet;

use cambium_hypha::EndState;
use cambium_kernel::RunId;
use sqlx::PgConnection;

use super::plan::{CANCELLING, Carried, Closing, Ending, Plan, hot};
use crate::store;
use crate::store::engine::{TaskKey, unsigned};

/// Closes the runs that this transaction decided to close. Afterwards they have members and groups to follow, no more.
pub(crate) async fn close(
    conn: &mut PgConnection,
    plan: &mut Plan,
    grace_ms: i64,
) -> Result<bool, sqlx::Error> {
    let closing: Vec<(RunId, Closing)> = plan
        .runs
        .iter_mut()
        .filter_map(|(run, plan)| plan.closing.take().map(|closing| (*run, closing)))
        .collect();
    for (run, closing) in &closing {
        if let Some(plan) = plan.run(*run) {
            match closing {
                Closing::FailFast => plan.head.failing = true,
                Closing::Cancel { .. } | Closing::Spent { .. } => plan.head.state = CANCELLING,
            }
        }
        close_run(conn, plan, *run, *closing, grace_ms).await?;
    }
    Ok(!closing.is_empty())
}

async fn close_run(
    conn: &mut PgConnection,
    plan: &mut Plan,
    run: RunId,
    closing: Closing,
    grace_ms: i64,
) -> Result<(), sqlx::Error> {
    let mut accounted = cancel_unleased(conn, plan, run, closing).await?;
    let grace = match closing {
        Closing::FailFast => grace_ms,
        Closing::Cancel { grace_ms } | Closing::Spent { grace_ms } => grace_ms,
    };
    store::orphan::add(conn, run, grace).await?;
    let leased = store::hot::limit_leased(conn, run, grace).await?;
    accounted.extend(leased.iter().map(|task| task.n));
    accounted.extend(begun_or_ended(conn, plan, run).await?);
    let nodes = plan
        .runs
        .get(&run)
        .map_or(0, |plan| plan.info.graph().nodes().len());
    for n in 0..u32::try_from(nodes).unwrap_or(u32::MAX) {
        if !accounted.contains(&n) {
            cancel(plan, TaskKey { run, n, i: 0 }, Carried::default(), closing);
        }
    }
    Ok(())
}

/// Ends what was ready or waited for a moment, in the store or about to be. Answers which nodes these were.
async fn cancel_unleased(
    conn: &mut PgConnection,
    plan: &mut Plan,
    run: RunId,
    closing: Closing,
) -> Result<BTreeSet<u32>, sqlx::Error> {
    let mut gone = BTreeSet::new();
    for (task, epoch, failures, losses) in store::hot::take_unleased(conn, run).await? {
        let carried = Carried {
            epoch,
            failures,
            losses,
            ..Carried::default()
        };
        gone.insert(task.n);
        cancel(plan, task, carried, closing);
    }
    for row in plan.take_planned(run) {
        debug_assert_ne!(
            row.state,
            hot::LEASED,
            "nothing is assigned before the closing"
        );
        let carried = Carried {
            epoch: row.epoch,
            failures: row.failures,
            losses: row.losses,
            ..Carried::default()
        };
        gone.insert(row.task.n);
        cancel(plan, row.task, carried, closing);
    }
    Ok(gone)
}

/// Nodes that have ended, in the store or in this transaction, or have fanned out.
async fn begun_or_ended(
    conn: &mut PgConnection,
    plan: &Plan,
    run: RunId,
) -> Result<Vec<u32>, sqlx::Error> {
    let mut nodes = store::task::ended_nodes(conn, run).await?;
    let planned = plan.ends.iter().filter(|end| end.task.run == run);
    nodes.extend(planned.map(|end| end.task.n));
    nodes.extend(store::tally::fans(conn, run).await?.iter().map(|fan| fan.n));
    let fans = plan.fans.iter().filter(|(group, _)| group.run == run);
    nodes.extend(fans.map(|(group, _)| group.n));
    Ok(nodes)
}

fn cancel(plan: &mut Plan, task: TaskKey, carried: Carried, closing: Closing) {
    let ending = Ending::because(closing.code(), "");
    plan.end(task, EndState::Cancelled, carried, ending);
}

/// Whether a run has nothing left open.
pub(crate) fn is_over(plan: &super::plan::RunPlan) -> bool {
    unsigned(plan.head.open + plan.add.open) == 0
}

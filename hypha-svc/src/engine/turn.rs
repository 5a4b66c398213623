//! The turn that a run is under: told what the run cost and that it ended, in the transaction in which that is so. At its cap
//! what goes on under it is stopped; with its last run it is over, and swarm is told.
//!
//! Turns are locked after all runs: whoever holds a turn waits for no run.

use std::collections::BTreeMap;

use cambium_hypha::TurnId;
use cambium_hypha::turn::Turn;
use cambium_kernel::WorkspaceId;
use cambium_proto::hypha::v1::RunEventKind;
use cambium_proto::signal::v1 as wire;
use sqlx::{PgConnection, PgPool};

use super::plan::{BUDGET, CANCELLED, CANCELLING, Closing, FAILED, Plan, RunPlan, SUCCEEDED};
use super::{Engine, cascade, close, finish, losers, steer, thank};
use crate::app::graph::run_info;
use crate::error::Error;
use crate::store;
use crate::store::event::Transition;
use crate::store::turn::{Share, Told};

pub(crate) const RUN_SETTLED: &str = "coord.run_settled";

/// Runs that are stopped in one go.
const MOST: i64 = 500;

/// Adds what this transaction brings to the turns of its runs, and closes those whose turn has cost as much as it may.
/// Answers the signals of the turns that are over.
pub(crate) async fn account(
    conn: &mut PgConnection,
    plan: &mut Plan,
    grace_ms: i64,
) -> Result<Vec<wire::Signal>, sqlx::Error> {
    let mut signals = Vec::new();
    loop {
        let shares = shares(plan);
        if shares.is_empty() {
            return Ok(signals);
        }
        for told in store::turn::add(conn, &shares, grace_ms).await? {
            if told.is_over {
                signals.extend(settled(plan, &told));
            } else if told.is_spent {
                close_spent(plan, told.turn, grace_ms);
            }
        }
        while close::close(conn, plan, grace_ms).await?
            || losers::cancel(conn, plan, grace_ms).await?
        {
            cascade::follow(conn, plan).await?;
        }
    }
}

/// What the runs bring that their turns have not been told of, by turn.
fn shares(plan: &mut Plan) -> Vec<Share> {
    let mut shares: BTreeMap<(WorkspaceId, TurnId), Share> = BTreeMap::new();
    for run in plan.runs.values_mut() {
        let Some(turn) = run.info.turn.clone() else {
            continue;
        };
        let bill = std::mem::take(&mut run.bill);
        let leaves = !run.has_left && run.head.state <= CANCELLING && close::is_over(run);
        if bill.is_empty() && !leaves {
            continue;
        }
        let workspace = run.info.workspace.clone();
        let share = shares.entry((workspace.clone(), turn.id));
        let share = share.or_insert_with(|| Share::none(workspace, turn.id));
        share.bill.add(bill);
        if leaves {
            run.has_left = true;
            share.ended += 1;
            share.outcome = share.outcome.or(turn.is_root.then(|| finish::outcome(run)));
        }
    }
    shares.into_values().collect()
}

/// Closes the runs that this transaction holds; the sweep finds the others.
fn close_spent(plan: &mut Plan, turn: TurnId, grace_ms: i64) {
    for run in plan.runs.values_mut() {
        let is_under = is_under(run, turn) && !run.is_closed() && run.closing.is_none();
        if is_under && !close::is_over(run) {
            let told = Transition::of_run(RunEventKind::RunCancelRequested.into());
            run.events.push(told.because(BUDGET, ""));
            run.closing = Some(Closing::Spent { grace_ms });
        }
    }
}

fn is_under(run: &RunPlan, turn: TurnId) -> bool {
    let of = run.info.turn.as_ref();
    of.is_some_and(|of: &Turn| of.id == turn)
}

/// Tells swarm that a turn is over. One whose body is not here has no run of its own, and does not end with those that its mind started.
fn settled(plan: &Plan, told: &Told) -> Option<wire::Signal> {
    let run = plan.runs.values().find(|run| is_under(run, told.turn))?;
    let root = told.root?.to_string();
    let payload = wire::RunSettled {
        turn_id: told.turn.to_string(),
        run_id: root.clone(),
        cost_micro_usd: told.bill.measured(),
        declared_micro_usd: told.bill.declared_micro_usd,
        outcome: outcome(told.outcome).to_owned(),
    };
    let payload = wire::signal::Payload::RunSettled(payload);
    Some(wire::Signal {
        workflow_run_id: root,
        ..thank::signal(&run.info, RUN_SETTLED, payload, Some(told.at))
    })
}

fn outcome(state: Option<i16>) -> &'static str {
    match state.unwrap_or(CANCELLED) {
        SUCCEEDED => "succeeded",
        FAILED => "failed",
        _ => "cancelled",
    }
}

/// Stops what goes on under a turn that is to stop, or under any. Answers whether there may be more.
pub(crate) async fn stop(
    engine: &Engine,
    pool: &PgPool,
    only: Option<(&WorkspaceId, TurnId)>,
) -> Result<bool, Error> {
    let mut conn = pool.acquire().await?;
    let runs = store::turn::to_stop(&mut conn, only, MOST).await?;
    let is_full = i64::try_from(runs.len()).is_ok_and(|length| length >= MOST);
    for run in runs {
        let info = run_info(&mut conn, engine, run).await?;
        steer::stop_under(engine, &info).await?;
    }
    Ok(is_full)
}

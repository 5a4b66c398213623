//! A run's end: its state, its gift metrics and its dead ends, written once and in the transaction of its last task.

use std::collections::HashMap;

use cambium_hypha::gift::{Execution, Lineage, Metrics, TaskRef};
use cambium_kernel::{AgentId, RunId};
use cambium_proto::hypha::v1::RunEventKind;
use cambium_proto::signal::v1::Signal;
use sqlx::PgConnection;

use super::edges::sources_of;
use super::plan::{CANCELLED, CANCELLING, FAILED, Plan, RUNNING, RunPlan, SUCCEEDED, end_state};
use super::{close, thank};
use crate::convert::run::state_to_wire;
use crate::store;
use crate::store::engine::{RunChange, signed};
use crate::store::event::Transition;
use crate::store::task::End;

/// What changes on each locked run; and which ended runs must still be measured from their lineage.
pub(crate) fn changes(plan: &mut Plan) -> (Vec<RunChange>, Vec<RunId>) {
    let mut to_measure = Vec::new();
    let mut changes = Vec::new();
    for (id, run) in &mut plan.runs {
        if run.fresh || run.head.state > CANCELLING {
            continue;
        }
        let mut metrics = None;
        let mut state = run.head.state;
        if close::is_over(run) {
            state = end(run);
            metrics = static_metrics(run);
            if metrics.is_none() {
                to_measure.push(*id);
            }
        }
        if run.events.is_empty() {
            // Locked for work that found no offer: nothing has happened to it.
            continue;
        }
        run.add.seq = i32::try_from(run.events.len()).unwrap_or(i32::MAX);
        changes.push(RunChange {
            run: *id,
            state,
            paused: run.head.paused,
            failing: run.head.failing,
            add: run.add,
            metrics: metrics.map(|metrics| columns(&metrics)),
        });
    }
    (changes, to_measure)
}

/// How a run ended that has nothing left open.
pub(crate) fn outcome(run: &RunPlan) -> i16 {
    let unhandled = run.head.unhandled + run.add.unhandled;
    match run.head.state {
        RUNNING if unhandled == 0 => SUCCEEDED,
        RUNNING => FAILED,
        _ => CANCELLED,
    }
}

/// Decides how a run ended, and tells it.
fn end(run: &mut RunPlan) -> i16 {
    let state = outcome(run);
    let mut transition = Transition::of_run(RunEventKind::RunEnded.into());
    transition.run_state = state_to_wire(state).into();
    run.events.push(transition);
    state
}

/// The metrics that follow from the graph alone, because every task succeeded and nobody consumed in vain.
fn static_metrics(run: &RunPlan) -> Option<Metrics> {
    let all = run.head.succeeded + run.add.succeeded == run.head.total + run.add.total;
    let in_vain = run.head.in_vain + run.add.in_vain;
    run.info
        .graph()
        .static_gift()
        .filter(|_| all && in_vain == 0)
}

fn columns(metrics: &Metrics) -> [i32; 5] {
    let count = |value: u64| i32::try_from(value).unwrap_or(i32::MAX);
    [
        signed(metrics.chain_length),
        signed(metrics.chain_breadth),
        count(metrics.total_handoffs),
        count(metrics.consumed_outputs),
        count(metrics.total_outputs),
    ]
}

/// Measures runs that ended in this transaction, after all their tasks have been written. Answers the dead ends' signals.
pub(crate) async fn measure(
    conn: &mut PgConnection,
    plan: &Plan,
    runs: &[RunId],
) -> Result<Vec<Signal>, sqlx::Error> {
    let mut signals = Vec::new();
    for id in runs {
        let Some(run) = plan.runs.get(id) else {
            continue;
        };
        let executions = executions(conn, run).await?;
        let lineage = Lineage::of(&executions);
        let cancelled = run.head.state != RUNNING;
        let dead_ends = lineage.dead_ends(run.info.graph(), cancelled);
        let count = u32::try_from(dead_ends.len()).unwrap_or(u32::MAX);
        let metrics = columns(&lineage.compute_metrics());
        store::run::set_gift(conn, *id, metrics, count).await?;
        if !dead_ends.is_empty() {
            let at = store::now(conn).await?;
            signals.extend(
                dead_ends
                    .into_iter()
                    .map(|agent| thank::dead_end(&run.info, agent, at)),
            );
        }
    }
    Ok(signals)
}

/// What became of each task of a run, members in their group's stead.
async fn executions(conn: &mut PgConnection, run: &RunPlan) -> Result<Vec<Execution>, sqlx::Error> {
    let id = run.info.run;
    let ends = store::task::ends(conn, id, None, i64::MAX).await?;
    let fans = store::tally::fans(conn, id).await?;
    let members: HashMap<u32, u32> = fans.iter().map(|fan| (fan.n, fan.total)).collect();
    let mut consumed: HashMap<TaskRef, Vec<AgentId>> = HashMap::new();
    for (task, agent) in store::task::consumers(conn, id).await? {
        let task = reference(task.n, task.i);
        consumed.entry(task).or_default().push(agent);
    }
    let tasks = ends
        .iter()
        .filter(|end| end.task.i > 0 || !members.contains_key(&end.task.n));
    let executions = tasks.filter_map(|end| {
        let id = reference(end.task.n, end.task.i);
        execution(run, end, &members, consumed.remove(&id).unwrap_or_default())
    });
    Ok(executions.collect())
}

fn reference(node: u32, item: u32) -> TaskRef {
    TaskRef { node, item }
}

fn execution(
    run: &RunPlan,
    end: &End,
    members: &HashMap<u32, u32>,
    mut consumed_by: Vec<AgentId>,
) -> Option<Execution> {
    let id = reference(end.task.n, end.task.i);
    let state = end_state(end.state)?;
    // A task that was never leased took nothing.
    let nodes = if end.epoch > 0 {
        sources_of(&run.info, end.task.n, end.sources.as_deref())
    } else {
        Vec::new()
    };
    let sources: Vec<TaskRef> = nodes
        .into_iter()
        .flat_map(|node| match members.get(&node) {
            Some(total) => (1..=*total).map(|item| reference(node, item)).collect(),
            None => vec![TaskRef::node(node)],
        })
        .collect();
    // What another run did is no consumption of this one.
    let here = !sources.is_empty() && !run.info.is_reused(end.task.n);
    consumed_by.extend(end.agent.filter(|_| here));
    consumed_by.sort_unstable();
    consumed_by.dedup();
    Some(Execution {
        id,
        state,
        agent: end.agent,
        sources,
        consumed_by,
    })
}

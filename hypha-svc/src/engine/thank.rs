//! Gratitude: what one task's output did for another, counted on the run and told to immune (design: hypha, section 4).

use std::collections::{BTreeMap, BTreeSet};

use cambium_kernel::{AgentId, RunId, SignalId};
use cambium_proto::signal::v1 as wire;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::Engine;
use super::cache::RunInfo;
use super::plan::Plan;
use crate::convert;
use crate::store;
use crate::store::engine::TaskKey;

pub(crate) const GRATITUDE: &str = "coord.gratitude";
pub(crate) const DEAD_END: &str = "coord.dead_end";

/// A source of outputs: one task, or the members of a fan-out.
type Givers = BTreeMap<(RunId, u32), Vec<(TaskKey, Option<AgentId>)>>;

/// Counts the handoffs of tasks that succeeded in this transaction, and makes their signals for whoever hears them.
pub(crate) async fn thank(
    conn: &mut PgConnection,
    engine: &Engine,
    plan: &mut Plan,
) -> Result<Vec<wire::Signal>, sqlx::Error> {
    let heard = !engine.routes.receivers(GRATITUDE).is_empty();
    let givers = givers(conn, engine, plan, heard).await?;
    let at = plan.at;
    let mut signals = Vec::new();
    for thanks in std::mem::take(&mut plan.thanks) {
        let Some(run) = plan.run(thanks.task.run) else {
            continue;
        };
        // A reused output was thanked in the run that made it.
        let info = run.info.clone();
        for source in thanks.sources.iter().filter(|n| !info.is_reused(**n)) {
            let alone = [(
                TaskKey {
                    run: thanks.task.run,
                    n: *source,
                    i: 0,
                },
                None,
            )];
            let givers = givers.get(&(thanks.task.run, *source));
            for (giver, agent) in givers.map_or(&alone[..], Vec::as_slice) {
                run.add.gratitude += 1;
                if heard {
                    let from = Party {
                        task: *giver,
                        agent: *agent,
                    };
                    let to = Party {
                        task: thanks.task,
                        agent: thanks.agent,
                    };
                    signals.push(gratitude(&run.info, from, to, at));
                }
            }
        }
    }
    Ok(signals)
}

/// Who gave: looked up only where the graph alone does not say, or somebody wants to know the agents.
async fn givers(
    conn: &mut PgConnection,
    engine: &Engine,
    plan: &Plan,
    heard: bool,
) -> Result<Givers, sqlx::Error> {
    let mut givers = Givers::new();
    let mut asked: BTreeSet<(RunId, u32)> = BTreeSet::new();
    for thanks in &plan.thanks {
        let Some(run) = plan.runs.get(&thanks.task.run) else {
            continue;
        };
        for source in thanks.sources.iter().filter(|n| !run.info.is_reused(**n)) {
            let is_group = run.info.graph().nodes()[*source as usize].fan_out.is_some();
            if heard || is_group {
                asked.insert((thanks.task.run, *source));
            }
        }
    }
    asked.retain(|(run, n)| {
        let task = TaskKey {
            run: *run,
            n: *n,
            i: 0,
        };
        match engine.caches.outputs.get(task) {
            Some(output) if output.agent.is_some() => {
                givers.insert((*run, *n), vec![(task, output.agent)]);
                false
            }
            // Read back from the store, an output does not say whose it is.
            Some(_) | None => true,
        }
    });
    if !asked.is_empty() {
        let asked: Vec<_> = asked.into_iter().collect();
        for (task, agent) in store::task::givers(conn, &asked).await? {
            givers
                .entry((task.run, task.n))
                .or_default()
                .push((task, agent));
        }
    }
    Ok(givers)
}

/// One side of a handoff.
#[derive(Clone, Copy)]
struct Party {
    task: TaskKey,
    agent: Option<AgentId>,
}

fn gratitude(info: &RunInfo, from: Party, to: Party, at: Option<DateTime<Utc>>) -> wire::Signal {
    let named = |agent: Option<AgentId>| agent.map(|agent| agent.to_string()).unwrap_or_default();
    let payload = wire::Gratitude {
        from_task_id: convert::id::task(info.graph(), from.task),
        to_task_id: convert::id::task(info.graph(), to.task),
        from_agent_id: named(from.agent),
        to_agent_id: named(to.agent),
        workflow_run_id: info.run.to_string(),
    };
    signal(
        info,
        GRATITUDE,
        wire::signal::Payload::Gratitude(payload),
        at,
    )
}

/// Tells that an agent consumed in a run and gave nothing on.
pub(crate) fn dead_end(info: &RunInfo, agent: AgentId, at: DateTime<Utc>) -> wire::Signal {
    let payload = wire::DeadEnd {
        agent_id: agent.to_string(),
        workflow_run_id: info.run.to_string(),
    };
    signal(
        info,
        DEAD_END,
        wire::signal::Payload::DeadEnd(payload),
        Some(at),
    )
}

/// A fact about a run.
pub(super) fn signal(
    info: &RunInfo,
    kind: &str,
    payload: wire::signal::Payload,
    at: Option<DateTime<Utc>>,
) -> wire::Signal {
    wire::Signal {
        signal_id: SignalId::generate().to_string(),
        r#type: kind.to_owned(),
        class: wire::SignalClass::Coordination.into(),
        intensity: 0.5,
        workspace_id: info.workspace.to_string(),
        workflow_run_id: info.run.to_string(),
        source: "hypha".to_owned(),
        emit_time: at.map(convert::time_to_wire),
        causal_depth: 0,
        traceparent: String::new(),
        payload: Some(payload),
    }
}

//! Why is this not running? Reads the state and says it in words, with what would change it.

use std::collections::BTreeSet;

use cambium_kernel::{RunId, WorkspaceId};
use cambium_proto::hypha::v1 as wire;
use sqlx::PgConnection;

use super::App;
use crate::convert;
use crate::convert::id::Named;
use crate::engine::cache::RunInfo;
use crate::engine::plan::{CANCELLING, hot};
use crate::error::Error;
use crate::store;
use crate::store::engine::TaskKey;
use crate::store::hot::Seen;

/// Reasons that one answer lists, at most.
const MOST: usize = 20;

impl App {
    pub(crate) async fn explain_run(
        &self,
        workspace: &WorkspaceId,
        run: RunId,
    ) -> Result<wire::ExplainRunResponse, Error> {
        let info = self.info(workspace, run).await?;
        let mut conn = self.pool.acquire().await?;
        let full = store::run::full(&mut conn, workspace, run).await?;
        let full = full.ok_or(Error::NoRun(run))?;
        let state = convert::run::state_to_wire(full.state);
        let mut reasons = Vec::new();
        if full.state > CANCELLING {
            let text = format!("the run has ended: {}", word(state.as_str_name()));
            reasons.push(reason(wire::ReasonKind::Ended, "", text));
        } else {
            if full.state == CANCELLING {
                let text = "the run is being cancelled: it ends when its running tasks have stopped or \
                            their grace is over";
                reasons.push(reason(wire::ReasonKind::Cancelling, "", text));
            }
            if full.paused {
                let text = "the run is paused: resume it to let ready tasks start";
                reasons.push(reason(wire::ReasonKind::Paused, "", text));
            }
            let rows = store::hot::of_run(&mut conn, run).await?;
            for row in rows.iter().take(MOST) {
                reasons.push(self.explain_row(&mut conn, &info, row).await?);
            }
        }
        Ok(wire::ExplainRunResponse {
            state: state.into(),
            reasons,
        })
    }

    pub(crate) async fn explain_task(
        &self,
        workspace: &WorkspaceId,
        named: Named<'_>,
        text: &str,
    ) -> Result<wire::ExplainTaskResponse, Error> {
        let (info, task) = self.task(workspace, named, text).await?;
        let mut conn = self.pool.acquire().await?;
        if let Some(end) = store::task::end(&mut conn, task).await? {
            let state = wire::TaskState::try_from(i32::from(end.state)).unwrap_or_default();
            let code = end
                .code
                .map(|code| format!(" ({code})"))
                .unwrap_or_default();
            let text = format!("the task has ended: {}{code}", word(state.as_str_name()));
            let name = convert::id::node(info.graph(), task.n, task.i);
            return Ok(wire::ExplainTaskResponse {
                state: state.into(),
                reasons: vec![reason(wire::ReasonKind::Ended, &name, text)],
            });
        }
        let row = store::hot::one(&mut conn, task).await?;
        let why = match &row {
            Some(row) => self.explain_row(&mut conn, &info, row).await?,
            None => waiting(&mut conn, &info, task).await?,
        };
        super::task::must_exist(&mut conn, task.run).await?;
        let state = row
            .as_ref()
            .map_or(wire::TaskState::Waiting, convert::task::hot_state);
        Ok(wire::ExplainTaskResponse {
            state: state.into(),
            reasons: vec![why],
        })
    }

    async fn explain_row(
        &self,
        conn: &mut PgConnection,
        info: &RunInfo,
        row: &Seen,
    ) -> Result<wire::Reason, Error> {
        let name = convert::id::node(info.graph(), row.task.n, row.task.i);
        let mut why = match row.state {
            hot::LEASED => reason(
                wire::ReasonKind::Running,
                &name,
                "it is running: its lease is renewed by the worker's heartbeats",
            ),
            hot::BACKING_OFF => reason(
                wire::ReasonKind::BackingOff,
                &name,
                format!(
                    "it failed {} times and is tried again after its back-off",
                    row.failures
                ),
            ),
            hot::PARKED => parked(conn, &name, row).await?,
            hot::HELD => reason(
                wire::ReasonKind::Paused,
                &name,
                "it is ready, but the run is paused: resume the run",
            ),
            hot::DECIDING => reason(
                wire::ReasonKind::Condition,
                &name,
                "its condition, fan-out or join expression is being evaluated",
            ),
            _ => self.queued(conn, info, row, &name).await?,
        };
        why.until = row.until.map(convert::time_to_wire);
        Ok(why)
    }

    /// A ready task lacks an agent that can do it, or a free slot of one that can.
    async fn queued(
        &self,
        conn: &mut PgConnection,
        info: &RunInfo,
        row: &Seen,
        name: &str,
    ) -> Result<wire::Reason, Error> {
        let node = &info.graph().nodes()[row.task.n as usize];
        let needs: BTreeSet<String> = convert::graph::requires(node).into_iter().collect();
        let able = store::agent::capabilities(conn, &info.workspace).await?;
        let missing = able
            .iter()
            .map(|has| {
                let lacks = needs.iter().filter(|need| !has.contains(need));
                lacks.cloned().collect::<Vec<_>>()
            })
            .min_by_key(Vec::len);
        let missing = missing.unwrap_or_else(|| needs.iter().cloned().collect());
        if able.is_empty() || !missing.is_empty() {
            let list = if missing.is_empty() {
                "this workspace has no agent".to_owned()
            } else {
                format!(
                    "no agent has all it requires; the nearest lacks {}",
                    missing.join(", ")
                )
            };
            let text = format!("it is ready, but {list}: enrol one and run a worker for it");
            let mut why = reason(wire::ReasonKind::NoEligibleAgent, name, text);
            why.subjects = missing;
            return Ok(why);
        }
        let place = store::hot::place(conn, row.task).await?;
        let queue = info.pinned.queues[row.task.n as usize];
        let kind = if self.engine.offers.serves(queue) || place > 0 {
            wire::ReasonKind::Queued
        } else {
            wire::ReasonKind::AllBusy
        };
        let text = match kind {
            wire::ReasonKind::AllBusy => {
                "it is next, but no agent that can do it has a free slot here: run another worker"
                    .to_owned()
            }
            _ => format!("it is ready and {place} tasks of its queue are served before it"),
        };
        let mut why = reason(kind, name, text);
        why.place = place;
        Ok(why)
    }
}

async fn parked(conn: &mut PgConnection, name: &str, row: &Seen) -> Result<wire::Reason, Error> {
    let park = store::park::of(conn, &[row.task]).await?;
    let signal = park
        .first()
        .map(|park| park.signal.clone())
        .unwrap_or_default();
    let text = format!("it has parked until the signal `{signal}` arrives: send it with SignalRun");
    let mut why = reason(wire::ReasonKind::Parked, name, text);
    why.subjects = vec![signal];
    Ok(why)
}

/// A task without a row waits for the nodes before it.
async fn waiting(
    conn: &mut PgConnection,
    info: &RunInfo,
    task: TaskKey,
) -> Result<wire::Reason, Error> {
    let name = convert::id::node(info.graph(), task.n, task.i);
    let fans = store::tally::fans(conn, task.run).await?;
    if let Some(fan) = fans.iter().find(|fan| fan.n == task.n) {
        if task.i > fan.total {
            return Err(Error::NoTask(name));
        }
        let text = format!("{} of its {} members have ended", fan.ended, fan.total);
        return Ok(reason(wire::ReasonKind::Running, &name, text));
    }
    if task.i > 0 {
        return Err(Error::NoTask(name));
    }
    let graph = info.graph();
    let upstream: Vec<u32> = graph
        .incoming(task.n)
        .iter()
        .map(|edge| graph.edges()[*edge as usize].from)
        .collect();
    let ended = store::task::states(conn, task.run, &upstream).await?;
    let ended: BTreeSet<u32> = ended.into_iter().map(|(n, _)| n).collect();
    let open = upstream.iter().filter(|n| !ended.contains(n));
    let open: Vec<String> = open.map(|n| convert::id::node(graph, *n, 0)).collect();
    let text = format!("it waits for {} to end", open.join(", "));
    let mut why = reason(wire::ReasonKind::WaitingOnEdges, &name, text);
    why.subjects = open;
    Ok(why)
}

fn reason(kind: wire::ReasonKind, task: &str, text: impl Into<String>) -> wire::Reason {
    wire::Reason {
        kind: kind.into(),
        task: task.to_owned(),
        text: text.into(),
        ..wire::Reason::default()
    }
}

/// `RUN_STATE_FAILED` as people say it.
fn word(name: &str) -> String {
    let last = name.split_once("STATE_").map_or(name, |(_, word)| word);
    last.to_lowercase()
}

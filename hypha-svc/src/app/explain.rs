//! Why is this not running? Reads the state in one snapshot and says it in words, with what would change it.
//! Changes nothing, and loads nothing that grows with the run.

mod ended;
mod omitted;
mod open;
mod overview;
mod ready;
mod waiting;
mod words;

use std::sync::Arc;

use cambium_kernel::{RunId, WorkspaceId};
use cambium_proto::hypha::v1 as wire;
use sqlx::{Postgres, Transaction};

use super::App;
use crate::convert;
use crate::convert::id::Named;
use crate::engine::Engine;
use crate::engine::cache::RunInfo;
use crate::engine::plan::{CANCELLING, RUNNING, hot};
use crate::error::Error;
use crate::store;
use crate::store::engine::TaskKey;
use crate::store::why::Standing;
use words::{Who, reason};

/// One picture for all statements of an explanation: a task is in it once, and a run is there or not.
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/// The run that something is asked about.
struct Case {
    engine: Engine,
    info: Arc<RunInfo>,
    standing: Standing,
}

impl Case {
    /// As people name the task within its run.
    fn name(&self, task: TaskKey) -> String {
        convert::id::node(self.info.graph(), task.n, task.i)
    }

    /// Why nothing new starts in the run and what runs is told to stop, if that is so.
    fn closing(&self) -> Option<&'static str> {
        match self.standing.state {
            CANCELLING => Some("the run is being cancelled"),
            RUNNING if self.standing.failing => Some("the run fails fast"),
            _ => None,
        }
    }
}

impl App {
    pub(crate) async fn explain_run(
        &self,
        workspace: &WorkspaceId,
        run: RunId,
    ) -> Result<wire::ExplainRunResponse, Error> {
        let info = self.info(workspace, run).await?;
        let mut tx = self.snapshot().await?;
        let full = store::run::full(&mut tx, workspace, run).await?;
        let full = full.ok_or(Error::NoRun(run))?;
        let case = self.case(&mut tx, info).await?;
        overview::explain(&mut tx, &case, &full).await
    }

    pub(crate) async fn explain_task(
        &self,
        workspace: &WorkspaceId,
        named: Named<'_>,
        text: &str,
    ) -> Result<wire::ExplainTaskResponse, Error> {
        let (info, task) = self.task(workspace, named, text).await?;
        let mut tx = self.snapshot().await?;
        let case = self.case(&mut tx, info).await?;
        if let Some(end) = store::task::end(&mut tx, task).await? {
            let state = wire::TaskState::try_from(i32::from(end.state)).unwrap_or_default();
            let why = ended::explain(&mut tx, &case, &end, Who(1)).await?;
            return Ok(reply(state, vec![why]));
        }
        if let Some(row) = store::why::hot(&mut tx, task).await? {
            let state = convert::task::hot_state(row.state);
            let reasons = open::explain(&mut tx, &case, task, &row, Who(1)).await?;
            return Ok(reply(state, reasons));
        }
        let why = waiting::explain(&mut tx, &case, task).await?;
        let mut reasons = vec![why.ok_or_else(|| Error::NoTask(text.to_owned()))?];
        if case.standing.paused {
            let text =
                "the run is paused: what becomes ready does not start until the run is resumed";
            let name = case.name(task);
            reasons.push(reason(wire::ReasonKind::Paused, &name, text));
        }
        Ok(reply(wire::TaskState::Waiting, reasons))
    }

    async fn snapshot(&self) -> Result<Transaction<'static, Postgres>, Error> {
        Ok(self.pool.begin_with(SNAPSHOT).await?)
    }

    async fn case(
        &self,
        tx: &mut Transaction<'static, Postgres>,
        info: Arc<RunInfo>,
    ) -> Result<Case, Error> {
        let standing = store::why::standing(tx, info.run).await?;
        Ok(Case {
            engine: self.engine.clone(),
            standing: standing.ok_or(Error::NoRun(info.run))?,
            info,
        })
    }
}

fn reply(state: wire::TaskState, reasons: Vec<wire::Reason>) -> wire::ExplainTaskResponse {
    wire::ExplainTaskResponse {
        state: state.into(),
        reasons,
    }
}

/// What a task with a hot row in this state is doing now, after its name.
fn doing(state: i16) -> &'static str {
    match state {
        hot::READY => "queued",
        hot::LEASED => "running",
        hot::BACKING_OFF => "backing off",
        hot::PARKED => "parked",
        hot::HELD => "held by the pause",
        _ => "being decided",
    }
}

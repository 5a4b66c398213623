//! Tasks as people see them: ended, hot, or still waiting.

use std::collections::HashMap;

use cambium_kernel::{RunId, WorkspaceId};
use cambium_proto::hypha::v1 as wire;
use sqlx::PgConnection;

use super::App;
use crate::convert;
use crate::convert::id::Named;
use crate::convert::page::Page;
use crate::convert::task::Members;
use crate::error::Error;
use crate::store;
use crate::store::engine::TaskKey;
use crate::store::hot::Seen;

impl App {
    pub(crate) async fn get_task(
        &self,
        workspace: &WorkspaceId,
        named: Named<'_>,
        text: &str,
    ) -> Result<wire::Task, Error> {
        let (info, task) = self.task(workspace, named, text).await?;
        let mut conn = self.pool.acquire().await?;
        let fans = store::tally::fans(&mut conn, task.run).await?;
        let members: Members = fans.iter().map(|fan| (fan.n, fan.total)).collect();
        if task.i > members.get(&task.n).copied().unwrap_or(0) {
            return Err(Error::NoTask(text.to_owned()));
        }
        if let Some(end) = store::task::end(&mut conn, task).await? {
            return Ok(convert::task::ended(&info, &end, &members));
        }
        let row = store::hot::one(&mut conn, task).await?;
        must_exist(&mut conn, task.run).await?;
        Ok(convert::task::open(&info, task, row.as_ref()))
    }

    /// In the graph's order, members after their node. A page is read from one snapshot's worth of rows of its own.
    pub(crate) async fn list_tasks(
        &self,
        workspace: &WorkspaceId,
        run: RunId,
        page: &Page,
        state: Option<wire::TaskState>,
    ) -> Result<wire::ListTasksResponse, Error> {
        let info = self.info(workspace, run).await?;
        let after = parse_cursor(&page.after)?;
        let mut conn = self.pool.acquire().await?;
        let fans = store::tally::fans(&mut conn, run).await?;
        let members: Members = fans.iter().map(|fan| (fan.n, fan.total)).collect();
        let hot = by_task(store::hot::of_run(&mut conn, run).await?);
        // At most one page of all tasks is ended tasks: these suffice, since every task is ended or open.
        let wide = if state.is_some() { i64::MAX } else { page.size };
        let ends = store::task::ends(&mut conn, run, after, wide).await?;
        let mut ends = ends.into_iter().peekable();
        must_exist(&mut conn, run).await?;

        let mut tasks = Vec::new();
        let mut last = None;
        let nodes = u32::try_from(info.graph().nodes().len()).unwrap_or(u32::MAX);
        let first = after.map_or(0, |(n, _)| n);
        'all: for n in first..nodes {
            for i in 0..=members.get(&n).copied().unwrap_or(0) {
                if after.is_some_and(|after| (n, i) <= after) {
                    continue;
                }
                let key = TaskKey { run, n, i };
                // One that ended after its group was read stands before its place.
                while ends
                    .next_if(|end| (end.task.n, end.task.i) < (n, i))
                    .is_some()
                {}
                let task = match ends.next_if(|end| end.task == key) {
                    Some(end) => convert::task::ended(&info, &end, &members),
                    None => convert::task::open(&info, key, hot.get(&(n, i))),
                };
                if state.is_some_and(|state| task.state() != state) {
                    continue;
                }
                tasks.push(task);
                last = Some((n, i));
                if i64::try_from(tasks.len()).is_ok_and(|length| length == page.size) {
                    break 'all;
                }
            }
        }
        let is_full = i64::try_from(tasks.len()).is_ok_and(|length| length == page.size);
        let cursor = last.map(|(n, i)| format!("{n}-{i}"));
        Ok(wire::ListTasksResponse {
            tasks,
            next_page_token: page.next(is_full, &cursor.unwrap_or_default()),
        })
    }
}

/// Asked after the rows of a run were read: those of a deleted run vanish bit by bit, and what is remembered of it would
/// make them look like tasks that wait.
pub(crate) async fn must_exist(conn: &mut PgConnection, run: RunId) -> Result<(), Error> {
    if store::run::exists(conn, run).await? {
        Ok(())
    } else {
        Err(Error::NoRun(run))
    }
}

fn parse_cursor(text: &str) -> Result<Option<(u32, u32)>, Error> {
    if text.is_empty() {
        return Ok(None);
    }
    let (n, i) = text.split_once('-').ok_or(Error::PageToken)?;
    let place = n.parse().ok().zip(i.parse().ok());
    place.map(Some).ok_or(Error::PageToken)
}

/// Hot rows by task.
fn by_task(rows: Vec<Seen>) -> HashMap<(u32, u32), Seen> {
    rows.into_iter()
        .map(|row| ((row.task.n, row.task.i), row))
        .collect()
}

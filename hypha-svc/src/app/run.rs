//! Runs: start, read, steer, signal.

use std::sync::Arc;

use bytes::Bytes;
use cambium_hypha::turn::Turn;
use cambium_kernel::{RunId, WorkspaceId};
use cambium_proto::hypha::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::database::retry_conflicts;
use cambium_service_kit::receipt;
use prost::Message;
use sha2::{Digest, Sha256};

use super::App;
use crate::convert;
use crate::convert::id::Named;
use crate::convert::page::Page;
use crate::engine::cache::RunInfo;
use crate::engine::launch::{Launch, Parent, launch};
use crate::engine::op::Start;
use crate::engine::steer::{Steer, Steered, steer};
use crate::error::Error;
use crate::store;
use crate::store::engine::TaskKey;

/// Signals that may wait for a key ahead of its run.
const MOST_AHEAD: i64 = 100;

/// A checked wish to start a run.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) workspace: WorkspaceId,
    pub(crate) request_key: String,
    pub(crate) graph: String,
    pub(crate) version: u32,
    pub(crate) input: Bytes,
    pub(crate) signals: Vec<(String, Bytes)>,
    /// The turn that it is for, and the cap of all that is started under it, in micro-USD.
    pub(crate) turn: Option<(Turn, i64)>,
    /// The turn in which a mind starts it.
    pub(crate) of_mind: Option<Turn>,
}

/// A run as a request names it.
#[derive(Clone, Debug)]
pub(crate) enum Which {
    Run(RunId),
    Key(String),
}

impl App {
    /// Starts a run; with a parent it is the child of that attempt's run.
    pub(crate) async fn start_run(
        &self,
        wish: Wish,
        parent: Option<Parent>,
    ) -> Result<wire::StartRunResponse, Error> {
        let turn = under(&wish, parent.as_ref());
        let mind = turn.as_ref().map(|turn| &turn.mind);
        let (version, pinned) = self
            .pin(&wish.workspace, &wish.graph, wish.version, mind)
            .await?;
        let info = Arc::new(RunInfo {
            run: RunId::generate(),
            workspace: wish.workspace.clone(),
            pinned,
            input: wish.input.clone(),
            reused: Bytes::new(),
            turn,
        });
        let start = Start {
            info,
            body_hash: body_hash(&wish),
            request_key: wish.request_key.clone(),
            graph_name: version.name.clone(),
            graph_version: version.version,
            signals: wish.signals.clone(),
        };
        let cap = wish.turn.as_ref().map(|(_, cap)| *cap);
        let started = if start.info.turn.is_none() && parent.is_none() {
            self.engine.start(start).await?
        } else {
            let alone = Launch {
                start,
                parent,
                take_over: None,
                cap,
            };
            launch(&self.engine, alone).await?
        };
        let graph = if started.is_new {
            convert::graph::version_to_wire(&version)
        } else {
            // As the first reply had it, whatever has been put since.
            let known = self
                .get_run(&wish.workspace, &Which::Run(started.run))
                .await?;
            known.graph.unwrap_or_default()
        };
        Ok(wire::StartRunResponse {
            run_id: started.run.to_string(),
            graph: Some(graph),
        })
    }

    /// The run that a request names.
    pub(crate) async fn named(
        &self,
        workspace: &WorkspaceId,
        which: &Which,
    ) -> Result<RunId, Error> {
        match which {
            Which::Run(run) => Ok(*run),
            Which::Key(key) => {
                let mut conn = self.pool.acquire().await?;
                let found = store::run::by_key(&mut conn, workspace, key).await?;
                Ok(found.ok_or_else(|| Error::NoKey(key.clone()))?.0)
            }
        }
    }

    pub(crate) async fn get_run(
        &self,
        workspace: &WorkspaceId,
        which: &Which,
    ) -> Result<wire::Run, Error> {
        let run = self.named(workspace, which).await?;
        let mut conn = self.pool.acquire().await?;
        let full = store::run::full(&mut conn, workspace, run).await?;
        let full = full.ok_or(Error::NoRun(run))?;
        drop(conn);
        let mut wire = convert::run::run_to_wire(&full);
        if let Some(task) = full.parent
            // A parent that was forgotten still has its id in the reply.
            && let Ok(parent) = self.info(workspace, task.run).await
        {
            wire.parent_task_id = convert::id::task(parent.graph(), task);
        }
        Ok(wire)
    }

    pub(crate) async fn list_runs(
        &self,
        workspace: &WorkspaceId,
        page: &Page,
        state: Option<i16>,
    ) -> Result<wire::ListRunsResponse, Error> {
        let before = match page.after.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|_| Error::PageToken)?),
        };
        let mut conn = self.pool.acquire().await?;
        let found = store::run::list(&mut conn, workspace, before, state, page.size).await?;
        let last = found.last().map(|run| run.run.to_string());
        let is_full = i64::try_from(found.len()).is_ok_and(|length| length == page.size);
        Ok(wire::ListRunsResponse {
            runs: found.iter().map(convert::run::run_to_wire).collect(),
            next_page_token: page.next(is_full, &last.unwrap_or_default()),
        })
    }

    /// The fixed part of a run, if it is one of this workspace.
    pub(crate) async fn info(
        &self,
        workspace: &WorkspaceId,
        run: RunId,
    ) -> Result<Arc<RunInfo>, Error> {
        let info = match self.engine.caches.runs.get(run) {
            Some(info) => info,
            None => {
                let mut conn = self.pool.acquire().await?;
                super::graph::run_info(&mut conn, &self.engine, run).await?
            }
        };
        if info.workspace == *workspace {
            Ok(info)
        } else {
            Err(Error::NoRun(run))
        }
    }

    /// In a task of its own: a caller that gives up must not leave a transaction half told.
    pub(crate) async fn steer_run<R: Message + Default + 'static>(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        run: RunId,
        wish: &Steer,
        reply: fn(Steered) -> R,
    ) -> Result<R, Error> {
        let info = self.info(workspace, run).await?;
        let (engine, call, wish) = (self.engine.clone(), call.clone(), wish.clone());
        let steered = tokio::spawn(async move {
            retry_conflicts(5, || steer(&engine, &call, &info, &wish, reply)).await
        });
        steered.await.map_err(|_| Error::Stopping)?
    }

    pub(crate) async fn signal_run(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        which: &Which,
        name: &str,
        payload: &Bytes,
    ) -> Result<wire::SignalRunResponse, Error> {
        let run = match which {
            Which::Run(run) => Some(*run),
            Which::Key(key) => {
                let mut conn = self.pool.acquire().await?;
                let found = store::run::by_key(&mut conn, workspace, key).await?;
                found.map(|(run, _)| run)
            }
        };
        let Some(run) = run else {
            let Which::Key(key) = which else {
                return Ok(wire::SignalRunResponse::default());
            };
            return retry_conflicts(3, || self.keep_signal(call, workspace, key, name, payload))
                .await;
        };
        let wish = Steer::Signal {
            name: name.to_owned(),
            payload: payload.clone(),
        };
        let reply = |steered: Steered| wire::SignalRunResponse {
            delivered: steered.delivered,
        };
        self.steer_run(call, workspace, run, &wish, reply).await
    }

    /// Keeps a signal for a key whose run has not started. A start that commits at this moment is found by the sweep.
    async fn keep_signal(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        key: &str,
        name: &str,
        payload: &Bytes,
    ) -> Result<wire::SignalRunResponse, Error> {
        let mut tx = self.pool.begin().await?;
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, workspace).await? {
            return Ok(reply);
        }
        if store::signal::count_ahead(&mut tx, workspace, key).await? >= MOST_AHEAD {
            return Err(Error::TooManySignals(key.to_owned()));
        }
        let new = store::signal::New {
            workspace: workspace.as_str(),
            run: None,
            request_key: key,
            name,
            payload,
        };
        store::signal::insert(&mut tx, &new).await?;
        let reply = wire::SignalRunResponse { delivered: false };
        receipt::insert(&mut tx, store::SCHEMA, call, workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }

    pub(crate) async fn get_output(
        &self,
        workspace: &WorkspaceId,
        named: Named<'_>,
        text: &str,
    ) -> Result<Bytes, Error> {
        let (_, task) = self.task(workspace, named, text).await?;
        let mut conn = self.pool.acquire().await?;
        let found = store::task::outputs(&mut conn, &[(task.run, task.n)]).await?;
        super::task::must_exist(&mut conn, task.run).await?;
        let output = if task.i > 0 {
            let member = found.into_iter().find(|(found, _)| *found == task);
            member.map(|(_, output)| output)
        } else {
            super::attempt::gather(found.into_iter().map(|(task, output)| (task.i, output)))
        };
        output.ok_or_else(|| Error::NoOutput(text.to_owned()))
    }

    /// Finds the task that an id names, in this workspace.
    pub(crate) async fn task(
        &self,
        workspace: &WorkspaceId,
        named: Named<'_>,
        text: &str,
    ) -> Result<(Arc<RunInfo>, TaskKey), Error> {
        let unknown = || Error::NoTask(text.to_owned());
        let info = self
            .info(workspace, named.run)
            .await
            .map_err(|error| match error {
                Error::NoRun(_) => unknown(),
                error => error,
            })?;
        let n = info.graph().index_of(named.key).ok_or_else(unknown)?;
        let task = TaskKey {
            run: named.run,
            n,
            i: named.member,
        };
        Ok((info, task))
    }
}

/// The turn that a run is under: the one that it is for, or its parent's.
fn under(wish: &Wish, parent: Option<&Parent>) -> Option<Turn> {
    let own = wish.turn.as_ref().map(|(turn, _)| turn.clone());
    own.or_else(|| wish.of_mind.clone())
        .or_else(|| Some(parent?.info.turn.as_ref()?.of_child()))
}

/// What a run is started with: the same key with anything else is another request.
fn body_hash(wish: &Wish) -> Vec<u8> {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    part(wish.graph.as_bytes());
    part(&wish.version.to_le_bytes());
    part(&wish.input);
    for (name, payload) in &wish.signals {
        part(name.as_bytes());
        part(payload);
    }
    if let Some(turn) = &wish.of_mind {
        part(b"mind");
        part(turn.id.as_uuid().as_bytes());
        part(turn.mind.as_str().as_bytes());
    }
    if let Some((turn, cap)) = &wish.turn {
        part(b"turn");
        part(turn.id.as_uuid().as_bytes());
        part(turn.mind.as_str().as_bytes());
        part(&cap.to_le_bytes());
    }
    hash.finalize().to_vec()
}

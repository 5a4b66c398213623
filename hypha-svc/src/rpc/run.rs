//! `RunService`.

use bytes::Bytes;
use cambium_proto::hypha::v1::run_service_server::RunService;
use cambium_proto::hypha::v1::{
    BatchGetRunsRequest, BatchGetRunsResponse, CancelRunRequest, CancelRunResponse,
    ExplainRunRequest, ExplainRunResponse, GetOutputRequest, GetOutputResponse, GetRunRequest,
    GetRunResponse, HoldsLeaseRequest, HoldsLeaseResponse, ListRunsRequest, ListRunsResponse,
    PauseRunRequest, PauseRunResponse, RerunFromRequest, RerunFromResponse, ResumeRunRequest,
    ResumeRunResponse, RunState, SignalRunRequest, SignalRunResponse, StartRunRequest,
    StartRunResponse, WatchRunRequest,
};
use cambium_service_kit::call::Call;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::entered;
use crate::app::run::{Which, Wish};
use crate::app::turn::{Withdrawal, is_swarm};
use crate::app::watch::Sent;
use crate::app::{App, rerun};
use crate::convert;
use crate::convert::id;
use crate::convert::page::Page;
use crate::convert::payload::{self, LIMIT};
use crate::engine::steer::{Steer, Steered};
use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct RunRpc(pub(crate) App);

const GRACE_MS: u32 = 30_000;
const LONGEST_GRACE_MS: u32 = 3_600_000;
/// Signals that come with a start.
const MOST_SIGNALS: usize = 100;
/// Keys that one call asks for.
const MOST_KEYS: usize = 1_000;

/// A run by its id or its key, exactly one of them.
fn which(run_id: &str, request_key: &str) -> Result<Which, Error> {
    match (run_id, request_key) {
        ("", "") => Err(Error::field("run_id", "is missing, and so is request_key")),
        (run, "") => Ok(Which::Run(id::run("run_id", run)?)),
        ("", key) => {
            convert::name("request_key", key)?;
            Ok(Which::Key(key.to_owned()))
        }
        _ => Err(Error::field(
            "request_key",
            "is given beside run_id: give one",
        )),
    }
}

fn signal(field: &'static str, name: &str, bytes: &Bytes) -> Result<(String, Bytes), Error> {
    convert::name(field, name)?;
    let payload = payload::from_wire("payload", bytes, LIMIT)?;
    Ok((name.to_owned(), payload))
}

fn cancelled_to_wire(steered: Steered) -> CancelRunResponse {
    CancelRunResponse {
        state: steered.state.into(),
        ended: steered.state > RunState::Cancelling,
        cost_micro_usd: None,
        ran: false,
    }
}

#[tonic::async_trait]
impl RunService for RunRpc {
    type WatchRunStream = ReceiverStream<Sent>;

    async fn start_run(
        &self,
        request: Request<StartRunRequest>,
    ) -> Result<Response<StartRunResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let turn = convert::turn::start(&request, is_swarm(&principal)?)?;
        convert::name("request_key", &request.request_key)?;
        convert::name("graph", &request.graph)?;
        if request.signals.len() > MOST_SIGNALS {
            return Err(Error::field("signals", "has over 100 entries").into());
        }
        let signals = request.signals.iter();
        let wish = Wish {
            workspace,
            signals: signals
                .map(|one| signal("signals.name", &one.name, &one.payload))
                .collect::<Result<_, _>>()?,
            request_key: request.request_key,
            graph: request.graph,
            version: request.version,
            input: payload::from_wire("input", &request.input, LIMIT)?,
            turn,
            of_mind: convert::turn::of_mind(&principal)?,
        };
        let parent = self.0.parent(&principal, &wish.workspace).await?;
        Ok(Response::new(self.0.start_run(wish, parent).await?))
    }

    async fn get_run(
        &self,
        request: Request<GetRunRequest>,
    ) -> Result<Response<GetRunResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        is_swarm(&principal)?;
        let request = request.into_inner();
        let which = which(&request.run_id, &request.request_key)?;
        let run = self.0.get_run(&workspace, &which).await?;
        Ok(Response::new(GetRunResponse { run: Some(run) }))
    }

    async fn batch_get_runs(
        &self,
        request: Request<BatchGetRunsRequest>,
    ) -> Result<Response<BatchGetRunsResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        is_swarm(&principal)?;
        let keys = request.into_inner().request_keys;
        if keys.len() > MOST_KEYS {
            return Err(Error::field("request_keys", "has over 1,000 entries").into());
        }
        for key in &keys {
            convert::name("request_keys", key)?;
        }
        Ok(Response::new(
            self.0.batch_get_runs(&workspace, &keys).await?,
        ))
    }

    async fn holds_lease(
        &self,
        request: Request<HoldsLeaseRequest>,
    ) -> Result<Response<HoldsLeaseResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        is_swarm(&principal)?;
        let request = request.into_inner();
        let turn = convert::turn::id("turn_id", &request.turn_id)?;
        convert::name("worker", &request.worker)?;
        let held = self.0.holds_lease(&workspace, turn, &request.worker);
        Ok(Response::new(held.await?))
    }

    async fn list_runs(
        &self,
        request: Request<ListRunsRequest>,
    ) -> Result<Response<ListRunsResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let state =
            RunState::try_from(request.state).map_err(|_| Error::field("state", "is unknown"))?;
        let list = ["runs", workspace.as_str(), state.as_str_name()];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let state = (state != RunState::Unspecified)
            .then(|| i16::try_from(request.state).unwrap_or_default());
        Ok(Response::new(
            self.0.list_runs(&workspace, &page, state).await?,
        ))
    }

    async fn watch_run(
        &self,
        request: Request<WatchRunRequest>,
    ) -> Result<Response<Self::WatchRunStream>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let run = id::run("run_id", &request.run_id)?;
        let stream = self
            .0
            .watch_run(&principal, &workspace, run, request.after_seq)
            .await?;
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn cancel_run(
        &self,
        request: Request<CancelRunRequest>,
    ) -> Result<Response<CancelRunResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let is_swarm = is_swarm(&principal)?;
        let request = request.into_inner();
        let grace = request.grace_ms.unwrap_or(GRACE_MS);
        if grace > LONGEST_GRACE_MS {
            return Err(Error::field("grace_ms", "is over an hour").into());
        }
        let reason = request.reason;
        if reason.chars().count() > 1_000 {
            return Err(Error::field("reason", "has over 1,000 characters").into());
        }
        let which = which(&request.run_id, &request.request_key)?;
        let grace_ms = grace.into();
        let reply = match which {
            Which::Run(_) if is_swarm => {
                return Err(Error::Denied("swarm cancels by the key of a turn").into());
            }
            Which::Key(key) if is_swarm => {
                let turn = convert::turn::id("request_key", &key)?;
                let withdrawal = Withdrawal {
                    workspace,
                    turn,
                    grace_ms,
                    reason,
                };
                self.0.withdraw_turn(withdrawal).await?
            }
            which => {
                let run = self.0.named(&workspace, &which).await?;
                let wish = Steer::Cancel { grace_ms, reason };
                let steered = self
                    .0
                    .steer_run(&call, &workspace, run, &wish, cancelled_to_wire);
                steered.await?
            }
        };
        Ok(Response::new(reply))
    }

    async fn pause_run(
        &self,
        request: Request<PauseRunRequest>,
    ) -> Result<Response<PauseRunResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let run = id::run("run_id", &request.get_ref().run_id)?;
        let wish = Steer::Pause;
        let reply = self
            .0
            .steer_run(&call, &workspace, run, &wish, |steered| PauseRunResponse {
                state: steered.state.into(),
            });
        Ok(Response::new(reply.await?))
    }

    async fn resume_run(
        &self,
        request: Request<ResumeRunRequest>,
    ) -> Result<Response<ResumeRunResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let run = id::run("run_id", &request.get_ref().run_id)?;
        let wish = Steer::Resume;
        let reply = self
            .0
            .steer_run(&call, &workspace, run, &wish, |steered| ResumeRunResponse {
                state: steered.state.into(),
            });
        Ok(Response::new(reply.await?))
    }

    async fn signal_run(
        &self,
        request: Request<SignalRunRequest>,
    ) -> Result<Response<SignalRunResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.into_inner();
        let which = which(&request.run_id, &request.request_key)?;
        let (name, payload) = signal("name", &request.name, &request.payload)?;
        let reply = self
            .0
            .signal_run(&call, &workspace, &which, &name, &payload);
        Ok(Response::new(reply.await?))
    }

    async fn explain_run(
        &self,
        request: Request<ExplainRunRequest>,
    ) -> Result<Response<ExplainRunResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let run = id::run("run_id", &request.get_ref().run_id)?;
        Ok(Response::new(self.0.explain_run(&workspace, run).await?))
    }

    async fn get_output(
        &self,
        request: Request<GetOutputRequest>,
    ) -> Result<Response<GetOutputResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let text = &request.get_ref().task_id;
        let named = id::parse_task("task_id", text)?;
        let output = self.0.get_output(&workspace, named, text).await?;
        Ok(Response::new(GetOutputResponse { output }))
    }

    async fn rerun_from(
        &self,
        request: Request<RerunFromRequest>,
    ) -> Result<Response<RerunFromResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        if !request.dry_run {
            convert::name("request_key", &request.request_key)?;
        }
        let wish = rerun::Wish {
            run: id::run("run_id", &request.run_id)?,
            request_key: request.request_key,
            nodes: request.nodes,
            dry_run: request.dry_run,
            workspace,
        };
        let parent = if wish.dry_run {
            None
        } else {
            self.0.parent(&principal, &wish.workspace).await?
        };
        Ok(Response::new(self.0.rerun_from(&wish, parent).await?))
    }
}

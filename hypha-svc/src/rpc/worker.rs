//! `WorkerService`. The fence of each call is its lease, and its receipt is the attempt that it ended.

use std::sync::Arc;
use std::time::Duration;

use cambium_kernel::AgentId;
use cambium_proto::hypha::v1::worker_service_server::WorkerService;
use cambium_proto::hypha::v1::{
    CompleteManyRequest, CompleteManyResponse, CompleteRequest, CompleteResponse, FailRequest,
    FailResponse, HeartbeatRequest, HeartbeatResponse, Lease, MintAgentTokenRequest,
    MintAgentTokenResponse, ParkRequest, ParkResponse, PollRequest, PollResponse, RegisterRequest,
    RegisterResponse, ReleaseRequest, ReleaseResponse, Usage, WorkRequest, WorkResponse,
};
use cambium_service_kit::call::{self, Call};
use cambium_service_kit::principal::Principal;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::entered;
use crate::app::App;
use crate::app::worker::{Announcement, End, Held};
use crate::convert::payload::{self, CHECKPOINT_LIMIT};
use crate::convert::{self, id};
use crate::engine::offer::Registration;
use crate::engine::op;
use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct WorkerRpc(pub(crate) App);

const MOST_ATTEMPTS: u32 = 100;
const LONGEST_WAIT_MS: u32 = 25_000;
const MOST_SLOTS: u32 = 10_000;
const MOST_LEASES: usize = 10_000;
const LONGEST_DETAIL: usize = 4 << 10;
/// Above this a figure is a mistake, not a cost: a million dollars for one attempt.
const DEAREST: i64 = 1_000_000_000_000;

impl WorkerRpc {
    async fn held(
        &self,
        principal: &Principal,
        registration: &str,
        lease: Option<&Lease>,
    ) -> Result<(Arc<Registration>, Held), Error> {
        let presented = id::lease(lease)?;
        let registration = self.0.registration(principal, registration).await?;
        let text = lease.map_or("", |lease| lease.task_id.as_str());
        let held = self.0.held(&registration, text, &presented).await?;
        Ok((registration, held))
    }
}

fn announcement(
    workspace: cambium_kernel::WorkspaceId,
    request: RegisterRequest,
) -> Result<Announcement, Error> {
    convert::name("worker", &request.worker)?;
    let incarnation = Uuid::try_parse(&request.incarnation)
        .map_err(|_| Error::field("incarnation", "is not a UUID"))?;
    if request.agent_ids.is_empty() || request.agent_ids.len() > 100 {
        return Err(Error::field("agent_ids", "has none, or over 100"));
    }
    let agents = request.agent_ids.iter().map(|text| {
        text.parse::<AgentId>()
            .map_err(|_| Error::field("agent_ids", format!("`{text}` is not a UUID")))
    });
    if !(1..=MOST_SLOTS).contains(&request.slots) {
        return Err(Error::field("slots", "is outside 1 to 10,000"));
    }
    for capability in &request.capabilities {
        convert::name("capabilities", capability)?;
    }
    Ok(Announcement {
        workspace,
        worker: request.worker,
        incarnation,
        agents: agents.collect::<Result<_, _>>()?,
        slots: request.slots,
        capabilities: request.capabilities,
    })
}

fn usage_from_wire(usage: Option<Usage>) -> Result<Option<op::Usage>, Error> {
    let Some(usage) = usage else {
        return Ok(None);
    };
    if !(0..=DEAREST).contains(&usage.micro_usd) {
        return Err(Error::field("usage.micro_usd", "is outside 0 to 10^12"));
    }
    Ok(Some(op::Usage {
        micro_usd: usage.micro_usd,
        measured: usage.measured,
    }))
}

#[tonic::async_trait]
impl WorkerService for WorkerRpc {
    async fn register(
        &self,
        request: Request<RegisterRequest>,
    ) -> Result<Response<RegisterResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = announcement(workspace, request.into_inner())?;
        Ok(Response::new(self.0.register(&call, &wish).await?))
    }

    async fn poll(&self, request: Request<PollRequest>) -> Result<Response<PollResponse>, Status> {
        let principal = call::principal(&request)?;
        let request = request.into_inner();
        if !(1..=MOST_ATTEMPTS).contains(&request.max) {
            return Err(Error::field("max", "is outside 1 to 100").into());
        }
        if request.wait_ms > LONGEST_WAIT_MS {
            return Err(Error::field("wait_ms", "is over 25,000").into());
        }
        let wait = Duration::from_millis(request.wait_ms.into());
        let id = &request.registration_id;
        let reply = self.0.poll(&principal, id, request.max, wait);
        Ok(Response::new(reply.await?))
    }

    async fn heartbeat(
        &self,
        request: Request<HeartbeatRequest>,
    ) -> Result<Response<HeartbeatResponse>, Status> {
        let principal = call::principal(&request)?;
        let request = request.into_inner();
        if request.leases.len() > MOST_LEASES {
            return Err(Error::field("leases", "has over 10,000 entries").into());
        }
        let leases = request.leases.iter().map(|lease| id::lease(Some(lease)));
        let leases: Vec<_> = leases.collect::<Result<_, _>>()?;
        let reply = self
            .0
            .heartbeat(&principal, &request.registration_id, &leases);
        Ok(Response::new(reply.await?))
    }

    async fn complete(
        &self,
        request: Request<CompleteRequest>,
    ) -> Result<Response<CompleteResponse>, Status> {
        let principal = call::principal(&request)?;
        let request = request.into_inner();
        if request.next > MOST_ATTEMPTS {
            return Err(Error::field("next", "is over 100").into());
        }
        let usage = usage_from_wire(request.usage)?;
        let lease = request.lease.as_ref();
        let (registration, held) = self
            .held(&principal, &request.registration_id, lease)
            .await?;
        let output = match payload::output(&request.output) {
            Ok(output) => output,
            Err(fault) => {
                // The task fails with the reason; the worker hears it and lives on.
                let end = End::Fail {
                    code: fault.code().to_owned(),
                    detail: fault.to_string(),
                    retryable: false,
                };
                self.0.end_attempt(&registration, held, end, usage).await?;
                return Err(Error::Output(fault).into());
            }
        };
        let end = End::Complete {
            output,
            next: request.next,
        };
        let (_, next) = self.0.end_attempt(&registration, held, end, usage).await?;
        Ok(Response::new(CompleteResponse { next }))
    }

    async fn fail(&self, request: Request<FailRequest>) -> Result<Response<FailResponse>, Status> {
        let principal = call::principal(&request)?;
        let request = request.into_inner();
        convert::name("code", &request.code)?;
        if request.detail.len() > LONGEST_DETAIL {
            return Err(Error::field("detail", "is over 4 KiB").into());
        }
        if request.detail.contains('\0') {
            return Err(Error::field("detail", "holds a NUL").into());
        }
        let usage = usage_from_wire(request.usage)?;
        let lease = request.lease.as_ref();
        let (registration, held) = self
            .held(&principal, &request.registration_id, lease)
            .await?;
        let end = End::Fail {
            code: request.code,
            detail: request.detail,
            retryable: request.retryable,
        };
        let (state, _) = self.0.end_attempt(&registration, held, end, usage).await?;
        Ok(Response::new(FailResponse {
            state: state.into(),
        }))
    }

    async fn park(&self, request: Request<ParkRequest>) -> Result<Response<ParkResponse>, Status> {
        let principal = call::principal(&request)?;
        let request = request.into_inner();
        convert::name("signal", &request.signal)?;
        let until = request.until.as_ref();
        let until = until.map(|until| convert::time_from_wire("until", until));
        let lease = request.lease.as_ref();
        let end = End::Park {
            signal: request.signal,
            until: until.transpose()?,
            checkpoint: payload::from_wire("checkpoint", &request.checkpoint, CHECKPOINT_LIMIT)?,
        };
        let (registration, held) = self
            .held(&principal, &request.registration_id, lease)
            .await?;
        self.0.end_attempt(&registration, held, end, None).await?;
        Ok(Response::new(ParkResponse {}))
    }

    async fn release(
        &self,
        request: Request<ReleaseRequest>,
    ) -> Result<Response<ReleaseResponse>, Status> {
        let principal = call::principal(&request)?;
        let request = request.into_inner();
        let lease = request.lease.as_ref();
        let (registration, held) = self
            .held(&principal, &request.registration_id, lease)
            .await?;
        self.0
            .end_attempt(&registration, held, End::Release, None)
            .await?;
        Ok(Response::new(ReleaseResponse {}))
    }

    type WorkStream = tokio_stream::wrappers::ReceiverStream<Result<WorkResponse, Status>>;

    async fn complete_many(
        &self,
        _: Request<CompleteManyRequest>,
    ) -> Result<Response<CompleteManyResponse>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn work(
        &self,
        _: Request<tonic::Streaming<WorkRequest>>,
    ) -> Result<Response<Self::WorkStream>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn mint_agent_token(
        &self,
        _: Request<MintAgentTokenRequest>,
    ) -> Result<Response<MintAgentTokenResponse>, Status> {
        Err(Status::unimplemented(""))
    }
}

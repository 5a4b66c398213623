//! `WorkerService`. The fence of each call is its lease, and its receipt is the attempt that it ended.

use std::time::Duration;

use cambium_kernel::AgentId;
use cambium_proto::hypha::v1::worker_service_server::WorkerService;
use cambium_proto::hypha::v1::{
    Attempt, CompleteManyRequest, CompleteManyResponse, CompleteRequest, CompleteResponse,
    FailRequest, FailResponse, HeartbeatRequest, HeartbeatResponse, MintAgentTokenRequest,
    MintAgentTokenResponse, ParkRequest, ParkResponse, PollRequest, PollResponse, RegisterRequest,
    RegisterResponse, ReleaseRequest, ReleaseResponse, TaskState, WorkRequest, WorkResponse,
};
use cambium_service_kit::call::{self, Call};
use cambium_service_kit::principal::Principal;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::entered;
use crate::app::App;
use crate::app::ending::Ending;
use crate::app::worker::Announcement;
use crate::convert::{self, ending, id};
use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct WorkerRpc(pub(crate) App);

const MOST_ATTEMPTS: u32 = 100;
const LONGEST_WAIT_MS: u32 = 25_000;
const MOST_SLOTS: u32 = 10_000;
const MOST_LEASES: usize = 10_000;
/// Ends that one call brings.
const MOST_ENDS: usize = 100;

impl WorkerRpc {
    /// Ends the one attempt of a call.
    async fn end(
        &self,
        principal: &Principal,
        registration: &str,
        ending: Ending<'_>,
        next: u32,
    ) -> Result<(TaskState, Vec<Attempt>), Error> {
        let registration = self.0.registration(principal, registration).await?;
        self.0.end_one(&registration, ending, next).await
    }
}

fn within(field: &'static str, count: u32) -> Result<(), Error> {
    if count > MOST_ATTEMPTS {
        return Err(Error::field(field, "is over 100"));
    }
    Ok(())
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
        let registration = self.0.registration(&principal, &request.registration_id);
        let leases = self.0.heartbeat(&*registration.await?, &leases).await?;
        Ok(Response::new(HeartbeatResponse { leases }))
    }

    async fn complete(
        &self,
        request: Request<CompleteRequest>,
    ) -> Result<Response<CompleteResponse>, Status> {
        let principal = call::principal(&request)?;
        let request = request.into_inner();
        within("next", request.next)?;
        let lease = request.lease.as_ref();
        let ending = ending::complete(lease, &request.output, request.usage)?;
        let ended = self.end(&principal, &request.registration_id, ending, request.next);
        let (_, next) = ended.await?;
        Ok(Response::new(CompleteResponse { next }))
    }

    async fn complete_many(
        &self,
        request: Request<CompleteManyRequest>,
    ) -> Result<Response<CompleteManyResponse>, Status> {
        let principal = call::principal(&request)?;
        let request = request.into_inner();
        within("next", request.next)?;
        if !(1..=MOST_ENDS).contains(&request.completions.len()) {
            return Err(Error::field("completions", "has none, or over 100").into());
        }
        let registration = self.0.registration(&principal, &request.registration_id);
        let registration = registration.await?;
        let completions = request.completions.iter();
        let endings =
            completions.map(|one| ending::complete(one.lease.as_ref(), &one.output, one.usage));
        let ended = self
            .0
            .end_all(&registration, endings.collect(), request.next);
        let (ends, next) = ended.await?;
        let results = request.completions.iter().zip(ends);
        let results = results.map(|(one, end)| ending::result_to_wire(one.lease.as_ref(), end));
        Ok(Response::new(CompleteManyResponse {
            results: results.collect(),
            next,
        }))
    }

    async fn fail(&self, request: Request<FailRequest>) -> Result<Response<FailResponse>, Status> {
        let principal = call::principal(&request)?;
        let request = request.into_inner();
        let ending = ending::fail(&request)?;
        let ended = self.end(&principal, &request.registration_id, ending, 0);
        let (state, _) = ended.await?;
        Ok(Response::new(FailResponse {
            state: state.into(),
        }))
    }

    async fn park(&self, request: Request<ParkRequest>) -> Result<Response<ParkResponse>, Status> {
        let principal = call::principal(&request)?;
        let request = request.into_inner();
        let ending = ending::park(&request)?;
        let ended = self.end(&principal, &request.registration_id, ending, 0);
        ended.await?;
        Ok(Response::new(ParkResponse {}))
    }

    async fn release(
        &self,
        request: Request<ReleaseRequest>,
    ) -> Result<Response<ReleaseResponse>, Status> {
        let principal = call::principal(&request)?;
        let request = request.into_inner();
        let ending = ending::release(&request)?;
        let ended = self.end(&principal, &request.registration_id, ending, 0);
        ended.await?;
        Ok(Response::new(ReleaseResponse {}))
    }

    type WorkStream = ReceiverStream<Result<WorkResponse, Status>>;

    async fn work(
        &self,
        request: Request<tonic::Streaming<WorkRequest>>,
    ) -> Result<Response<Self::WorkStream>, Status> {
        let principal = call::principal(&request)?;
        let replies = super::work::open(self.0.clone(), principal, request.into_inner());
        Ok(Response::new(replies))
    }

    async fn mint_agent_token(
        &self,
        request: Request<MintAgentTokenRequest>,
    ) -> Result<Response<MintAgentTokenResponse>, Status> {
        let principal = call::principal(&request)?;
        let request = request.into_inner();
        let presented = id::lease(request.lease.as_ref())?;
        let text = request
            .lease
            .as_ref()
            .map_or("", |lease| lease.task_id.as_str());
        let registration = self.0.registration(&principal, &request.registration_id);
        let registration = registration.await?;
        let reply = self.0.agent_token(&registration, &presented, text);
        Ok(Response::new(reply.await?))
    }
}

//! `cambium.genesis.v1.AgentService`.

use std::sync::Arc;

use cambium_proto::genesis::v1::agent_service_server::AgentService;
use cambium_proto::genesis::v1::{
    EnrollAgentRequest, EnrollAgentResponse, GetAgentRequest, GetAgentResponse, GetAncestryRequest,
    GetAncestryResponse, ListAgentsRequest, ListAgentsResponse, RetireAgentRequest,
    RetireAgentResponse, WatchAgentsRequest,
};
use cambium_service_kit::call::{self, Call};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::entered;
use crate::app::{App, Sent};
use crate::convert::{self, Page};

#[derive(Debug)]
pub(crate) struct AgentRpc {
    app: Arc<App>,
}

impl AgentRpc {
    pub(crate) fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

#[tonic::async_trait]
impl AgentService for AgentRpc {
    type WatchAgentsStream = ReceiverStream<Sent>;

    async fn enroll_agent(
        &self,
        request: Request<EnrollAgentRequest>,
    ) -> Result<Response<EnrollAgentResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = convert::enrollment_from_wire(&call.principal, request.get_ref())?;
        Ok(Response::new(self.app.enroll(&call, &wish).await?))
    }

    async fn get_agent(
        &self,
        request: Request<GetAgentRequest>,
    ) -> Result<Response<GetAgentResponse>, Status> {
        let caller = call::principal(&request)?;
        let (workspace, which) = convert::which_from_wire(&caller, request.get_ref())?;
        Ok(Response::new(self.app.agent(&workspace, &which).await?))
    }

    async fn list_agents(
        &self,
        request: Request<ListAgentsRequest>,
    ) -> Result<Response<ListAgentsResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let list = ["agents", workspace.as_str()];
        let page = Page::from_wire(&list, request.page_size, &request.page_token)?;
        Ok(Response::new(self.app.agents(&workspace, &page).await?))
    }

    async fn retire_agent(
        &self,
        request: Request<RetireAgentRequest>,
    ) -> Result<Response<RetireAgentResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = convert::retirement_from_wire(&call.principal, request.into_inner())?;
        Ok(Response::new(self.app.retire(&call, &wish).await?))
    }

    async fn get_ancestry(
        &self,
        request: Request<GetAncestryRequest>,
    ) -> Result<Response<GetAncestryResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let agent = convert::agent_id(&request.get_ref().agent_id)?;
        Ok(Response::new(self.app.ancestry(&workspace, agent).await?))
    }

    async fn watch_agents(
        &self,
        request: Request<WatchAgentsRequest>,
    ) -> Result<Response<Self::WatchAgentsStream>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let stream = self.app.watch_agents(&caller, workspace)?;
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

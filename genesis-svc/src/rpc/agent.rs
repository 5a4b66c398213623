//! `cambium.genesis.v1.AgentService`.

use std::sync::Arc;

use cambium_proto::genesis::v1::agent_service_server::AgentService;
use cambium_proto::genesis::v1::{
    EnrollAgentRequest, EnrollAgentResponse, GetAgentRequest, GetAgentResponse, ListAgentsRequest,
    ListAgentsResponse,
};
use cambium_service_kit::call::{self, Call};
use tonic::{Request, Response, Status};

use crate::app::App;
use crate::convert;

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
        let caller = call::principal(&request)?;
        let (workspace, page) = convert::page_from_wire(&caller, request.get_ref())?;
        Ok(Response::new(self.app.agents(&workspace, &page).await?))
    }
}

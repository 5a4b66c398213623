//! `cambium.immune.v1.QuarantineService`.

use std::sync::Arc;

use cambium_proto::immune::v1::quarantine_service_server::QuarantineService;
use cambium_proto::immune::v1::{
    ListQuarantinesRequest, ListQuarantinesResponse, QuarantineAgentRequest,
    QuarantineAgentResponse, ReleaseQuarantineRequest, ReleaseQuarantineResponse,
};
use cambium_service_kit::call::Call;
use tonic::{Request, Response, Status};

use super::entered;
use crate::app::{App, Release, Wish};
use crate::convert;
use crate::store::Key;
use cambium_service_kit::page::Page;

#[derive(Debug)]
pub(crate) struct QuarantineRpc(pub(crate) Arc<App>);

#[tonic::async_trait]
impl QuarantineService for QuarantineRpc {
    async fn quarantine_agent(
        &self,
        request: Request<QuarantineAgentRequest>,
    ) -> Result<Response<QuarantineAgentResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let agent = convert::agent_from_wire("agent_id", &request.agent_id)?;
        let wish = Wish {
            key: Key { workspace, agent },
            reason: convert::reason_from_wire("reason", &request.reason)?,
            length: convert::length_from_wire(request.duration.as_ref())?,
            over_cap: request.over_cap,
        };
        Ok(Response::new(self.0.quarantine(&call, &wish).await?))
    }

    async fn release_quarantine(
        &self,
        request: Request<ReleaseQuarantineRequest>,
    ) -> Result<Response<ReleaseQuarantineResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let agent = convert::agent_from_wire("agent_id", &request.agent_id)?;
        let wish = Release {
            key: Key { workspace, agent },
            reason: convert::reason_from_wire("reason", &request.reason)?,
        };
        Ok(Response::new(self.0.release(&call, &wish).await?))
    }

    async fn list_quarantines(
        &self,
        request: Request<ListQuarantinesRequest>,
    ) -> Result<Response<ListQuarantinesResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let ended = request.include_ended.to_string();
        let list = ["quarantines", workspace.as_str(), &ended];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let reply = self
            .0
            .quarantines(&workspace, request.include_ended, &page)
            .await?;
        Ok(Response::new(reply))
    }
}

//! `MindService`.

mod asked;

use std::sync::Arc;

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::mind_service_server::MindService;
use cambium_service_kit::call::Call;
use cambium_service_kit::page::Page;
use cambium_swarm::Instance;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::{changed, entered};
use crate::app::{App, Sent};
use crate::convert::{self, mind as wired};
use crate::error::Error;

pub(crate) struct MindRpc(Arc<App>);

impl MindRpc {
    pub(crate) const fn new(app: Arc<App>) -> Self {
        Self(app)
    }
}

type Exported = Result<wire::ExportMindResponse, Status>;

#[tonic::async_trait]
impl MindService for MindRpc {
    type WatchMindsStream = ReceiverStream<Sent<wire::WatchMindsResponse>>;
    type ExportMindStream = tokio_stream::Iter<std::vec::IntoIter<Exported>>;

    async fn propose_mind(
        &self,
        request: Request<wire::ProposeMindRequest>,
    ) -> Result<Response<wire::ProposeMindResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let workspace = convert::workspace(&call.principal, &request.get_ref().workspace_id)?;
        let proposal = asked::proposal(request.into_inner())?;
        changed(|| self.0.propose_mind(&call, &workspace, &proposal)).await
    }

    async fn open_mind(
        &self,
        request: Request<wire::OpenMindRequest>,
    ) -> Result<Response<wire::OpenMindResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let workspace = convert::workspace(&call.principal, &request.get_ref().workspace_id)?;
        let birth = asked::birth(request.into_inner())?;
        changed(|| self.0.open_mind(&call, &workspace, &birth)).await
    }

    async fn decline_mind(
        &self,
        request: Request<wire::DeclineMindRequest>,
    ) -> Result<Response<wire::DeclineMindResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let mind = Instance::parse(&request.instance).map_err(Error::from)?;
        let reason = &request.reason;
        changed(|| self.0.decline_mind(&call, &workspace, &mind, reason)).await
    }

    async fn set_target(
        &self,
        request: Request<wire::SetTargetRequest>,
    ) -> Result<Response<wire::SetTargetResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.into_inner();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let mind = Instance::parse(&request.instance).map_err(Error::from)?;
        let target = wired::target_from_wire(request.target)?;
        changed(|| self.0.set_target(&call, &workspace, &mind, target.clone())).await
    }

    async fn get_mind(
        &self,
        request: Request<wire::GetMindRequest>,
    ) -> Result<Response<wire::GetMindResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        let mind = Instance::parse(&request.get_ref().instance).map_err(Error::from)?;
        Ok(Response::new(self.0.mind(&workspace, &mind).await?))
    }

    async fn list_minds(
        &self,
        request: Request<wire::ListMindsRequest>,
    ) -> Result<Response<wire::ListMindsResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        let request = request.get_ref();
        let state = wired::shown_from_wire(request.state)?;
        let filter = request.state.to_string();
        let list = ["minds", workspace.as_str(), &filter];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        Ok(Response::new(self.0.minds(&workspace, state, &page).await?))
    }

    async fn watch_minds(
        &self,
        request: Request<wire::WatchMindsRequest>,
    ) -> Result<Response<Self::WatchMindsStream>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        let stream = self.0.watch_minds(&caller, workspace)?;
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn set_agenda(
        &self,
        request: Request<wire::SetAgendaRequest>,
    ) -> Result<Response<wire::SetAgendaResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let wakes = wired::wakes_from_wire(request.wakes)?;
        let wake_at = convert::time_from_wire("wake_at", request.wake_at)?;
        changed(|| self.0.set_agenda(&call, &workspace, wakes, wake_at)).await
    }

    async fn rest(
        &self,
        request: Request<wire::RestRequest>,
    ) -> Result<Response<wire::RestResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let until = convert::time_from_wire("until", request.until)?;
        changed(|| self.0.rest(&call, &workspace, until)).await
    }

    async fn end_rest(
        &self,
        request: Request<wire::EndRestRequest>,
    ) -> Result<Response<wire::EndRestResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let workspace = convert::workspace(&call.principal, &request.get_ref().workspace_id)?;
        changed(|| self.0.end_rest(&call, &workspace)).await
    }

    async fn request_retirement(
        &self,
        request: Request<wire::RequestRetirementRequest>,
    ) -> Result<Response<wire::RequestRetirementResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let reason = &request.reason;
        changed(|| self.0.request_retirement(&call, &workspace, reason)).await
    }

    async fn withdraw_request(
        &self,
        request: Request<wire::WithdrawRequestRequest>,
    ) -> Result<Response<wire::WithdrawRequestResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let workspace = convert::workspace(&call.principal, &request.get_ref().workspace_id)?;
        changed(|| self.0.withdraw_request(&call, &workspace)).await
    }

    async fn retire_mind(
        &self,
        request: Request<wire::RetireMindRequest>,
    ) -> Result<Response<wire::RetireMindResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let mind = Instance::parse(&request.instance).map_err(Error::from)?;
        let reason = &request.reason;
        changed(|| self.0.retire_mind(&call, &workspace, &mind, reason)).await
    }

    async fn export_mind(
        &self,
        request: Request<wire::ExportMindRequest>,
    ) -> Result<Response<Self::ExportMindStream>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let mind = Instance::parse(&request.get_ref().instance).map_err(Error::from)?;
        let bundle = self.0.export_mind(&caller, &workspace, &mind).await?;
        Ok(Response::new(tokio_stream::iter(asked::parts(&bundle))))
    }

    async fn receive_mind(
        &self,
        request: Request<Streaming<wire::ReceiveMindRequest>>,
    ) -> Result<Response<wire::ReceiveMindResponse>, Status> {
        let request = asked::whole(request).await?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.into_inner();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let bundle = asked::text(request.chunk)?;
        let host = &request.host;
        changed(|| self.0.receive_mind(&call, &workspace, host, &bundle)).await
    }

    async fn complete_transfer(
        &self,
        request: Request<wire::CompleteTransferRequest>,
    ) -> Result<Response<wire::CompleteTransferResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let mind = Instance::parse(&request.instance).map_err(Error::from)?;
        let (host, sha256) = (&request.to_host, &request.bundle_sha256);
        changed(|| {
            self.0
                .complete_transfer(&call, &workspace, &mind, (host, sha256))
        })
        .await
    }
}

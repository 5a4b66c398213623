//! `ControlService`.

use std::sync::Arc;

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::control_service_server::ControlService;
use cambium_service_kit::call::Call;
use cambium_service_kit::page::Page;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::{changed, entered};
use crate::app::{App, Sent};
use crate::convert::control as wired;

pub(crate) struct ControlRpc(Arc<App>);

impl ControlRpc {
    pub(crate) const fn new(app: Arc<App>) -> Self {
        Self(app)
    }
}

#[tonic::async_trait]
impl ControlService for ControlRpc {
    type WatchAuditStream = ReceiverStream<Sent<wire::WatchAuditResponse>>;

    async fn get_control(
        &self,
        request: Request<wire::GetControlRequest>,
    ) -> Result<Response<wire::GetControlResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        Ok(Response::new(self.0.control(&workspace).await?))
    }

    async fn set_share(
        &self,
        request: Request<wire::SetShareRequest>,
    ) -> Result<Response<wire::SetShareResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wired::share_from_wire(&call.principal, request.get_ref())?;
        changed(|| self.0.set_share(&call, &wish)).await
    }

    async fn set_haste(
        &self,
        request: Request<wire::SetHasteRequest>,
    ) -> Result<Response<wire::SetHasteResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wired::haste_from_wire(&call.principal, request.get_ref())?;
        changed(|| self.0.set_haste(&call, &wish)).await
    }

    async fn remove_share(
        &self,
        request: Request<wire::RemoveShareRequest>,
    ) -> Result<Response<wire::RemoveShareResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wired::removal_from_wire(&call.principal, request.get_ref())?;
        changed(|| self.0.remove_share(&call, &wish)).await
    }

    async fn set_dial(
        &self,
        request: Request<wire::SetDialRequest>,
    ) -> Result<Response<wire::SetDialResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wired::dial_from_wire(&call.principal, request.get_ref())?;
        changed(|| self.0.set_dial(&call, &wish)).await
    }

    async fn set_wallet(
        &self,
        request: Request<wire::SetWalletRequest>,
    ) -> Result<Response<wire::SetWalletResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wired::wallet_from_wire(&call.principal, request.get_ref())?;
        changed(|| self.0.set_wallet(&call, &wish)).await
    }

    async fn hold_brake(
        &self,
        request: Request<wire::HoldBrakeRequest>,
    ) -> Result<Response<wire::HoldBrakeResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wired::hold_from_wire(&call.principal, request.into_inner())?;
        changed(|| self.0.hold_brake(&call, &wish)).await
    }

    async fn release_brake(
        &self,
        request: Request<wire::ReleaseBrakeRequest>,
    ) -> Result<Response<wire::ReleaseBrakeResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wired::release_from_wire(&call.principal, request.get_ref())?;
        changed(|| self.0.release_brake(&call, &wish)).await
    }

    async fn operate_mind(
        &self,
        request: Request<wire::OperateMindRequest>,
    ) -> Result<Response<wire::OperateMindResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wired::operate_from_wire(&call.principal, request.get_ref())?;
        changed(|| self.0.operate_mind(&call, &wish)).await
    }

    async fn extend_session(
        &self,
        request: Request<wire::ExtendSessionRequest>,
    ) -> Result<Response<wire::ExtendSessionResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wired::extension_from_wire(&call.principal, request.get_ref())?;
        changed(|| self.0.extend_session(&call, &wish)).await
    }

    async fn close_session(
        &self,
        request: Request<wire::CloseSessionRequest>,
    ) -> Result<Response<wire::CloseSessionResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wired::closing_from_wire(&call.principal, request.get_ref())?;
        changed(|| self.0.close_session(&call, &wish)).await
    }

    async fn reset_timeline(
        &self,
        request: Request<wire::ResetTimelineRequest>,
    ) -> Result<Response<wire::ResetTimelineResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wired::reset_from_wire(&call.principal, request.into_inner())?;
        changed(|| self.0.reset_timeline(&call, &wish)).await
    }

    async fn list_audit(
        &self,
        request: Request<wire::ListAuditRequest>,
    ) -> Result<Response<wire::ListAuditResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let list = ["audit", workspace.as_str()];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        Ok(Response::new(
            self.0.list_audit(&caller, &workspace, &page).await?,
        ))
    }

    async fn watch_audit(
        &self,
        request: Request<wire::WatchAuditRequest>,
    ) -> Result<Response<Self::WatchAuditStream>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let after = request.get_ref().after_seq;
        let stream = self.0.watch_audit(&caller, workspace, after).await?;
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

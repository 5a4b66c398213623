//! `cambium.stigmergy.v1.MarkerService`.

use std::sync::Arc;

use cambium_kernel::WorkspaceId;
use cambium_proto::stigmergy::v1 as wire;
use cambium_proto::stigmergy::v1::marker_service_server::MarkerService;
use cambium_service_kit::call::{self, Call};
use cambium_service_kit::page::Page;
use cambium_service_kit::principal::Principal;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use crate::app::App;
use crate::app::watch::Sent;
use crate::convert::{self, search, wish};
use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct MarkerRpc(pub(crate) App);

/// Who calls, and in which workspace.
fn entered<T>(
    request: &Request<T>,
    workspace: impl Fn(&T) -> &str,
) -> Result<(Arc<Principal>, WorkspaceId), Error> {
    let principal = call::principal(request)?;
    let workspace = workspace(request.get_ref());
    let workspace = call::workspace(&principal, workspace, "workspace_id")?;
    Ok((principal, workspace))
}

#[tonic::async_trait]
impl MarkerService for MarkerRpc {
    type WatchMarkersStream = ReceiverStream<Sent>;

    async fn place_marker(
        &self,
        request: Request<wire::PlaceMarkerRequest>,
    ) -> Result<Response<wire::PlaceMarkerResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wish::place_from_wire(request.get_ref())?;
        let answer = self.0.touch(call, workspace, wish).await?;
        Ok(Response::new(answer))
    }

    async fn reinforce_marker(
        &self,
        request: Request<wire::ReinforceMarkerRequest>,
    ) -> Result<Response<wire::ReinforceMarkerResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wish::reinforce_from_wire(request.get_ref())?;
        let marker = self.0.touch(call, workspace, wish).await?.marker;
        Ok(Response::new(wire::ReinforceMarkerResponse { marker }))
    }

    async fn transform_marker(
        &self,
        request: Request<wire::TransformMarkerRequest>,
    ) -> Result<Response<wire::TransformMarkerResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wish::transform_from_wire(request.get_ref())?;
        let marker = self.0.touch(call, workspace, wish).await?.marker;
        Ok(Response::new(wire::TransformMarkerResponse { marker }))
    }

    async fn sense_markers(
        &self,
        request: Request<wire::SenseMarkersRequest>,
    ) -> Result<Response<wire::SenseMarkersResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let search = search::from_wire(&principal, request.get_ref())?;
        let reply = self.0.sense(&principal, &workspace, &search).await?;
        Ok(Response::new(reply))
    }

    async fn sense_gradient(
        &self,
        request: Request<wire::SenseGradientRequest>,
    ) -> Result<Response<wire::SenseGradientResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let region = convert::region_or_all(&request.region)?;
        let reply = self
            .0
            .gradient(
                &principal,
                &workspace,
                region.as_ref(),
                request.include_quarantined,
            )
            .await?;
        Ok(Response::new(reply))
    }

    async fn get_marker(
        &self,
        request: Request<wire::GetMarkerRequest>,
    ) -> Result<Response<wire::GetMarkerResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let id = convert::marker_id(&request.get_ref().marker_id)?;
        let reply = self.0.marker(&principal, &workspace, id).await?;
        Ok(Response::new(reply))
    }

    async fn get_lineage(
        &self,
        request: Request<wire::GetLineageRequest>,
    ) -> Result<Response<wire::GetLineageResponse>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let id = convert::marker_id(&request.marker_id)?;
        let reply = self
            .0
            .lineage(&principal, &workspace, id, request.from_depth)
            .await?;
        Ok(Response::new(reply))
    }

    async fn watch_markers(
        &self,
        request: Request<wire::WatchMarkersRequest>,
    ) -> Result<Response<Self::WatchMarkersStream>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let region = convert::region_or_all(&request.region)?;
        let stream = self
            .0
            .watch(&principal, workspace, region, request.after_seq)
            .await?;
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn list_regions(
        &self,
        request: Request<wire::ListRegionsRequest>,
    ) -> Result<Response<wire::ListRegionsResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let region = convert::region_or_all(&request.region)?;
        let list = ["regions", workspace.as_str(), &request.region];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let reply = self.0.regions(&workspace, region.as_ref(), &page).await?;
        Ok(Response::new(reply))
    }
}

//! `cambium.immune.v1.StandingService`.

use std::sync::Arc;

use cambium_proto::immune::v1::standing_service_server::StandingService;
use cambium_proto::immune::v1::{
    AdjustTrustRequest, AdjustTrustResponse, ExplainStandingRequest, ExplainStandingResponse,
    GetStandingRequest, GetStandingResponse, ListStandingsRequest, ListStandingsResponse,
    WatchStandingsRequest,
};
use cambium_service_kit::call::Call;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::entered;
use crate::app::App;
use crate::app::watch::StandingSent;
use crate::convert;
use crate::error::Error;
use crate::store::Key;
use cambium_service_kit::page::Page;

#[derive(Debug)]
pub(crate) struct StandingRpc(pub(crate) Arc<App>);

/// By how much an operator moves trust, in millionths.
fn delta_from_wire(delta: f64) -> Result<i32, Error> {
    // Also refuses what is no number.
    if !(-1.0..=1.0).contains(&delta) {
        return Err(Error::field("delta", "is outside -1 to 1"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "within a million, and rounded"
    )]
    let millionths = (delta * 1e6).round() as i32;
    if millionths == 0 {
        return Err(Error::field("delta", "is 0: that changes nothing"));
    }
    Ok(millionths)
}

#[tonic::async_trait]
impl StandingService for StandingRpc {
    type WatchStandingsStream = ReceiverStream<StandingSent>;

    async fn get_standing(
        &self,
        request: Request<GetStandingRequest>,
    ) -> Result<Response<GetStandingResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let which = convert::which_from_wire(&request.agent_id, &request.name)?;
        let standing = self.0.standing(&workspace, &which).await?;
        Ok(Response::new(GetStandingResponse {
            standing: Some(convert::standing_to_wire(&standing)),
        }))
    }

    async fn list_standings(
        &self,
        request: Request<ListStandingsRequest>,
    ) -> Result<Response<ListStandingsResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let sort = convert::sort_from_wire(request.sort)?;
        let filter = convert::filter_from_wire(request.badge)?;
        let list = format!("{sort:?} {} {filter:?}", request.ascending);
        let list = ["standings", workspace.as_str(), &list];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let sort = (sort, request.ascending);
        let reply = self.0.standings(&workspace, sort, filter, &page).await?;
        Ok(Response::new(reply))
    }

    async fn explain_standing(
        &self,
        request: Request<ExplainStandingRequest>,
    ) -> Result<Response<ExplainStandingResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let which = convert::which_from_wire(&request.agent_id, &request.name)?;
        let wanted = convert::scores_from_wire(request.score)?;
        let list = format!("{which:?} {wanted:?}");
        let list = ["ledger", workspace.as_str(), &list];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let reply = self.0.explain(&workspace, &which, &page, wanted).await?;
        Ok(Response::new(reply))
    }

    async fn watch_standings(
        &self,
        request: Request<WatchStandingsRequest>,
    ) -> Result<Response<Self::WatchStandingsStream>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let agent = match request.get_ref().agent_id.as_str() {
            "" => None,
            id => Some(convert::agent_from_wire("agent_id", id)?),
        };
        let stream = self
            .0
            .watch_standings(&principal, &workspace, agent)
            .await?;
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn adjust_trust(
        &self,
        request: Request<AdjustTrustRequest>,
    ) -> Result<Response<AdjustTrustResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let agent = convert::agent_from_wire("agent_id", &request.agent_id)?;
        let delta = delta_from_wire(request.delta)?;
        let reason = convert::reason_from_wire("reason", &request.reason)?;
        let key = Key { workspace, agent };
        let reply = self.0.adjust(&call, &key, delta, &reason).await?;
        Ok(Response::new(reply))
    }
}

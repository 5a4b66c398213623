//! `MatchingService`.

use cambium_proto::hypha::v1::matching_service_server::MatchingService;
use cambium_proto::hypha::v1::{
    GetWeightsRequest, GetWeightsResponse, PutWeightsRequest, PutWeightsResponse,
};
use cambium_service_kit::call::Call;
use tonic::{Request, Response, Status};

use super::entered;
use crate::app::App;
use crate::convert::matching::{weights_from_wire, weights_to_wire};
use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct MatchingRpc(pub(crate) App);

#[tonic::async_trait]
impl MatchingService for MatchingRpc {
    async fn get_weights(
        &self,
        request: Request<GetWeightsRequest>,
    ) -> Result<Response<GetWeightsResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let version = self.0.weights(&workspace).await?;
        Ok(Response::new(GetWeightsResponse {
            weights: Some(weights_to_wire(&version)),
        }))
    }

    async fn put_weights(
        &self,
        request: Request<PutWeightsRequest>,
    ) -> Result<Response<PutWeightsResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id).map_err(Error::from)?;
        let wish = weights_from_wire(request.get_ref().weights.as_ref())?;
        let reply = self.0.put_weights(&call, &workspace, &wish).await?;
        Ok(Response::new(reply))
    }
}

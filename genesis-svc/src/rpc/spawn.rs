//! `cambium.genesis.v1.SpawnService`.

use std::sync::Arc;

use cambium_proto::genesis::v1::spawn_service_server::SpawnService;
use cambium_proto::genesis::v1::{
    DecideSpawnRequest, DecideSpawnResponse, ListSpawnsRequest, ListSpawnsResponse, SpawnRequest,
    SpawnResponse,
};
use cambium_service_kit::call::Call;
use tonic::{Request, Response, Status};

use super::entered;
use crate::app::App;
use crate::convert::{self, Page};
use crate::store::spawn::State;

#[derive(Debug)]
pub(crate) struct SpawnRpc {
    app: Arc<App>,
}

impl SpawnRpc {
    pub(crate) fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

#[tonic::async_trait]
impl SpawnService for SpawnRpc {
    async fn spawn(
        &self,
        request: Request<SpawnRequest>,
    ) -> Result<Response<SpawnResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = convert::spawn_from_wire(&call.principal, request.get_ref())?;
        Ok(Response::new(self.app.spawn(&call, &wish).await?))
    }

    async fn decide_spawn(
        &self,
        request: Request<DecideSpawnRequest>,
    ) -> Result<Response<DecideSpawnResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = convert::decision_from_wire(&call.principal, request.get_ref())?;
        Ok(Response::new(self.app.decide_spawn(&call, &wish).await?))
    }

    async fn list_spawns(
        &self,
        request: Request<ListSpawnsRequest>,
    ) -> Result<Response<ListSpawnsResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let state = convert::state_from_wire(request.state)?;
        let which = state.map_or("all", State::as_str);
        let list = ["spawns", workspace.as_str(), which];
        let page = Page::from_wire(&list, request.page_size, &request.page_token)?;
        let reply = self.app.spawns(&workspace, state, &page).await?;
        Ok(Response::new(reply))
    }
}

//! `cambium.genesis.v1.CompostService`.

use std::sync::Arc;

use cambium_proto::genesis::v1::compost_service_server::CompostService;
use cambium_proto::genesis::v1::{
    GetCompostRequest, GetCompostResponse, ListCompostsRequest, ListCompostsResponse,
};
use tonic::{Request, Response, Status};

use super::entered;
use crate::app::App;
use crate::convert::{self, Page};

#[derive(Debug)]
pub(crate) struct CompostRpc {
    app: Arc<App>,
}

impl CompostRpc {
    pub(crate) fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

#[tonic::async_trait]
impl CompostService for CompostRpc {
    async fn get_compost(
        &self,
        request: Request<GetCompostRequest>,
    ) -> Result<Response<GetCompostResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let agent = convert::agent_id(&request.get_ref().agent_id)?;
        Ok(Response::new(self.app.record(&workspace, agent).await?))
    }

    async fn list_composts(
        &self,
        request: Request<ListCompostsRequest>,
    ) -> Result<Response<ListCompostsResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let template = match request.template.as_str() {
            "" => None,
            name => Some(convert::template_name("template", name)?),
        };
        let list = ["composts", workspace.as_str(), request.template.as_str()];
        let page = Page::from_wire(&list, request.page_size, &request.page_token)?;
        let reply = self
            .app
            .records(&workspace, template.as_ref(), &page)
            .await?;
        Ok(Response::new(reply))
    }
}

//! `GraphService`.

use cambium_proto::hypha::v1::graph_service_server::GraphService;
use cambium_proto::hypha::v1::{
    GetGraphRequest, GetGraphResponse, Graph, ImportGraphRequest, ImportGraphResponse,
    ListGraphsRequest, ListGraphsResponse, PutGraphRequest, PutGraphResponse, ValidateGraphRequest,
    ValidateGraphResponse,
};
use cambium_service_kit::call::Call;
use tonic::{Request, Response, Status};

use super::entered;
use crate::app::App;
use crate::convert::page::Page;
use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct GraphRpc(pub(crate) App);

fn given(graph: Option<Graph>) -> Result<Graph, Error> {
    graph.ok_or_else(|| Error::field("graph", "is missing"))
}

#[tonic::async_trait]
impl GraphService for GraphRpc {
    async fn put_graph(
        &self,
        request: Request<PutGraphRequest>,
    ) -> Result<Response<PutGraphResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let graph = given(request.into_inner().graph)?;
        let reply = self.0.put_graph(&call, &workspace, &graph).await?;
        Ok(Response::new(reply))
    }

    async fn validate_graph(
        &self,
        request: Request<ValidateGraphRequest>,
    ) -> Result<Response<ValidateGraphResponse>, Status> {
        entered(&request, |request| &request.workspace_id)?;
        let graph = given(request.into_inner().graph)?;
        Ok(Response::new(App::validate_graph(&graph)?))
    }

    async fn import_graph(
        &self,
        request: Request<ImportGraphRequest>,
    ) -> Result<Response<ImportGraphResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.into_inner();
        let reply = self.0.import_graph(&call, &workspace, &request).await?;
        Ok(Response::new(reply))
    }

    async fn get_graph(
        &self,
        request: Request<GetGraphRequest>,
    ) -> Result<Response<GetGraphResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let reply = self.0.get_graph(&workspace, &request.name, request.version);
        Ok(Response::new(reply.await?))
    }

    async fn list_graphs(
        &self,
        request: Request<ListGraphsRequest>,
    ) -> Result<Response<ListGraphsResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let list = ["graphs", workspace.as_str()];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        Ok(Response::new(self.0.list_graphs(&workspace, &page).await?))
    }
}

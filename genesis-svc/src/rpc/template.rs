//! `cambium.genesis.v1.TemplateService`.

use std::sync::Arc;

use cambium_proto::genesis::v1::template_service_server::TemplateService;
use cambium_proto::genesis::v1::{
    ExplainLearningRequest, ExplainLearningResponse, ExportTemplateRequest, ExportTemplateResponse,
    GetTemplateRequest, GetTemplateResponse, ImportTemplateRequest, ImportTemplateResponse,
    ListLearningsRequest, ListLearningsResponse, ListTemplatesRequest, ListTemplatesResponse,
    ListVersionsRequest, ListVersionsResponse, PutTemplateRequest, PutTemplateResponse,
    RollBackLearningRequest, RollBackLearningResponse,
};
use cambium_service_kit::call::Call;
use tonic::{Request, Response, Status};

use super::entered;
use crate::app::{App, recently_logged_in};
use crate::convert::{self, Page};

#[derive(Debug)]
pub(crate) struct TemplateRpc {
    app: Arc<App>,
}

impl TemplateRpc {
    pub(crate) fn new(app: Arc<App>) -> Self {
        Self { app }
    }
}

#[tonic::async_trait]
impl TemplateService for TemplateRpc {
    async fn put_template(
        &self,
        request: Request<PutTemplateRequest>,
    ) -> Result<Response<PutTemplateResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = convert::put_from_wire(&call.principal, request.into_inner())?;
        let reply = self
            .app
            .put_template(&call, &wish, |template| PutTemplateResponse {
                template: Some(template),
            });
        Ok(Response::new(reply.await?))
    }

    async fn get_template(
        &self,
        request: Request<GetTemplateRequest>,
    ) -> Result<Response<GetTemplateResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let name = convert::template_name("name", &request.name)?;
        let version = convert::version_number(request.version)?;
        let template = self.app.template(&workspace, &name, version).await?;
        Ok(Response::new(GetTemplateResponse {
            template: Some(template),
        }))
    }

    async fn list_templates(
        &self,
        request: Request<ListTemplatesRequest>,
    ) -> Result<Response<ListTemplatesResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let list = ["templates", workspace.as_str()];
        let page = Page::from_wire(&list, request.page_size, &request.page_token)?;
        Ok(Response::new(self.app.templates(&workspace, &page).await?))
    }

    async fn list_versions(
        &self,
        request: Request<ListVersionsRequest>,
    ) -> Result<Response<ListVersionsResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let name = convert::template_name("name", &request.name)?;
        let list = ["versions", workspace.as_str(), name.as_str()];
        let page = Page::from_wire(&list, request.page_size, &request.page_token)?;
        let reply = self.app.versions(&workspace, &name, &page).await?;
        Ok(Response::new(reply))
    }

    async fn export_template(
        &self,
        request: Request<ExportTemplateRequest>,
    ) -> Result<Response<ExportTemplateResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let name = convert::template_name("name", &request.name)?;
        let version = convert::version_number(request.version)?;
        let yaml = self.app.export_template(&workspace, &name, version).await?;
        Ok(Response::new(ExportTemplateResponse { yaml }))
    }

    async fn import_template(
        &self,
        request: Request<ImportTemplateRequest>,
    ) -> Result<Response<ImportTemplateResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let (wish, left_out) = convert::import_from_wire(&call.principal, request.get_ref())?;
        let reply = self
            .app
            .put_template(&call, &wish, |template| ImportTemplateResponse {
                template: Some(template),
                left_out: left_out.clone(),
            });
        Ok(Response::new(reply.await?))
    }

    async fn list_learnings(
        &self,
        request: Request<ListLearningsRequest>,
    ) -> Result<Response<ListLearningsResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.into_inner();
        let template = convert::template_name("template", &request.template)?;
        let removed = request.include_removed;
        let which = if removed { "all" } else { "active" };
        let list = ["learnings", workspace.as_str(), template.as_str(), which];
        let page = Page::from_wire(&list, request.page_size, &request.page_token)?;
        let reply = self.app.learnings(&workspace, &template, removed, &page);
        Ok(Response::new(reply.await?))
    }

    async fn explain_learning(
        &self,
        request: Request<ExplainLearningRequest>,
    ) -> Result<Response<ExplainLearningResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let id = convert::learning_id(&request.get_ref().learning_id)?;
        let reply = self.app.explain_learning(&workspace, id).await?;
        Ok(Response::new(reply))
    }

    async fn roll_back_learning(
        &self,
        request: Request<RollBackLearningRequest>,
    ) -> Result<Response<RollBackLearningResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        recently_logged_in(&call.principal, self.app.clock.now())?;
        let request = request.into_inner();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let id = convert::learning_id(&request.learning_id)?;
        let reason = convert::reason_from_wire(&request.reason)?;
        let reply = self
            .app
            .roll_back_learning(&call, &workspace, id, &reason)
            .await?;
        Ok(Response::new(reply))
    }
}

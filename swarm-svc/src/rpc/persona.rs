//! `PersonaService`.

use std::sync::Arc;

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::persona_service_server::PersonaService;
use cambium_service_kit::call::Call;
use cambium_service_kit::page::Page;
use cambium_swarm::Instance;
use tonic::{Request, Response, Status};

use super::{changed, entered};
use crate::app::App;
use crate::app::persona::Submission;
use crate::convert::{self, persona as wired};
use crate::error::Error;

pub(crate) struct PersonaRpc(Arc<App>);

impl PersonaRpc {
    pub(crate) const fn new(app: Arc<App>) -> Self {
        Self(app)
    }
}

fn submission(request: &wire::PutPersonaRequest) -> Result<Submission, Error> {
    let expected = request.expected_updated_at;
    Ok(Submission {
        value_json: request.value_json.clone(),
        expected_updated_at: convert::time_from_wire("expected_updated_at", expected)?,
        faculty: request.faculty.clone(),
        agent: request.agent.clone(),
        session: request.session.clone(),
        tool: request.tool.clone(),
    })
}

#[tonic::async_trait]
impl PersonaService for PersonaRpc {
    async fn get_persona(
        &self,
        request: Request<wire::GetPersonaRequest>,
    ) -> Result<Response<wire::GetPersonaResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let mind = Instance::parse(&request.instance).map_err(Error::from)?;
        let version = wired::version_from_wire(request.version)?;
        let read = self.0.persona(&caller, &workspace, &mind, version).await?;
        Ok(Response::new(read))
    }

    async fn list_persona_versions(
        &self,
        request: Request<wire::ListPersonaVersionsRequest>,
    ) -> Result<Response<wire::ListPersonaVersionsResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let mind = Instance::parse(&request.instance).map_err(Error::from)?;
        let list = ["personas", workspace.as_str(), mind.as_str()];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let listed = self
            .0
            .persona_versions(&caller, &workspace, &mind, &page)
            .await?;
        Ok(Response::new(listed))
    }

    async fn diff_identity(
        &self,
        request: Request<wire::DiffIdentityRequest>,
    ) -> Result<Response<wire::DiffIdentityResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        let request = request.get_ref();
        let mind = Instance::parse(&request.instance).map_err(Error::from)?;
        let from = wired::numbered("from", request.from)?;
        let to = wired::numbered("to", request.to)?;
        let diff = self.0.diff_identity(&workspace, &mind, (from, to)).await?;
        Ok(Response::new(diff))
    }

    async fn put_persona(
        &self,
        request: Request<wire::PutPersonaRequest>,
    ) -> Result<Response<wire::PutPersonaResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let workspace = convert::workspace(&call.principal, &request.get_ref().workspace_id)?;
        let sent = submission(request.get_ref())?;
        changed(|| self.0.put_persona(&call, &workspace, &sent)).await
    }

    async fn import_persona(
        &self,
        request: Request<wire::ImportPersonaRequest>,
    ) -> Result<Response<wire::ImportPersonaResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let mind = Instance::parse(&request.instance).map_err(Error::from)?;
        let bytes = &request.bytes;
        changed(|| self.0.import_persona(&call, &workspace, &mind, bytes)).await
    }

    async fn preview_import(
        &self,
        request: Request<wire::PreviewImportRequest>,
    ) -> Result<Response<wire::PreviewImportResponse>, Status> {
        let (caller, _) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let mind = Instance::parse(&request.instance).map_err(Error::from)?;
        let preview = self
            .0
            .preview_import(&caller, &mind, &request.bytes)
            .await?;
        Ok(Response::new(preview))
    }
}

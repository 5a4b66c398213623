//! `RecordService`.

use std::sync::Arc;

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::record_service_server::RecordService;
use cambium_service_kit::call::Call;
use cambium_service_kit::page::Page;
use cambium_swarm::Instance;
use cambium_swarm::record::Kind;
use tonic::{Request, Response, Status};

use super::{changed, entered, named};
use crate::app::App;
use crate::convert::record as wired;
use crate::convert::{self};
use crate::error::Error;
use crate::store::document::Filter;

pub(crate) struct RecordRpc(Arc<App>);

impl RecordRpc {
    pub(crate) const fn new(app: Arc<App>) -> Self {
        Self(app)
    }
}

#[tonic::async_trait]
impl RecordService for RecordRpc {
    async fn append_record(
        &self,
        request: Request<wire::AppendRecordRequest>,
    ) -> Result<Response<wire::AppendRecordResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let documents = wired::documents_from_wire(&request.documents)?;
        changed(|| self.0.append_record(&call, &workspace, &documents)).await
    }

    async fn rule_as_operator(
        &self,
        request: Request<wire::RuleAsOperatorRequest>,
    ) -> Result<Response<wire::RuleAsOperatorResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let holder = Instance::parse_as("holder", &request.holder).map_err(Error::from)?;
        let documents = wired::documents_from_wire(&request.documents)?;
        let ruling = (&holder, documents.as_slice());
        changed(|| self.0.rule_as_operator(&call, &workspace, ruling)).await
    }

    async fn open_question(
        &self,
        request: Request<wire::OpenQuestionRequest>,
    ) -> Result<Response<wire::OpenQuestionResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let holder = Instance::parse_as("holder", &request.holder).map_err(Error::from)?;
        let question = request.question.as_ref();
        let question = question.ok_or_else(|| Error::field("question", "is missing"))?;
        let question = wired::document_from_wire(question)?;
        if *question.holder() != holder {
            return Err(Error::field("holder", "is not the question's").into());
        }
        changed(|| self.0.open_question(&call, &workspace, &question)).await
    }

    async fn get_document(
        &self,
        request: Request<wire::GetDocumentRequest>,
    ) -> Result<Response<wire::GetDocumentResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let permit = self.0.may_read(&caller)?;
        let request = request.get_ref();
        let holder = Instance::parse_as("holder", &request.holder).map_err(Error::from)?;
        cambium_swarm::text::line(&request.id)
            .map_err(|why| Error::field("id", why.to_string()))?;
        let place = (holder.as_str(), request.id.as_str());
        let reply = self.0.document(&workspace, place, permit).await?;
        Ok(Response::new(reply))
    }

    async fn list_documents(
        &self,
        request: Request<wire::ListDocumentsRequest>,
    ) -> Result<Response<wire::ListDocumentsResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let permit = self.0.may_read(&caller)?;
        let request = request.get_ref();
        let filter = Filter {
            holder: named("holder", &request.holder)?,
            kind: wired::kind_from_wire("kind", request.kind)?,
            in_force_only: request.in_force_only,
        };
        let kind = filter.kind.map_or("all", Kind::as_str);
        let force = if filter.in_force_only {
            "in force"
        } else {
            "all"
        };
        let list = [
            "documents",
            workspace.as_str(),
            &request.holder,
            kind,
            force,
        ];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let reply = self.0.documents(&workspace, &filter, &page, permit).await?;
        Ok(Response::new(reply))
    }

    async fn verify_citations(
        &self,
        request: Request<wire::VerifyCitationsRequest>,
    ) -> Result<Response<wire::VerifyCitationsResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        let request = request.get_ref();
        let holder = named("holder", &request.holder)?;
        let list = ["citations", workspace.as_str(), &request.holder];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let reply = self
            .0
            .citations(&workspace, holder.as_deref(), &page)
            .await?;
        Ok(Response::new(reply))
    }

    async fn list_reviews(
        &self,
        request: Request<wire::ListReviewsRequest>,
    ) -> Result<Response<wire::ListReviewsResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        let request = request.get_ref();
        let which = if request.overdue_only {
            "overdue"
        } else {
            "all"
        };
        let list = ["reviews", workspace.as_str(), which];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let overdue_only = request.overdue_only;
        let reply = self.0.reviews(&workspace, overdue_only, &page).await?;
        Ok(Response::new(reply))
    }
}

//! `LoanService`.

use std::sync::Arc;

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::loan_service_server::LoanService;
use cambium_service_kit::call::Call;
use tonic::{Request, Response, Status};

use super::{changed, entered};
use crate::app::App;
use crate::convert::loan as wired;

pub(crate) struct LoanRpc(Arc<App>);

impl LoanRpc {
    pub(crate) const fn new(app: Arc<App>) -> Self {
        Self(app)
    }
}

#[tonic::async_trait]
impl LoanService for LoanRpc {
    async fn lend_share(
        &self,
        request: Request<wire::LendShareRequest>,
    ) -> Result<Response<wire::LendShareResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let wish = wired::lending_from_wire(&call.principal, request.get_ref())?;
        changed(|| self.0.lend_share(&call, &wish)).await
    }

    async fn return_loan(
        &self,
        request: Request<wire::ReturnLoanRequest>,
    ) -> Result<Response<wire::ReturnLoanResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let wish =
            wired::ending_from_wire(&call.principal, &request.workspace_id, &request.loan_id)?;
        changed(|| self.0.return_loan(&call, &wish)).await
    }

    async fn end_loan(
        &self,
        request: Request<wire::EndLoanRequest>,
    ) -> Result<Response<wire::EndLoanResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let wish =
            wired::ending_from_wire(&call.principal, &request.workspace_id, &request.loan_id)?;
        changed(|| self.0.end_loan(&call, &wish)).await
    }

    async fn list_loans(
        &self,
        request: Request<wire::ListLoansRequest>,
    ) -> Result<Response<wire::ListLoansResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        let request = request.get_ref();
        let page = wired::page_from_wire(&workspace, request)?;
        let active_only = request.active_only;
        Ok(Response::new(
            self.0.list_loans(&workspace, active_only, &page).await?,
        ))
    }
}

//! `RoutingService`.

use std::sync::Arc;

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::routing_service_server::RoutingService;
use cambium_service_kit::call::Call;
use cambium_service_kit::page::Page;
use cambium_swarm::{Instance, text};
use tonic::{Request, Response, Status};

use super::{changed, entered, named};
use crate::app::App;
use crate::app::routing::{Answer, Give, Move, Submission, What};
use crate::convert;
use crate::convert::record::refs_from_wire;
use crate::convert::routing::state_from_wire;
use crate::error::Error;
use crate::store::work::Filter;

pub(crate) struct RoutingRpc(Arc<App>);

impl RoutingRpc {
    pub(crate) const fn new(app: Arc<App>) -> Self {
        Self(app)
    }
}

fn mind(field: &'static str, text: &str) -> Result<Instance, Error> {
    Ok(Instance::parse_as(field, text)?)
}

fn what(work: &str, area: &str) -> Result<What, Error> {
    match (work, area) {
        ("", "") => Err(Error::field("work_id", "or `area` is to be given")),
        (work, "") => Ok(What::Work(convert::id("work_id", work)?)),
        ("", area) => {
            line("area", area)?;
            Ok(What::Area(area.to_owned()))
        }
        _ => Err(Error::field("area", "stands beside `work_id`: give one")),
    }
}

fn line(field: &'static str, given: &str) -> Result<(), Error> {
    text::line(given).map_err(|why| Error::field(field, why.to_string()))
}

#[tonic::async_trait]
impl RoutingService for RoutingRpc {
    async fn submit_work(
        &self,
        request: Request<wire::SubmitWorkRequest>,
    ) -> Result<Response<wire::SubmitWorkResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let new = Submission::from_wire(request)?;
        changed(|| self.0.submit_work(&call, &workspace, &new)).await
    }

    async fn withdraw_work(
        &self,
        request: Request<wire::WithdrawWorkRequest>,
    ) -> Result<Response<wire::WithdrawWorkResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let id = convert::id("work_id", &request.work_id)?;
        changed(|| self.0.withdraw_work(&call, &workspace, id)).await
    }

    async fn assign_work(
        &self,
        request: Request<wire::AssignWorkRequest>,
    ) -> Result<Response<wire::AssignWorkResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let id = convert::id("work_id", &request.work_id)?;
        let to = mind("to", &request.to)?;
        changed(|| self.0.assign_work(&call, &workspace, (id, &to))).await
    }

    async fn take_stewardship(
        &self,
        request: Request<wire::TakeStewardshipRequest>,
    ) -> Result<Response<wire::TakeStewardshipResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let mind = mind("instance", &request.instance)?;
        line("area", &request.area)?;
        let taken = (&mind, request.area.as_str(), request.note.as_str());
        changed(|| self.0.take_stewardship(&call, &workspace, taken)).await
    }

    async fn move_lead(
        &self,
        request: Request<wire::MoveLeadRequest>,
    ) -> Result<Response<wire::MoveLeadResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let names = named("instance", &request.instance)?;
        let names = names.map(|name| mind("instance", &name)).transpose()?;
        let to = Move {
            names: names.as_ref(),
            review_on: Some(request.review_on.as_str()).filter(|on| !on.is_empty()),
            reason: &request.reason,
        };
        changed(|| self.0.move_lead(&call, &workspace, to)).await
    }

    async fn offer_hand_off(
        &self,
        request: Request<wire::OfferHandOffRequest>,
    ) -> Result<Response<wire::OfferHandOffResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let give = Give {
            what: what(&request.work_id, &request.area)?,
            to: mind("to", &request.to)?,
            refs: refs_from_wire(&request.refs)?,
            reason: request.reason.clone(),
        };
        changed(|| self.0.offer_hand_off(&call, &workspace, &give)).await
    }

    async fn route_work(
        &self,
        request: Request<wire::RouteWorkRequest>,
    ) -> Result<Response<wire::RouteWorkResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let give = Give {
            what: What::Work(convert::id("work_id", &request.work_id)?),
            to: mind("to", &request.to)?,
            refs: refs_from_wire(&request.refs)?,
            reason: request.reason.clone(),
        };
        changed(|| self.0.route_work(&call, &workspace, &give)).await
    }

    async fn answer_hand_off(
        &self,
        request: Request<wire::AnswerHandOffRequest>,
    ) -> Result<Response<wire::AnswerHandOffResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let giver = mind("giver", &request.giver)?;
        line("id", &request.id)?;
        let answer = Answer {
            giver: &giver,
            id: &request.id,
            accept: request.accept,
            reason: &request.reason,
        };
        changed(|| self.0.answer_hand_off(&call, &workspace, answer)).await
    }

    async fn return_work(
        &self,
        request: Request<wire::ReturnWorkRequest>,
    ) -> Result<Response<wire::ReturnWorkResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let id = convert::id("work_id", &request.work_id)?;
        let back = (id, request.reason.as_str());
        changed(|| self.0.return_work(&call, &workspace, back)).await
    }

    async fn complete_work(
        &self,
        request: Request<wire::CompleteWorkRequest>,
    ) -> Result<Response<wire::CompleteWorkResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let request = request.get_ref();
        let workspace = convert::workspace(&call.principal, &request.workspace_id)?;
        let id = convert::id("work_id", &request.work_id)?;
        let done = (id, request.result_ref.as_str());
        changed(|| self.0.complete_work(&call, &workspace, done)).await
    }

    async fn get_lead(
        &self,
        request: Request<wire::GetLeadRequest>,
    ) -> Result<Response<wire::GetLeadResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        Ok(Response::new(self.0.lead(&workspace).await?))
    }

    async fn list_work(
        &self,
        request: Request<wire::ListWorkRequest>,
    ) -> Result<Response<wire::ListWorkResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let permit = self.0.may_read(&caller)?;
        let request = request.get_ref();
        let filter = Filter {
            holder: named("holder", &request.holder)?,
            state: state_from_wire(request.state)?,
        };
        let state = filter.state.unwrap_or("all");
        let list = ["work", workspace.as_str(), &request.holder, state];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let reply = self.0.work(&workspace, &filter, &page, permit).await?;
        Ok(Response::new(reply))
    }
}

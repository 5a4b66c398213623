//! `TimelineService`.

use std::sync::Arc;

use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::timeline_service_server::TimelineService;
use cambium_service_kit::call::{self, Call};
use cambium_service_kit::page::Page;
use cambium_swarm::Instance;
use cambium_swarm::authority::Organ;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::{changed, entered};
use crate::app::timeline::{Holding, Of, Record};
use crate::app::{App, Sent};
use crate::convert;
use crate::error::Error;

pub(crate) struct TimelineRpc(Arc<App>);

impl TimelineRpc {
    pub(crate) const fn new(app: Arc<App>) -> Self {
        Self(app)
    }
}

fn holding(turn: &str, epoch: i64, holder: &str) -> Result<Holding, Error> {
    cambium_swarm::text::line(holder).map_err(|why| Error::field("holder", why.to_string()))?;
    Ok(Holding {
        turn: convert::id("turn_id", turn)?,
        epoch,
        holder: holder.to_owned(),
    })
}

fn fence_of(request: &wire::MintMindTokenRequest) -> Result<Of, Error> {
    match (request.turn_id.as_str(), request.session_id.as_str()) {
        ("", "") => Err(Error::field("turn_id", "or `session_id` is to be given")),
        (turn, "") => Ok(Of::Turn(convert::id("turn_id", turn)?, request.epoch)),
        ("", session) => Ok(Of::Session(convert::id("session_id", session)?)),
        _ => Err(Error::field(
            "session_id",
            "stands beside `turn_id`: give one",
        )),
    }
}

fn organ_of(organ: i32) -> Result<Option<Organ>, Error> {
    match wire::Organ::try_from(organ) {
        Ok(wire::Organ::Unspecified) => Ok(None),
        Ok(wire::Organ::Persona) => Ok(Some(Organ::Persona)),
        Ok(wire::Organ::Self_) => Ok(Some(Organ::Own)),
        Err(_) => Err(Error::field("organ", "is none of the words that it may be")),
    }
}

#[tonic::async_trait]
impl TimelineService for TimelineRpc {
    type WatchTimelineStream = ReceiverStream<Sent<wire::WatchTimelineResponse>>;
    type WatchGrantsStream = ReceiverStream<Sent<wire::WatchGrantsResponse>>;

    async fn get_timeline(
        &self,
        request: Request<wire::GetTimelineRequest>,
    ) -> Result<Response<wire::GetTimelineResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        Ok(Response::new(self.0.timeline(&workspace).await?))
    }

    async fn watch_timeline(
        &self,
        request: Request<wire::WatchTimelineRequest>,
    ) -> Result<Response<Self::WatchTimelineStream>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        let after = request.get_ref().after_seq;
        let stream = self.0.watch_timeline(&caller, workspace, after).await?;
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn tick(
        &self,
        request: Request<wire::TickRequest>,
    ) -> Result<Response<wire::TickResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        Ok(Response::new(self.0.tick_for(&caller, &workspace).await?))
    }

    async fn watch_grants(
        &self,
        request: Request<wire::WatchGrantsRequest>,
    ) -> Result<Response<Self::WatchGrantsStream>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let body = request.into_inner().body;
        let stream = self.0.watch_grants(&caller, workspace, body)?;
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn ack_grant(
        &self,
        request: Request<wire::AckGrantRequest>,
    ) -> Result<Response<wire::AckGrantResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let holding = holding(&request.turn_id, request.epoch, &request.holder)?;
        changed(|| self.0.acknowledge(&caller, &workspace, &holding)).await
    }

    async fn heartbeat(
        &self,
        request: Request<wire::HeartbeatRequest>,
    ) -> Result<Response<wire::HeartbeatResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let holding = holding(&request.turn_id, request.epoch, &request.holder)?;
        changed(|| self.0.beat(&caller, &workspace, &holding)).await
    }

    async fn mint_mind_token(
        &self,
        request: Request<wire::MintMindTokenRequest>,
    ) -> Result<Response<wire::MintMindTokenResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let (of, organ) = (fence_of(request)?, organ_of(request.organ)?);
        let minted = self.0.mint(&caller, &workspace, of, organ).await?;
        Ok(Response::new(minted))
    }

    async fn record_charge(
        &self,
        request: Request<wire::RecordChargeRequest>,
    ) -> Result<Response<wire::RecordChargeResponse>, Status> {
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let workspace = convert::workspace(&call.principal, &request.get_ref().workspace_id)?;
        let record = Record::from_wire(request.get_ref())?;
        changed(|| self.0.record_charge(&call, &workspace, &record)).await
    }

    async fn get_turn(
        &self,
        request: Request<wire::GetTurnRequest>,
    ) -> Result<Response<wire::GetTurnResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        let turn = convert::id("turn_id", &request.get_ref().turn_id)?;
        Ok(Response::new(self.0.turn(&workspace, turn).await?))
    }

    async fn list_turns(
        &self,
        request: Request<wire::ListTurnsRequest>,
    ) -> Result<Response<wire::ListTurnsResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        let request = request.get_ref();
        let mind = Some(request.instance.as_str()).filter(|name| !name.is_empty());
        let mind = mind.map(Instance::parse).transpose().map_err(Error::from)?;
        let live = if request.live_only { "live" } else { "all" };
        let list = ["turns", workspace.as_str(), &request.instance, live];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let filter = (mind.as_ref(), request.live_only);
        Ok(Response::new(
            self.0.turns(&workspace, filter, &page).await?,
        ))
    }

    async fn explain_mind(
        &self,
        request: Request<wire::ExplainMindRequest>,
    ) -> Result<Response<wire::ExplainMindResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        let mind = Instance::parse(&request.get_ref().instance).map_err(Error::from)?;
        Ok(Response::new(self.0.explain(&workspace, &mind).await?))
    }

    async fn preview_turns(
        &self,
        request: Request<wire::PreviewTurnsRequest>,
    ) -> Result<Response<wire::PreviewTurnsResponse>, Status> {
        let (caller, workspace) = entered(&request, |request| &request.workspace_id)?;
        self.0.may_read(&caller)?;
        let n = usize::try_from(request.get_ref().n).ok();
        let n = n.filter(|n| (1..=50).contains(n));
        let n = n.ok_or_else(|| Error::field("n", "is outside 1 to 50"))?;
        Ok(Response::new(self.0.preview(&workspace, n).await?))
    }

    async fn forecast_wallet(
        &self,
        request: Request<wire::ForecastWalletRequest>,
    ) -> Result<Response<wire::ForecastWalletResponse>, Status> {
        let caller = call::principal(&request)?;
        let workspace = convert::workspace(&caller, &request.get_ref().workspace_id)?;
        self.0.may_read(&caller)?;
        Ok(Response::new(self.0.forecast(&workspace).await?))
    }
}

//! `cambium.immune.v1.AlertService`.

use std::sync::Arc;

use cambium_proto::immune::v1::alert_service_server::AlertService;
use cambium_proto::immune::v1::{
    AcknowledgeAlertRequest, AcknowledgeAlertResponse, ListAlertsRequest, ListAlertsResponse,
    WatchAlertsRequest,
};
use cambium_service_kit::call::Call;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::entered;
use crate::app::App;
use crate::app::watch::AlertSent;
use crate::error::Error;
use cambium_service_kit::page::Page;

#[derive(Debug)]
pub(crate) struct AlertRpc(pub(crate) Arc<App>);

#[tonic::async_trait]
impl AlertService for AlertRpc {
    type WatchAlertsStream = ReceiverStream<AlertSent>;

    async fn list_alerts(
        &self,
        request: Request<ListAlertsRequest>,
    ) -> Result<Response<ListAlertsResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let request = request.get_ref();
        let with_acknowledged = request.include_acknowledged;
        let list = ["alerts", workspace.as_str(), &with_acknowledged.to_string()];
        let page = Page::from_wire(request.page_size, &request.page_token, &list)?;
        let reply = self.0.alerts(&workspace, with_acknowledged, &page).await?;
        Ok(Response::new(reply))
    }

    async fn acknowledge_alert(
        &self,
        request: Request<AcknowledgeAlertRequest>,
    ) -> Result<Response<AcknowledgeAlertResponse>, Status> {
        let (_, workspace) = entered(&request, |request| &request.workspace_id)?;
        let call = Call::of(&request, &request.get_ref().request_id)?;
        let id = Uuid::try_parse(&request.get_ref().alert_id)
            .map_err(|_| Error::field("alert_id", "is not a UUID"))?;
        let reply = self.0.acknowledge(&call, &workspace, id).await?;
        Ok(Response::new(reply))
    }

    async fn watch_alerts(
        &self,
        request: Request<WatchAlertsRequest>,
    ) -> Result<Response<Self::WatchAlertsStream>, Status> {
        let (principal, workspace) = entered(&request, |request| &request.workspace_id)?;
        let after = request.get_ref().after_seq;
        if after < 0 {
            return Err(Error::field("after_seq", "is below 0").into());
        }
        let stream = self.0.watch_alerts(&principal, &workspace, after).await?;
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

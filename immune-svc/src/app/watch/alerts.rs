//! Alerts as they are raised. Their numbers commit in order and without gaps, so that the last one seen says where to go on.

use std::sync::Arc;

use cambium_kernel::WorkspaceId;
use cambium_proto::immune::v1::{self as wire, watch_alerts_response::Event};
use cambium_service_kit::principal::Principal;
use cambium_service_kit::watchers::{self, Outlet};
use tokio::sync::mpsc;

use super::{End, ROWS, Subject, follow};
use crate::app::App;
use crate::app::alert::named;
use crate::error::Error;
use crate::store;

pub(crate) type Sent = watchers::Sent<wire::WatchAlertsResponse>;

struct Alerts {
    app: Arc<App>,
    workspace: WorkspaceId,
    seq: i64,
}

impl App {
    pub(crate) async fn watch_alerts(
        self: &Arc<Self>,
        principal: &Principal,
        workspace: &WorkspaceId,
        after_seq: i64,
    ) -> Result<mpsc::Receiver<Sent>, Error> {
        let (outlet, stream) = Outlet::new(self.watchers.sit(principal.subject())?);
        let subject = Alerts {
            app: Arc::clone(self),
            workspace: workspace.clone(),
            seq: after_seq,
        };
        tokio::spawn(follow(Arc::clone(self), workspace.clone(), subject, outlet));
        Ok(stream)
    }
}

impl Subject for Alerts {
    type Item = wire::WatchAlertsResponse;

    async fn look(&mut self, outlet: &Outlet<Self::Item>) -> Result<(), End> {
        loop {
            let mut conn = self.app.pool.acquire().await?;
            let found = store::alert::after(&mut conn, &self.workspace, self.seq, ROWS).await?;
            let alerts = named(&mut conn, &found).await?;
            // Not held while a reader takes its time.
            drop(conn);
            if alerts.is_empty() {
                return Ok(());
            }
            for alert in alerts {
                self.seq = alert.seq;
                let event = Some(Event::Alert(Box::new(alert)));
                outlet.send(wire::WatchAlertsResponse { event }).await?;
            }
        }
    }

    fn heartbeat() -> Self::Item {
        wire::WatchAlertsResponse {
            event: Some(Event::Heartbeat(true)),
        }
    }
}

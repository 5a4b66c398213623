//! What a person should look at, and that somebody has.

use cambium_kernel::WorkspaceId;
use cambium_proto::immune::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::{database, receipt};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{ATTEMPTS, App};
use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::alert::Alert;
use cambium_service_kit::page::Page;

impl App {
    pub(crate) async fn alerts(
        &self,
        workspace: &WorkspaceId,
        with_acknowledged: bool,
        page: &Page<i64>,
    ) -> Result<wire::ListAlertsResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let below = page.after.unwrap_or(i64::MAX);
        let found = store::alert::list(
            &mut conn,
            workspace,
            with_acknowledged,
            below,
            page.size + 1,
        )
        .await?;
        let cursors: Vec<i64> = found.iter().map(|alert| alert.seq).collect();
        let wire = named(&mut conn, &found).await?;
        let (alerts, next_page_token) = page.cut(wire, &cursors);
        Ok(wire::ListAlertsResponse {
            alerts,
            next_page_token,
        })
    }

    pub(crate) async fn acknowledge(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        id: Uuid,
    ) -> Result<wire::AcknowledgeAlertResponse, Error> {
        database::retry_conflicts(ATTEMPTS, || self.acknowledge_once(call, workspace, id)).await
    }

    async fn acknowledge_once(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        id: Uuid,
    ) -> Result<wire::AcknowledgeAlertResponse, Error> {
        let mut tx = self.pool.begin().await?;
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, workspace).await? {
            return Ok(reply);
        }
        let by = call.principal.subject();
        let alert = store::alert::acknowledge(&mut tx, workspace, id, &by).await?;
        let alert = alert.ok_or_else(|| Error::NoAlert(id.to_string()))?;
        let reply = wire::AcknowledgeAlertResponse {
            alert: named(&mut tx, &[alert]).await?.pop(),
        };
        receipt::insert(&mut tx, store::SCHEMA, call, workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }
}

/// With the names of their agents.
pub(super) async fn named(
    conn: &mut PgConnection,
    alerts: &[Alert],
) -> Result<Vec<wire::Alert>, Error> {
    let names = store::agent::names(conn, alerts.iter().map(|alert| &alert.new.key)).await?;
    let wire = alerts.iter().map(|alert| {
        let name = names.get(&alert.new.key).map_or("", String::as_str);
        convert::alert_to_wire(alert, name)
    });
    Ok(wire.collect())
}

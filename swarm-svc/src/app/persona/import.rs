//! An older persona becomes a mind's first: by its operator's hand, once, asleep. A preview is the same and writes nothing.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::principal::Principal;
use cambium_swarm::Instance;
use cambium_swarm::authority::Action;
use cambium_swarm::persona::import::{import, may_import};
use serde_json::json;

use crate::app::{About, App};
use crate::error::Error;
use crate::store::launch::{Reason, touch};
use crate::store::persona::{self, New, Stored};
use crate::store::{self, mind, standing};

impl App {
    pub(crate) async fn import_persona(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        instance: &Instance,
        bytes: &[u8],
    ) -> Result<wire::ImportPersonaResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        if let Some(reply) = change.admit(Action::ImportPersona, Some(instance)).await? {
            return Ok(reply);
        }
        // Nobody releases the brake meanwhile.
        touch(change.conn(), workspace, &[instance], Reason::None).await?;
        mind::lock_open(change.conn(), workspace, instance).await?;
        let stored = persona::newest(change.conn(), workspace, instance).await?;
        let placed = standing::of(change.conn(), workspace, instance).await?;
        may_import(placed.standing.brake, !matches!(stored, Stored::Absent))?;
        let now = change.now().await?;
        let (persona, report) = import(instance, bytes, now)?;
        let (author, report) = (change.author(), report.to_value());
        let new = New {
            import_report: Some(report.clone()),
            ..New::first(&persona, "import", &author)
        };
        let receipt = persona::insert(change.conn(), workspace, instance, &new).await?;
        let reply = wire::ImportPersonaResponse {
            receipt_id: receipt.to_string(),
            report: report.to_string().into_bytes(),
            version: new.version,
        };
        let about = json!({
            "receipt_id": reply.receipt_id,
            "format": report.get("format"),
            "source_sha256": report.get("sourceSha256"),
        });
        change.finish(reply, About::mind(instance, about)).await
    }

    pub(crate) async fn preview_import(
        &self,
        caller: &Principal,
        instance: &Instance,
        bytes: &[u8],
    ) -> Result<wire::PreviewImportResponse, Error> {
        self.may(caller, Action::ImportPersona)?;
        let mut conn = self.pool.acquire().await?;
        let now = store::now(&mut conn).await?;
        drop(conn);
        let (persona, report) = import(instance, bytes, now)?;
        Ok(wire::PreviewImportResponse {
            value_json: persona.value().to_string().into_bytes(),
            report: report.to_value().to_string().into_bytes(),
        })
    }
}

//! A mind replaces its persona. Nobody else does: not its self organ, not the lead, not the operator.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::Action;
use cambium_swarm::persona::{Persona, Put, meant, put};
use chrono::{DateTime, Utc};
use serde_json::json;

use crate::app::{About, App};
use crate::convert;
use crate::error::Error;
use crate::store::mind;
use crate::store::persona::{self, New, Stored};

/// What a persona organ sent.
pub(crate) struct Submission {
    pub(crate) value_json: String,
    pub(crate) expected_updated_at: Option<DateTime<Utc>>,
    pub(crate) faculty: String,
    pub(crate) agent: String,
    pub(crate) session: String,
    pub(crate) tool: String,
}

impl App {
    pub(crate) async fn put_persona(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        sent: &Submission,
    ) -> Result<wire::PutPersonaResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        let own = convert::own(&change.actor)?;
        // Whose persona the text says that it is comes before any fault of the text.
        let mind = meant(&sent.value_json).unwrap_or_else(|| own.clone());
        if let Some(reply) = change.admit(Action::PutPersona, Some(&mind)).await? {
            return Ok(reply);
        }
        mind::lock_open(change.conn(), workspace, &own).await?;
        let (stored, version) = match persona::newest(change.conn(), workspace, &own).await? {
            Stored::Absent => (None, 0),
            Stored::Stored {
                persona, version, ..
            } => (Some(persona), version),
            Stored::Unreadable => return Err(cambium_swarm::Error::PersonaUnreadable.into()),
        };
        let asked = Put {
            value_json: &sent.value_json,
            expected_updated_at: sent.expected_updated_at,
            faculty: &sent.faculty,
            agent: &sent.agent,
            session: &sent.session,
            tool: &sent.tool,
        };
        let now = change.now().await?;
        let accepted = put(&own, stored.as_ref(), &asked, now)?;
        let author = change.author();
        let new = New {
            persona: &accepted.persona,
            version: next(version)?,
            author: &author,
            faculty: &sent.faculty,
            agent: &sent.agent,
            session: &sent.session,
            tool: &sent.tool,
            fences: change.fences(),
            is_identity_changed: accepted.is_identity_changed,
            import_report: None,
        };
        let receipt = persona::insert(change.conn(), workspace, &own, &new).await?;
        let reply = wire::PutPersonaResponse {
            receipt_id: receipt.to_string(),
            version: new.version,
        };
        let about = json!({
            "version": new.version,
            "receipt_id": reply.receipt_id,
            "identity_changed": accepted.is_identity_changed,
        });
        change.finish(reply, About::mind(&own, about)).await
    }
}

fn next(version: i32) -> Result<i32, Error> {
    let next = version.checked_add(1);
    next.ok_or_else(|| Error::broken("the persona's version", "there is no number after it"))
}

/// What is stored, where it must be there and be read.
pub(super) fn stored(found: Stored, version: i32) -> Result<Persona, Error> {
    match found {
        Stored::Stored { persona, .. } => Ok(persona),
        Stored::Absent => Err(Error::NoVersion(version)),
        Stored::Unreadable => Err(cambium_swarm::Error::PersonaUnreadable.into()),
    }
}

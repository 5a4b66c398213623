//! Personas and their receipts, as a reader may see them.

use cambium_proto::swarm::v1 as wire;
use cambium_swarm::Instance;
use cambium_swarm::authority::{Permit, Principal};

use super::time;
use crate::error::Error;
use crate::store::persona::{Receipt, Stored};

pub(crate) fn persona_to_wire(
    stored: &Stored,
    (reader, permit): (&Principal, Permit),
    of: &Instance,
) -> wire::GetPersonaResponse {
    let alone = |state: wire::PersonaState| wire::GetPersonaResponse {
        state: state.into(),
        ..wire::GetPersonaResponse::default()
    };
    match stored {
        Stored::Absent => alone(wire::PersonaState::Absent),
        Stored::Unreadable => alone(wire::PersonaState::Unreadable),
        Stored::Stored {
            persona,
            version,
            sha256,
        } => wire::GetPersonaResponse {
            state: wire::PersonaState::Stored.into(),
            value_json: match permit {
                Permit::Full => persona.shown_to(reader, of).to_string().into_bytes(),
                Permit::Redacted => Vec::new(),
            },
            version: *version,
            update_time: Some(time(persona.updated_at())),
            sha256: sha256.clone(),
        },
    }
}

pub(crate) fn receipt_to_wire(receipt: Receipt, permit: Permit) -> wire::PersonaReceipt {
    let id = |id: Option<uuid::Uuid>| id.map_or_else(String::new, |id| id.to_string());
    // It tells the names of what the source held.
    let report = receipt.import_report.filter(|_| permit == Permit::Full);
    wire::PersonaReceipt {
        receipt_id: receipt.id.to_string(),
        version: receipt.version,
        update_time: Some(time(receipt.updated_at)),
        sha256: receipt.value_sha256,
        author: receipt.author,
        faculty: receipt.faculty,
        agent: receipt.agent,
        session: receipt.session,
        tool: receipt.tool,
        turn_id: id(receipt.turn_id),
        session_id: id(receipt.session_id),
        identity_changed: receipt.identity_changed,
        import_report: report.map_or_else(Vec::new, |report| report.to_string().into_bytes()),
        commit_time: Some(time(receipt.committed_at)),
    }
}

/// A number of a version; none where the newest is meant.
pub(crate) fn version_from_wire(version: i32) -> Result<Option<i32>, Error> {
    match version {
        0 => Ok(None),
        1.. => Ok(Some(version)),
        _ => Err(Error::field("version", "is below 0")),
    }
}

/// A number of a version that must be named.
pub(crate) fn numbered(field: &'static str, version: i32) -> Result<i32, Error> {
    let is_named = version >= 1;
    let missing = || Error::field(field, "is below 1");
    is_named.then_some(version).ok_or_else(missing)
}

//! The persona with which a mind is born that brings none: what its operator said of it, and nothing else.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::json;

use super::{Persona, SCHEMA_VERSION};
use crate::{Error, Instance};

/// What an operator says of a new mind.
#[derive(Clone, Copy, Debug)]
pub struct Fresh<'a> {
    pub public_name: &'a str,
    pub public_description: &'a str,
    pub voice_summary: &'a str,
}

/// The first persona of a mind.
pub fn born(mind: &Instance, fresh: Fresh<'_>, now: DateTime<Utc>) -> Result<Persona, Error> {
    let now = now.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    Persona::new(json!({
        "schemaVersion": SCHEMA_VERSION,
        "provenance": {
            "sourceSystem": "cambium.swarm",
            "sourceDocumentId": format!("birth:{mind}"),
            "sourceUpdatedAt": now,
            "exportedAt": now,
            "authority": "canonical",
        },
        "personaId": mind.as_str(),
        "publicName": fresh.public_name,
        "publicDescription": fresh.public_description,
        "presentation": {"voiceSummary": fresh.voice_summary},
        "activationProfile": {
            "underlyingOrganization": {}, "stableDispositions": {}, "behavioralDimensions": {},
            "presentationStrategy": {}, "voiceStyle": {}, "situationalState": {},
        },
        "thoughtMemory": {"shortTerm": [], "memories": [], "incubation": []},
        "agencyPressure": {"pressures": []},
        "candidateActions": {"actions": []},
        "affect": {
            "needs": [], "socialBonds": [], "statusReads": [],
            "moodDimensions": [], "socialBiases": [], "doctrineStances": [],
        },
        "updatedAt": now,
    }))
}

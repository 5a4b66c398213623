//! The persona with which a mind is born that brings none: what its operator said of it, and nothing else.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Value, json};

use super::{Persona, SCHEMA_VERSION};
use crate::error::Text as _;
use crate::{Error, Instance, text};

/// What an operator says of a new mind.
#[derive(Clone, Copy, Debug)]
pub struct Fresh<'a> {
    pub public_name: &'a str,
    pub public_description: &'a str,
    pub voice_summary: &'a str,
}

impl Fresh<'_> {
    /// Its name is one that can be read; the rest may be left out.
    fn check(&self) -> Result<(), Error> {
        text::title(self.public_name).named("fresh.public_name")?;
        for (field, said) in [
            ("fresh.public_description", self.public_description),
            ("fresh.voice_summary", self.voice_summary),
        ] {
            if !said.is_empty() {
                text::para(said).named(field)?;
            }
        }
        Ok(())
    }
}

/// The first persona of a mind.
pub fn born(mind: &Instance, fresh: Fresh<'_>, now: DateTime<Utc>) -> Result<Persona, Error> {
    fresh.check()?;
    let now = now.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    let mut value = unspoken(mind, fresh, &now);
    if !fresh.public_description.is_empty() {
        value["publicDescription"] = fresh.public_description.into();
    }
    Persona::sized(value)
}

fn unspoken(mind: &Instance, fresh: Fresh<'_>, now: &str) -> Value {
    json!({
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
    })
}

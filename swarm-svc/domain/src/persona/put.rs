//! Replacing a persona: whole, by who read the one that is stored, and never by an older one.
//! Who may put is `authority`'s business; that its turn still lives is the fence's.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;

use super::{Fault, MOST_BYTES, Persona, changed};
use crate::error::Text as _;
use crate::time::after;
use crate::{Error, Instance, text};

/// What a persona organ would store.
#[derive(Clone, Copy, Debug)]
pub struct Put<'a> {
    pub value_json: &'a str,
    /// The instant of the persona that the writer read; none for the first.
    pub expected_updated_at: Option<DateTime<Utc>>,
    pub faculty: &'a str,
    pub agent: &'a str,
    pub session: &'a str,
    pub tool: &'a str,
}

/// What is noted of a put that was accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    pub persona: Persona,
    pub sha256: String,
    /// Public name, description, presentation or values differ from the version before.
    pub is_identity_changed: bool,
}

/// How far ahead of the clock a persona may say that it was written.
const AHEAD: TimeDelta = TimeDelta::minutes(5);

/// Accepts a persona in the order of the design: size, schema, whose it is, canonical, who wrote it, what it replaces, when.
pub fn put(
    mind: &Instance,
    stored: Option<&Persona>,
    put: &Put<'_>,
    now: DateTime<Utc>,
) -> Result<Receipt, Error> {
    let persona = read(put.value_json)?;
    if persona.text("/personaId") != mind.as_str() {
        return Err(Error::PersonaForeign);
    }
    if persona.text("/provenance/authority") != "canonical" {
        return Err(Error::PersonaNotCanonical);
    }
    let authors = [
        ("faculty", put.faculty),
        ("agent", put.agent),
        ("session", put.session),
        ("tool", put.tool),
    ];
    for (field, name) in authors {
        text::line(name).named(field)?;
    }
    replaces(stored, put.expected_updated_at)?;
    is_later(stored, &persona, now)?;
    Ok(Receipt {
        sha256: persona.sha256(),
        is_identity_changed: !changed(stored, &persona).is_empty(),
        persona,
    })
}

/// Whose persona a text says that it is. Read for authority, before any fault of the text is told; none of a text that names
/// nobody.
#[must_use]
pub fn meant(value_json: &str) -> Option<Instance> {
    if value_json.len() > MOST_BYTES {
        return None;
    }
    let value: Value = serde_json::from_str(value_json).ok()?;
    Instance::parse(value.get("personaId")?.as_str()?).ok()
}

fn read(json: &str) -> Result<Persona, Error> {
    let bytes = json.len();
    if bytes > MOST_BYTES {
        return Err(Error::PersonaTooLarge {
            bytes,
            most: MOST_BYTES,
        });
    }
    let value = serde_json::from_str(json).map_err(|_| Error::Persona {
        pointer: String::new(),
        why: Fault::NotJson,
    })?;
    Persona::new(value)
}

/// Compare-and-swap: the writer read what is stored.
fn replaces(stored: Option<&Persona>, expected: Option<DateTime<Utc>>) -> Result<(), Error> {
    let stored = stored.map(Persona::updated_at);
    if stored == expected {
        Ok(())
    } else {
        Err(Error::PersonaStale(stored))
    }
}

/// Strictly later as an instant, and not far ahead, unless the stored one is itself ahead of the clock.
fn is_later(stored: Option<&Persona>, put: &Persona, now: DateTime<Utc>) -> Result<(), Error> {
    let stored = stored.map(Persona::updated_at);
    if stored.is_some_and(|stored| put.updated_at() <= stored) {
        return Err(Error::PersonaNotLater(stored));
    }
    let is_excused = stored.is_some_and(|stored| stored > now);
    if put.updated_at() > after(now, AHEAD) && !is_excused {
        return Err(Error::PersonaAhead);
    }
    Ok(())
}

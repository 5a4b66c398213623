//! Who a mind is: one document, replaced whole by its persona organ, each change visible (design: swarm, section 10).
//! Repairs nothing and echoes nothing that was wrong. Old forms are read once, by `import`.

mod birth;
mod identity;
pub mod import;
mod put;
mod schema;
mod shape;
#[cfg(test)]
mod tests;

use chrono::{DateTime, Utc};
use serde_json::Value;

pub use birth::{Fresh, born};
pub use identity::{IDENTITY, changed};
pub use put::{Put, Receipt, meant, put};

use crate::authority::Principal;
use crate::{Error, Instance, canonical};

/// The form that every stored persona has.
pub const SCHEMA_VERSION: &str = "gamecult.persona_state.v0";

/// The largest persona, in bytes of its text.
pub const MOST_BYTES: usize = 256 * 1024;

/// Why a value is no persona.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("is no JSON")]
    NotJson,
    #[error("is missing")]
    Missing,
    #[error("is not declared")]
    Undeclared,
    #[error("is no text")]
    NotText,
    #[error("is no list")]
    NotList,
    #[error("is no object")]
    NotObject,
    #[error("is no number from 0 to 1")]
    NotPart,
    #[error("is no number from -1 to 1")]
    NotSigned,
    #[error("is no RFC 3339 instant")]
    NotInstant,
    #[error("is no URI")]
    NotUri,
    #[error("is none of the words that it may be")]
    UnknownWord,
    #[error("holds a NUL character")]
    Nul,
}

/// A value that is a persona.
#[derive(Clone, Debug, PartialEq)]
pub struct Persona {
    value: Value,
    updated_at: DateTime<Utc>,
}

impl Persona {
    // INVARIANT: the value satisfies the schema, so that each part is of its form wherever it is present.
    pub fn new(value: Value) -> Result<Self, Error> {
        schema::check(&value)?;
        let updated_at = value["updatedAt"].as_str().and_then(shape::instant);
        let updated_at = updated_at.ok_or_else(|| Error::Persona {
            pointer: "/updatedAt".to_owned(),
            why: Fault::NotInstant,
        })?;
        Ok(Self { value, updated_at })
    }

    /// A persona that nobody put, no larger than one that is.
    fn sized(value: Value) -> Result<Self, Error> {
        let (bytes, most) = (canonical::text(&value).len(), MOST_BYTES);
        if bytes > most {
            return Err(Error::PersonaTooLarge { bytes, most });
        }
        Self::new(value)
    }

    /// A stored persona. One that breaks a rule, or is not what its digest says, cannot be read: its mind is not launched.
    pub fn stored(value: Value, sha256: &str) -> Result<Self, Error> {
        if canonical::digest(&value) != sha256 {
            return Err(Error::PersonaUnreadable);
        }
        Self::new(value).map_err(|_| Error::PersonaUnreadable)
    }

    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.value
    }

    /// What a reader sees of the persona: its private notes are for the mind itself and its operator, and not for its lead.
    #[must_use]
    pub fn shown_to(&self, reader: &Principal, of: &Instance) -> Value {
        match reader {
            Principal::Operator(_) => self.value.clone(),
            Principal::Mind(mind, _) if mind == of => self.value.clone(),
            _ => self.public(),
        }
    }

    /// The value for readers other than the mind and its operator: without its private notes.
    #[must_use]
    pub fn public(&self) -> Value {
        let mut value = self.value.clone();
        if let Value::Object(parts) = &mut value {
            parts.shift_remove("privateNotes");
        }
        value
    }

    #[must_use]
    pub const fn updated_at(&self) -> DateTime<Utc> {
        self.updated_at
    }

    #[must_use]
    pub fn sha256(&self) -> String {
        canonical::digest(&self.value)
    }

    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.value
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or("")
    }
}

//! Citing what another mind wrote: by kind, id and digest, so that it cannot change behind the citation.
//! A citation is precedent, and binds nobody.

use serde_json::{Value, json};

use super::{Document, Kind};
use crate::{Instance, canonical};

/// Another mind's document, as it was when it was cited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignRef {
    pub instance: Instance,
    pub kind: Kind,
    pub id: String,
    pub payload_sha256: String,
}

impl ForeignRef {
    /// None of a value that is not one: four fields, and no other.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        let parts = value.as_object().filter(|parts| parts.len() == 4)?;
        let text = |name: &str| parts.get(name).and_then(Value::as_str);
        Some(Self {
            instance: Instance::parse(text("instance")?).ok()?,
            kind: Kind::parse(text("kind")?).ok()?,
            id: text("id")
                .filter(|id| crate::text::line(id).is_ok())?
                .to_owned(),
            payload_sha256: text("payload_sha256")
                .filter(|text| canonical::is_digest(text))?
                .to_owned(),
        })
    }

    /// A document, to be cited.
    #[must_use]
    pub fn of(document: &Document) -> Self {
        Self {
            instance: document.holder().clone(),
            kind: document.kind(),
            id: document.id().to_owned(),
            payload_sha256: document.sha256().to_owned(),
        }
    }

    #[must_use]
    pub fn to_value(&self) -> Value {
        json!({
            "instance": self.instance.as_str(),
            "kind": self.kind.as_str(),
            "id": self.id,
            "payload_sha256": self.payload_sha256,
        })
    }
}

/// How a citation stands when it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Citation {
    Verified,
    /// What stands there now is something else.
    Altered,
    Missing,
    /// Its mind has moved, and its record is not here.
    Remote,
}

/// Hashes what is cited again. `found` is what stands under that id now, as it is stored.
#[must_use]
pub fn verify(cited: &ForeignRef, found: Option<(Kind, &Value)>, has_moved: bool) -> Citation {
    match found {
        Some((kind, payload))
            if kind == cited.kind && canonical::digest(payload) == cited.payload_sha256 =>
        {
            Citation::Verified
        }
        Some(_) => Citation::Altered,
        None if has_moved => Citation::Remote,
        None => Citation::Missing,
    }
}

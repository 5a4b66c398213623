//! What a mind wrote down: documents that never change, addressed by their content (design: swarm, section 8).
//! Forgets nothing: a document ends when another says so, and both stay.

mod admit;
mod form;
mod hand_over;
mod lead;
mod reference;
#[cfg(test)]
pub(crate) mod sample;
mod shelf;
#[cfg(test)]
mod tests;
mod verb;

use std::fmt;

use serde_json::{Map, Value};

pub use admit::{Author, MOST, admit};
pub use hand_over::{
    Offer, Thing, accepted, both_ids, copy_id, held_area, is_accepted, stewardship, still_stands,
    withdrawal,
};
pub use lead::{Appointment, appointed};
pub use reference::{Citation, ForeignRef, verify};
pub use shelf::{Shelf, is_lead_ruling};
pub use verb::{is_one_ruling, verb};

use crate::error::Text as _;
use crate::{Error, Instance, canonical, text};

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Identity,
    Campaign,
    Question,
    Ruling,
    Resolution,
    Stewardship,
    HandOff,
    Citation,
}

impl Kind {
    pub const ALL: [Self; 8] = [
        Self::Identity,
        Self::Campaign,
        Self::Question,
        Self::Ruling,
        Self::Resolution,
        Self::Stewardship,
        Self::HandOff,
        Self::Citation,
    ];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Campaign => "campaign",
            Self::Question => "question",
            Self::Ruling => "ruling",
            Self::Resolution => "resolution",
            Self::Stewardship => "stewardship",
            Self::HandOff => "hand_off",
            Self::Citation => "citation",
        }
    }

    pub fn parse(text: &str) -> Result<Self, Error> {
        let kind = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        kind.ok_or(Error::UnknownWord { field: "kind" })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whose word a ruling is. A higher one is never ended by a lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Authority {
    Mind,
    Standing,
    Operator,
}

impl Authority {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "mind" => Some(Self::Mind),
            "standing" => Some(Self::Standing),
            "operator" => Some(Self::Operator),
            _ => None,
        }
    }
}

/// A document of a mind's record.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    holder: Instance,
    id: String,
    kind: Kind,
    payload: Map<String, Value>,
    sha256: String,
}

impl Document {
    // INVARIANT: the payload has the form of its kind, whole numbers only and no null; the id is the one that it must have.
    pub fn new(
        holder: Instance,
        kind: Kind,
        id: &str,
        payload: Map<String, Value>,
    ) -> Result<Self, Error> {
        form::check(kind, &payload)?;
        let value = Value::Object(payload.clone());
        let sha256 = canonical::digest(&value);
        let id = id.to_owned();
        let document = Self {
            holder,
            id,
            kind,
            payload,
            sha256,
        };
        document.check_id()?;
        Ok(document)
    }

    /// `<holder>:<kind>:<label>`, and of a resolution `<subject>.n<sequence>`.
    fn check_id(&self) -> Result<(), Error> {
        let is_bad = |why| Err(Error::document("id", why));
        if self.kind == Kind::Resolution {
            let expected = resolution_id(self.text("subject"), self.sequence());
            let own = format!("{}:", self.holder);
            return match self.id == expected && expected.starts_with(&own) {
                true => Ok(()),
                false => is_bad("is not that of its subject and number in its holder's record"),
            };
        }
        let prefix = format!("{}:{}:", self.holder, self.kind);
        let Some(label) = self.id.strip_prefix(&prefix) else {
            return is_bad("does not begin with its holder and kind");
        };
        text::label(label).named("id")?;
        match self.stated("label") {
            Some(own) if !is_numbered(label, own) => is_bad("does not end with its label"),
            _ => Ok(()),
        }
    }

    #[must_use]
    pub const fn holder(&self) -> &Instance {
        &self.holder
    }

    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    #[must_use]
    pub const fn payload(&self) -> &Map<String, Value> {
        &self.payload
    }

    /// The digest of the canonical payload.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// A text of the payload; empty where it has none.
    #[must_use]
    pub fn text(&self, field: &str) -> &str {
        self.payload
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or("")
    }

    /// As [`Document::text`], where it may be left out.
    #[must_use]
    pub fn stated(&self, field: &str) -> Option<&str> {
        self.payload.get(field).and_then(Value::as_str)
    }

    /// Its number among those of its subject or area.
    #[must_use]
    pub fn sequence(&self) -> u32 {
        let number = self.payload.get("sequence").and_then(Value::as_u64);
        number
            .and_then(|number| u32::try_from(number).ok())
            .unwrap_or(0)
    }

    /// Of a ruling.
    #[must_use]
    pub fn authority(&self) -> Option<Authority> {
        Authority::parse(self.stated("authority")?)
    }

    /// What it cites, in order.
    #[must_use]
    pub fn refs(&self) -> Vec<ForeignRef> {
        let lists = ["precedents", "refs"].into_iter();
        let lists = lists.filter_map(|name| self.payload.get(name)?.as_array());
        lists.flatten().filter_map(ForeignRef::from_value).collect()
    }

    /// The minds between which a question is a fork.
    pub fn between(&self) -> impl Iterator<Item = Instance> {
        let between = self.payload.get("between").and_then(Value::as_array);
        let names = between.into_iter().flatten().filter_map(Value::as_str);
        names.filter_map(|name| Instance::parse(name).ok())
    }

    /// Whether a question is a fork between minds.
    #[must_use]
    pub fn is_between_minds(&self) -> bool {
        self.between().next().is_some()
    }
}

/// Whether an id's end is the label, or the label and a number: so the same thing can be ruled upon again.
fn is_numbered(end: &str, label: &str) -> bool {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    match end.strip_prefix(label) {
        Some("") => true,
        Some(rest) => rest.strip_prefix('-').is_some_and(is_number),
        None => false,
    }
}

/// What a resolution is called.
#[must_use]
pub fn resolution_id(subject: &str, sequence: u32) -> String {
    format!("{subject}.n{sequence}")
}

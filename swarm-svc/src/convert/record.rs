//! Documents and what they cite.

use cambium_proto::swarm::v1 as wire;
use cambium_swarm::Instance;
use cambium_swarm::authority::Permit;
use cambium_swarm::record::{self, Citation, Document, ForeignRef, Kind};
use cambium_swarm::{canonical, review};
use chrono::NaiveDate;
use serde_json::Value;

use super::time;
use crate::error::Error;
use crate::store::citation::Cited;
use crate::store::document::Stored;
use crate::store::review::Review;

pub(crate) const fn kind_to_wire(kind: Kind) -> wire::DocumentKind {
    match kind {
        Kind::Identity => wire::DocumentKind::Identity,
        Kind::Campaign => wire::DocumentKind::Campaign,
        Kind::Question => wire::DocumentKind::Question,
        Kind::Ruling => wire::DocumentKind::Ruling,
        Kind::Resolution => wire::DocumentKind::Resolution,
        Kind::Stewardship => wire::DocumentKind::Stewardship,
        Kind::HandOff => wire::DocumentKind::HandOff,
        Kind::Citation => wire::DocumentKind::Citation,
    }
}

/// None where it is left out.
pub(crate) fn kind_from_wire(field: &'static str, kind: i32) -> Result<Option<Kind>, Error> {
    Ok(Some(match wire::DocumentKind::try_from(kind) {
        Ok(wire::DocumentKind::Identity) => Kind::Identity,
        Ok(wire::DocumentKind::Campaign) => Kind::Campaign,
        Ok(wire::DocumentKind::Question) => Kind::Question,
        Ok(wire::DocumentKind::Ruling) => Kind::Ruling,
        Ok(wire::DocumentKind::Resolution) => Kind::Resolution,
        Ok(wire::DocumentKind::Stewardship) => Kind::Stewardship,
        Ok(wire::DocumentKind::HandOff) => Kind::HandOff,
        Ok(wire::DocumentKind::Citation) => Kind::Citation,
        Ok(wire::DocumentKind::Unspecified) => return Ok(None),
        Err(_) => return Err(Error::field(field, "is none of the kinds that there are")),
    }))
}

/// Documents, each in the record that its id names.
pub(crate) fn documents_from_wire(given: &[wire::NewDocument]) -> Result<Vec<Document>, Error> {
    // More are refused by the rules, which need not read them all.
    if given.is_empty() || given.len() > record::MOST {
        return Err(Error::field("documents", "are not 1 to 64"));
    }
    given.iter().map(document_from_wire).collect()
}

pub(crate) fn document_from_wire(given: &wire::NewDocument) -> Result<Document, Error> {
    let kind = kind_from_wire("kind", given.kind)?;
    let kind = kind.ok_or_else(|| Error::field("kind", "is missing"))?;
    let holder = given.id.split(':').next().unwrap_or("");
    let holder = Instance::parse_as("id", holder)?;
    match serde_json::from_slice(&given.payload) {
        Ok(Value::Object(payload)) => Ok(Document::new(holder, kind, &given.id, payload)?),
        _ => Err(Error::field("payload", "is no JSON object")),
    }
}

pub(crate) fn name_to_wire(document: &Document) -> wire::DocumentName {
    wire::DocumentName {
        holder: document.holder().to_string(),
        id: document.id().to_owned(),
        payload_sha256: document.sha256().to_owned(),
    }
}

pub(crate) fn document_to_wire(
    stored: &Stored,
    cited: &[Cited],
    today: NaiveDate,
    permit: Permit,
) -> wire::Document {
    let is_overdue = |on: NaiveDate| stored.is_in_force && review::is_overdue(on, today);
    let payload = match permit {
        Permit::Full => canonical::text(&stored.payload).into_bytes(),
        Permit::Redacted => Vec::new(),
    };
    wire::Document {
        holder: stored.holder.clone(),
        id: stored.id.clone(),
        kind: kind_to_wire(stored.kind).into(),
        payload,
        payload_sha256: stored.payload_sha256.clone(),
        seq: stored.seq,
        author: stored.author.clone(),
        turn_id: stored
            .turn
            .map_or_else(String::new, |turn| turn.to_string()),
        session_id: stored
            .session
            .map_or_else(String::new, |session| session.to_string()),
        write_time: Some(time(stored.written_at)),
        in_force: stored.is_in_force,
        citations: cited.iter().map(citation_to_wire).collect(),
        review_on: stored
            .review_on
            .map_or_else(String::new, |on| on.to_string()),
        review_overdue: stored.review_on.is_some_and(is_overdue),
    }
}

/// A citation, hashed again.
pub(crate) fn citation_to_wire(cited: &Cited) -> wire::Citation {
    let found = cited.found.as_ref();
    let found = found.map(|(kind, payload)| (*kind, payload));
    let state = match record::verify(&cited.cited, found, cited.has_moved) {
        Citation::Verified => wire::CitationState::Verified,
        Citation::Altered => wire::CitationState::Altered,
        Citation::Missing => wire::CitationState::Missing,
        Citation::Remote => wire::CitationState::Remote,
    };
    wire::Citation {
        r#ref: Some(ref_to_wire(&cited.cited)),
        state: state.into(),
    }
}

pub(crate) fn ref_to_wire(cited: &ForeignRef) -> wire::ForeignRef {
    wire::ForeignRef {
        instance: cited.instance.to_string(),
        kind: kind_to_wire(cited.kind).into(),
        id: cited.id.clone(),
        payload_sha256: cited.payload_sha256.clone(),
    }
}

/// The most citations of one thing.
const MOST_REFS: usize = 8;

pub(crate) fn refs_from_wire(given: &[wire::ForeignRef]) -> Result<Vec<ForeignRef>, Error> {
    if given.len() > MOST_REFS {
        return Err(Error::field("refs", "are over 8"));
    }
    given.iter().map(ref_from_wire).collect()
}

fn ref_from_wire(given: &wire::ForeignRef) -> Result<ForeignRef, Error> {
    let kind = kind_from_wire("refs.kind", given.kind)?;
    let cited = ForeignRef {
        instance: Instance::parse_as("refs.instance", &given.instance)?,
        kind: kind.ok_or_else(|| Error::field("refs.kind", "is missing"))?,
        id: given.id.clone(),
        payload_sha256: given.payload_sha256.clone(),
    };
    // The rest of its form is that of a citation in a document.
    ForeignRef::from_value(&cited.to_value())
        .ok_or_else(|| Error::field("refs", "hold one without an id or a digest"))
}

pub(crate) fn review_to_wire(review: &Review, today: NaiveDate) -> wire::Review {
    wire::Review {
        holder: review.holder.clone(),
        ruling_id: review.ruling_id.clone(),
        review_on: review.review_on.to_string(),
        cause: review.cause.clone(),
        overdue: review::is_overdue(review.review_on, today),
        title: review.title.clone(),
    }
}

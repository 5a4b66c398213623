//! What a hand-off writes: the offer, its end, and what comes of its acceptance, all of it at once, so that there are never two
//! stewards, and never none by accident. Moves no work: who holds it is `work`'s business.

use chrono::NaiveDate;
use serde_json::{Map, Value, json};

use super::shelf::Shelf;
use super::{Document, ForeignRef, Kind, resolution_id};
use crate::authority::Denial;
use crate::{Error, Instance};

/// What is handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thing {
    Work,
    Area,
}

/// What one mind would give another.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    pub giver: &'a Instance,
    pub to: &'a Instance,
    /// An area, or the id of a piece of work.
    pub what: &'a str,
    pub refs: &'a [ForeignRef],
    pub reason: &'a str,
}

impl Offer<'_> {
    /// The document that makes it, in the giver's record. `label` ends its id.
    pub fn document(&self, label: &str, today: NaiveDate) -> Result<Document, Error> {
        let mut payload = parts(json!({
            "from": self.giver.as_str(),
            "to": self.to.as_str(),
            "what": self.what,
            "reason": self.reason,
            "handed_on": today.to_string(),
        }));
        if !self.refs.is_empty() {
            let refs = self.refs.iter().map(ForeignRef::to_value).collect();
            payload.insert("refs".to_owned(), Value::Array(refs));
        }
        let id = format!("{}:{}:{label}", self.giver, Kind::HandOff);
        Document::new(self.giver.clone(), Kind::HandOff, &id, payload)
    }
}

/// What the receiver's copy of an offer is called: as the offer, in its own record.
#[must_use]
pub fn copy_id(offer: &Document) -> String {
    id_in(offer.text("to"), offer)
}

/// What an offer and its copy are called, whichever of them this is.
#[must_use]
pub fn both_ids(hand_off: &Document) -> [String; 2] {
    [hand_off.text("from"), hand_off.text("to")].map(|holder| id_in(holder, hand_off))
}

fn id_in(holder: &str, hand_off: &Document) -> String {
    let label = hand_off.id().rsplit(':').next().unwrap_or("");
    format!("{holder}:{}:{label}", Kind::HandOff)
}

/// Whether an offer's bytes stand in the receiver's record.
#[must_use]
pub fn is_accepted(offer: &Document, shelf: &Shelf) -> bool {
    let copy = shelf.get(&copy_id(offer));
    copy.is_some_and(|copy| copy.id() != offer.id() && copy.sha256() == offer.sha256())
}

/// Whether an offer waits for its answer: neither accepted nor withdrawn.
pub fn still_stands(offer: &Document, shelf: &Shelf) -> Result<(), Error> {
    let is_offer = offer.kind() == Kind::HandOff && offer.holder().as_str() == offer.text("from");
    match is_offer && shelf.is_in_force(offer) && !is_accepted(offer, shelf) {
        true => Ok(()),
        false => Err(Error::OfferOver),
    }
}

/// The stewardship that a mind has of an area, and could give.
pub fn held_area<'a>(
    giver: &Instance,
    area: &str,
    shelf: &'a Shelf,
) -> Result<&'a Document, Error> {
    let held = shelf.steward(area).ok_or(Error::NothingHeld)?;
    match held.holder() == giver {
        true => Ok(held),
        false => Err(Error::Denied(Denial::NotTheGiver)),
    }
}

/// The documents that come of an offer's acceptance by the mind that it names: its copy in the receiver's record, and, if an area
/// goes over, the end of the giver's stewardship and the receiver's own.
pub fn accepted(
    offer: &Document,
    thing: Thing,
    today: NaiveDate,
    shelf: &Shelf,
) -> Result<Vec<Document>, Error> {
    still_stands(offer, shelf)?;
    let to = Instance::parse_as("to", offer.text("to"))?;
    let id = copy_id(offer);
    let payload = offer.payload().clone();
    let copy = Document::new(to.clone(), Kind::HandOff, &id, payload)?;
    if thing == Thing::Work {
        return Ok(vec![copy]);
    }
    let area = offer.text("what");
    // The giver may have lost what it offered.
    let held = held_area(offer.holder(), area, shelf).map_err(|_| Error::OfferOver)?;
    let given_up = withdrawal(held, offer.text("reason"), today, shelf)?;
    let label = id.rsplit(':').next().unwrap_or("");
    let taken = stewardship((&to, label), area, offer.text("reason"), today, shelf)?;
    Ok(vec![copy, given_up, taken])
}

/// Makes a mind the steward of an area. `label` ends the id.
pub fn stewardship(
    (holder, label): (&Instance, &str),
    area: &str,
    note: &str,
    today: NaiveDate,
    shelf: &Shelf,
) -> Result<Document, Error> {
    let payload = json!({
        "area": area,
        "sequence": shelf.next_stewardship(area),
        "note": note,
        "assigned_on": today.to_string(),
    });
    let id = format!("{holder}:{}:{label}", Kind::Stewardship);
    Document::new(holder.clone(), Kind::Stewardship, &id, parts(payload))
}

/// The end of something that is withdrawn, in its own record.
pub fn withdrawal(
    subject: &Document,
    rationale: &str,
    today: NaiveDate,
    shelf: &Shelf,
) -> Result<Document, Error> {
    let sequence = shelf.next_resolution(subject.id());
    let payload = json!({
        "subject": subject.id(),
        "sequence": sequence,
        "outcome": "withdrawn",
        "rationale": rationale,
        "resolved_on": today.to_string(),
    });
    let id = resolution_id(subject.id(), sequence);
    let holder = subject.holder().clone();
    Document::new(holder, Kind::Resolution, &id, parts(payload))
}

pub(super) fn parts(payload: Value) -> Map<String, Value> {
    match payload {
        Value::Object(parts) => parts,
        _ => Map::new(),
    }
}

//! What an accepted hand-off of an area writes: all of it at once, so that there are never two stewards, and never none by accident.

use chrono::NaiveDate;
use serde_json::{Map, Value, json};

use super::shelf::Shelf;
use super::{Document, Kind, resolution_id};
use crate::Error;
use crate::authority::Denial;

/// The documents that come of an offer's acceptance by the mind that it names: its copy in the receiver's record, and, if an area
/// goes over, the end of the giver's stewardship and the receiver's own. `label` ends the new ids.
pub fn accepted(
    offer: &Document,
    label: &str,
    today: NaiveDate,
    shelf: &Shelf,
) -> Result<Vec<Document>, Error> {
    if offer.kind() != Kind::HandOff || !shelf.is_in_force(offer) {
        return Err(Error::OfferOver);
    }
    let to = crate::Instance::parse_as("to", offer.text("to"))?;
    let id = |kind: Kind| format!("{to}:{kind}:{label}");
    let copy = Document::new(
        to.clone(),
        Kind::HandOff,
        &id(Kind::HandOff),
        offer.payload().clone(),
    )?;
    let area = offer.text("what");
    let Some(held) = shelf.steward(area) else {
        return Ok(vec![copy]);
    };
    if held.holder() != offer.holder() {
        return Err(Error::Denied(Denial::NotTheGiver));
    }
    let payload = json!({
        "area": area,
        "sequence": shelf.next_stewardship(area),
        "note": offer.text("reason"),
        "assigned_on": today.to_string(),
    });
    let taken = Document::new(
        to.clone(),
        Kind::Stewardship,
        &id(Kind::Stewardship),
        parts(payload),
    )?;
    Ok(vec![copy, given_up(held, offer, today, shelf)?, taken])
}

/// The end of the giver's stewardship.
fn given_up(
    held: &Document,
    offer: &Document,
    today: NaiveDate,
    shelf: &Shelf,
) -> Result<Document, Error> {
    let sequence = shelf.next_resolution(held.id());
    let payload = json!({
        "subject": held.id(),
        "sequence": sequence,
        "outcome": "withdrawn",
        "rationale": offer.text("reason"),
        "resolved_on": today.to_string(),
    });
    let id = resolution_id(held.id(), sequence);
    Document::new(held.holder().clone(), Kind::Resolution, &id, parts(payload))
}

fn parts(payload: Value) -> Map<String, Value> {
    match payload {
        Value::Object(parts) => parts,
        _ => Map::new(),
    }
}

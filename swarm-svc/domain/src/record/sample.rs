//! Documents for tests.

use serde_json::{Value, json};

use super::{Author, Document, Kind, Shelf, resolution_id};
use crate::{Error, Instance};

pub(crate) fn mind(name: &str) -> Instance {
    Instance::parse(name).unwrap()
}

pub(crate) fn made(id: &str, payload: &Value) -> Result<Document, Error> {
    let mut parts = id.split(':');
    let holder = mind(parts.next().unwrap());
    let kind = if id
        .rsplit('.')
        .next()
        .is_some_and(|end| end.starts_with('n'))
        && id.contains('.')
    {
        Kind::Resolution
    } else {
        Kind::parse(parts.next().unwrap()).unwrap()
    };
    Document::new(holder, kind, id, payload.as_object().unwrap().clone())
}

pub(crate) fn document(id: &str, payload: Value) -> Document {
    made(id, &payload).unwrap()
}

pub(crate) fn question(id: &str, between: &[&str]) -> Document {
    let label = id.rsplit(':').next().unwrap();
    document(
        id,
        json!({
            "label": label, "title": "Which way?", "question": "Left or right?",
            "options": [{"label": "left", "text": "Left."}, {"label": "right", "text": "Right."}],
            "recommended": "left", "between": between, "asked_on": "2026-11-30",
        }),
    )
}

pub(crate) fn ruling(id: &str, authority: &str, more: Value) -> Document {
    let label = id.rsplit(':').next().unwrap();
    let mut payload = json!({
        "label": label, "title": "Left", "ruling": "We go left.", "authority": authority, "ruled_on": "2026-11-30",
    });
    payload
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    document(id, payload)
}

pub(crate) fn resolved(subject: &str, sequence: u32, outcome: &str, more: Value) -> Document {
    let mut payload = json!({
        "subject": subject, "sequence": sequence, "outcome": outcome,
        "rationale": "It is so.", "resolved_on": "2026-11-30",
    });
    payload
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    document(&resolution_id(subject, sequence), payload)
}

pub(crate) fn lead(name: &str, label: &str) -> Document {
    let id = format!("{name}:ruling:{label}");
    let payload = json!({
        "label": "swarm-lead", "title": "Lead", "ruling": "Leads.", "authority": "standing",
        "names_lead": name, "review_on": "2027-01-01", "ruled_on": "2026-11-30",
    });
    document(&id, payload)
}

pub(crate) fn weksa() -> Author {
    Author::Mind(mind("weksa"))
}

pub(crate) fn shelf(documents: Vec<Document>) -> Shelf {
    Shelf::new(documents)
}

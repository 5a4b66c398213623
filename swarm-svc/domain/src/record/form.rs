//! The form of each kind's payload, as a table. Whole numbers only, absent fields left out, and nothing undeclared.

use serde_json::{Map, Value};

use super::reference::ForeignRef;
use super::{Authority, Kind};
use crate::error::Text as _;
use crate::{Error, Instance, text};

/// What a field may be.
#[derive(Clone, Copy)]
enum Field {
    Label,
    Title,
    Line,
    Para,
    Date,
    Instant,
    Instance,
    Id,
    Number,
    Authority,
    Outcome,
    Instances,
    Options,
    /// Citations: so many at least.
    Refs(usize),
}

/// The most of a list.
const MOST: usize = 8;

type Fields = &'static [(&'static str, bool, Field)];

const fn fields(kind: Kind) -> Fields {
    match kind {
        Kind::Identity => &[
            ("instance", true, Field::Instance),
            ("display_name", true, Field::Title),
            ("created_at", true, Field::Instant),
            ("host", true, Field::Line),
        ],
        Kind::Campaign => &[
            ("label", true, Field::Label),
            ("title", true, Field::Title),
            ("goal", true, Field::Para),
            ("started_on", true, Field::Date),
        ],
        Kind::Question => &[
            ("label", true, Field::Label),
            ("title", true, Field::Title),
            ("question", true, Field::Para),
            ("options", true, Field::Options),
            ("recommended", true, Field::Label),
            ("between", false, Field::Instances),
            ("campaign", false, Field::Id),
            ("asked_on", true, Field::Date),
        ],
        Kind::Ruling => &[
            ("label", true, Field::Label),
            ("title", true, Field::Title),
            ("ruling", true, Field::Para),
            ("authority", true, Field::Authority),
            ("answers", false, Field::Id),
            ("choice", false, Field::Label),
            ("precedents", false, Field::Refs(0)),
            ("operator_quote", false, Field::Para),
            ("names_lead", false, Field::Instance),
            ("review_on", false, Field::Date),
            ("ruled_on", true, Field::Date),
        ],
        Kind::Resolution => &[
            ("subject", true, Field::Id),
            ("sequence", true, Field::Number),
            ("outcome", true, Field::Outcome),
            ("ruling", false, Field::Id),
            ("by", false, Field::Id),
            ("reason", false, Field::Para),
            ("rationale", true, Field::Para),
            ("resolved_on", true, Field::Date),
        ],
        Kind::Stewardship => &[
            ("area", true, Field::Line),
            ("sequence", true, Field::Number),
            ("note", true, Field::Para),
            ("assigned_on", true, Field::Date),
        ],
        Kind::HandOff => &[
            ("from", true, Field::Instance),
            ("to", true, Field::Instance),
            ("what", true, Field::Line),
            ("refs", false, Field::Refs(0)),
            ("reason", true, Field::Para),
            ("handed_on", true, Field::Date),
        ],
        Kind::Citation => &[
            ("refs", true, Field::Refs(1)),
            ("note", true, Field::Line),
            ("about", false, Field::Id),
        ],
    }
}

/// Checks a payload, naming the first field at fault.
pub(super) fn check(kind: Kind, payload: &Map<String, Value>) -> Result<(), Error> {
    let fields = fields(kind);
    if payload
        .keys()
        .any(|key| !fields.iter().any(|field| field.0 == key))
    {
        return Err(Error::document(
            "payload",
            "has a field that its kind has not",
        ));
    }
    for (name, is_required, field) in fields {
        match payload.get(*name) {
            Some(value) => check_field(name, *field, value)?,
            None if *is_required => return Err(Error::document(*name, "is missing")),
            None => {}
        }
    }
    match kind {
        Kind::Question => check_recommended(payload),
        Kind::Resolution => check_outcome(payload),
        Kind::Ruling if payload.contains_key("choice") && !payload.contains_key("answers") => {
            Err(Error::document("choice", "is of no question"))
        }
        _ => Ok(()),
    }
}

fn check_field(name: &str, field: Field, value: &Value) -> Result<(), Error> {
    let of_text = |check: fn(&str) -> Result<(), text::TextError>| {
        let text = value
            .as_str()
            .ok_or_else(|| Error::document(name, "is no text"))?;
        check(text).named(name)
    };
    let held = |holds: bool, why| {
        if holds {
            Ok(())
        } else {
            Err(Error::document(name, why))
        }
    };
    match field {
        Field::Label => of_text(text::label),
        Field::Title => of_text(text::title),
        Field::Line | Field::Id => of_text(text::line),
        Field::Para => of_text(text::para),
        Field::Date => of_text(|text| text::date(text).map(drop)),
        Field::Instant => held(is_instant(value), "is no RFC 3339 instant"),
        Field::Instance => held(is_instance(value), "is no mind's name"),
        Field::Number => held(is_number(value), "is no number from 1"),
        Field::Authority => held(
            is_authority(value),
            "is none of operator, standing and mind",
        ),
        Field::Outcome => held(is_outcome(value), "is none of the outcomes"),
        Field::Instances => held(all(value, 0, is_instance), "is no list of at most 8 minds"),
        Field::Refs(least) => held(
            all(value, least, is_ref),
            "is no list of at most 8 citations",
        ),
        Field::Options => {
            options(value).map_or_else(|| held(false, "is no list of 2 to 8 options"), |_| Ok(()))
        }
    }
}

fn all(list: &Value, least: usize, is: fn(&Value) -> bool) -> bool {
    let items = list.as_array();
    items.is_some_and(|items| (least..=MOST).contains(&items.len()) && items.iter().all(is))
}

fn is_instance(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| Instance::parse(text).is_ok())
}

fn is_ref(value: &Value) -> bool {
    ForeignRef::from_value(value).is_some()
}

fn is_instant(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| chrono::DateTime::parse_from_rfc3339(text).is_ok())
}

fn is_number(value: &Value) -> bool {
    value
        .as_u64()
        .is_some_and(|number| (1..=u64::from(u32::MAX)).contains(&number))
}

fn is_authority(value: &Value) -> bool {
    value.as_str().and_then(Authority::parse).is_some()
}

fn is_outcome(value: &Value) -> bool {
    let outcomes = ["closed", "withdrawn", "answered", "superseded"];
    value.as_str().is_some_and(|word| outcomes.contains(&word))
}

/// The labels of a question's options, if they are well formed and differ.
pub(super) fn options(value: &Value) -> Option<Vec<&str>> {
    let items = value
        .as_array()
        .filter(|items| (2..=MOST).contains(&items.len()))?;
    let mut labels = Vec::new();
    for item in items {
        let parts = item.as_object().filter(|parts| parts.len() == 2)?;
        let label = parts
            .get("label")?
            .as_str()
            .filter(|label| text::label(label).is_ok())?;
        text::para(parts.get("text")?.as_str()?).ok()?;
        if labels.contains(&label) {
            return None;
        }
        labels.push(label);
    }
    Some(labels)
}

fn check_recommended(payload: &Map<String, Value>) -> Result<(), Error> {
    let labels = payload.get("options").and_then(options).unwrap_or_default();
    let recommended = payload
        .get("recommended")
        .and_then(Value::as_str)
        .unwrap_or("");
    if labels.contains(&recommended) {
        Ok(())
    } else {
        Err(Error::document("recommended", "is none of the options"))
    }
}

/// Each outcome says by what, and nothing of another.
fn check_outcome(payload: &Map<String, Value>) -> Result<(), Error> {
    let outcome = payload.get("outcome").and_then(Value::as_str).unwrap_or("");
    for (name, of) in [
        ("ruling", "answered"),
        ("by", "superseded"),
        ("reason", "closed"),
    ] {
        let has = payload.contains_key(name);
        if outcome == of && !has {
            return Err(Error::document(name, "is missing"));
        }
        let may = outcome == of || (name == "reason" && outcome == "withdrawn");
        if has && !may {
            return Err(Error::document(name, "is not of this outcome"));
        }
    }
    Ok(())
}

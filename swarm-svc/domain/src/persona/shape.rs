//! The shapes that parts of a persona have, and how one is checked: the first part that is not of its shape is named.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use super::Fault;
use crate::Error;

/// What a part may be.
#[derive(Debug)]
pub(super) enum Shape {
    Text,
    Instant,
    Uri,
    /// A number from 0 to 1.
    Part,
    /// A number from −1 to 1.
    Signed,
    Word(&'static [&'static str]),
    List(&'static Shape),
    Object(&'static Object),
    /// Anything by name, each of one shape.
    Map(&'static Shape),
    /// An object that nobody looks into.
    Free,
}

/// An object that is closed: what is not declared is refused.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) fields: &'static [Field],
    /// Where the first is `custom`, the second says what.
    pub(super) custom: Option<(&'static str, &'static str)>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) is_required: bool,
    pub(super) shape: Shape,
}

impl Object {
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// An RFC 3339 instant.
pub(super) fn instant(text: &str) -> Option<DateTime<Utc>> {
    let has_t = matches!(text.as_bytes().get(10), Some(b'T' | b't'));
    let at = DateTime::parse_from_rfc3339(text).ok()?;
    has_t.then(|| at.with_timezone(&Utc))
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_odd = |c: char| !c.is_ascii_graphic() || "\"<>\\^`{|}".contains(c);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(fits)
        && !rest.is_empty()
        && !rest.contains(is_odd)
}

/// Checks a value. `pointer` is where it stands; what callers named themselves stands in it as `*`.
pub(super) fn check(value: &Value, shape: &Shape, pointer: &str) -> Result<(), Error> {
    let found = match shape {
        Shape::Text => worded(value, Fault::Nul, has_no_nul),
        Shape::Instant => worded(value, Fault::NotInstant, |text| instant(text).is_some()),
        Shape::Uri => worded(value, Fault::NotUri, is_uri),
        Shape::Word(words) => worded(value, Fault::UnknownWord, |text| words.contains(&text)),
        Shape::Part => within(value, 0.0).ok_or(Fault::NotPart),
        Shape::Signed => within(value, -1.0).ok_or(Fault::NotSigned),
        Shape::Free => free(value),
        Shape::List(item) => return list(value, item, pointer),
        Shape::Map(item) => return map(value, item, pointer),
        Shape::Object(object) => return self::object(value, object, pointer),
    };
    found.map_err(|why| fault(pointer, why))
}

fn fault(pointer: &str, why: Fault) -> Error {
    let pointer = pointer.to_owned();
    Error::Persona { pointer, why }
}

fn worded(value: &Value, why: Fault, is: impl Fn(&str) -> bool) -> Result<(), Fault> {
    let text = value.as_str().ok_or(Fault::NotText)?;
    is(text).then_some(()).ok_or(why)
}

/// The one character that a stored text cannot hold.
fn has_no_nul(text: &str) -> bool {
    !text.contains('\0')
}

fn free(value: &Value) -> Result<(), Fault> {
    fn holds_nul(value: &Value) -> bool {
        match value {
            Value::String(text) => !has_no_nul(text),
            Value::Array(items) => items.iter().any(holds_nul),
            Value::Object(parts) => parts
                .iter()
                .any(|(key, part)| !has_no_nul(key) || holds_nul(part)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    if !value.is_object() {
        return Err(Fault::NotObject);
    }
    if holds_nul(value) {
        return Err(Fault::Nul);
    }
    Ok(())
}

fn within(value: &Value, least: f64) -> Option<()> {
    let number = value.as_f64()?;
    (least..=1.0).contains(&number).then_some(())
}

fn list(value: &Value, shape: &Shape, pointer: &str) -> Result<(), Error> {
    let items = value
        .as_array()
        .ok_or_else(|| fault(pointer, Fault::NotList))?;
    let mut items = items.iter().enumerate();
    items.try_for_each(|(n, item)| check(item, shape, &format!("{pointer}/{n}")))
}

fn map(value: &Value, shape: &Shape, pointer: &str) -> Result<(), Error> {
    let parts = parts(value, pointer)?;
    let pointer = format!("{pointer}/*");
    if !parts.keys().all(|key| has_no_nul(key)) {
        return Err(fault(&pointer, Fault::Nul));
    }
    parts
        .values()
        .try_for_each(|part| check(part, shape, &pointer))
}

fn parts<'a>(value: &'a Value, pointer: &str) -> Result<&'a Map<String, Value>, Error> {
    value
        .as_object()
        .ok_or_else(|| fault(pointer, Fault::NotObject))
}

fn object(value: &Value, object: &Object, pointer: &str) -> Result<(), Error> {
    let parts = parts(value, pointer)?;
    for field in object.fields {
        let pointer = format!("{pointer}/{}", field.name);
        match parts.get(field.name) {
            Some(part) => check(part, &field.shape, &pointer)?,
            None if field.is_required => return Err(fault(&pointer, Fault::Missing)),
            None => {}
        }
    }
    if parts.keys().any(|key| object.field(key).is_none()) {
        return Err(fault(&format!("{pointer}/*"), Fault::Undeclared));
    }
    match object.custom {
        Some((word, what))
            if parts.get(word).is_some_and(|word| word == "custom")
                && !parts.contains_key(what) =>
        {
            Err(fault(&format!("{pointer}/{what}"), Fault::Missing))
        }
        _ => Ok(()),
    }
}

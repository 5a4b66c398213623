//! What a mark may carry: one JSON document, kept in a form in which equal documents are equal texts.
//! Its content is data. Nothing here, or anywhere, follows what it says.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// In bytes, as it comes.
pub const LIMIT: usize = 256 * 1024;
/// Lists and objects within one another.
pub const DEEPEST: usize = 32;
/// So many characters of a payload tell what it is about.
const SUMMARY: usize = 200;

/// A document in its canonical form: keys sorted by their bytes, no space between tokens, the last of equal keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    canonical: String,
}

/// Why bytes are no payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadFault {
    #[error("has {size} bytes, over the limit of {LIMIT}")]
    TooLarge { size: usize },
    #[error("is no JSON document: {0}")]
    NotJson(String),
    #[error("holds a NUL character")]
    Nul,
    #[error("is nested deeper than {DEEPEST} levels")]
    TooDeep,
}

impl Payload {
    /// Checks that `bytes` are one JSON document that every reader behind the door can hold. No bytes are no payload.
    pub fn parse(bytes: &[u8]) -> Result<Option<Self>, PayloadFault> {
        if bytes.len() > LIMIT {
            return Err(PayloadFault::TooLarge { size: bytes.len() });
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        // Refuses halves of surrogate pairs, numbers beyond a double and nesting that would exhaust the stack.
        let value: Value = serde_json::from_slice(bytes)
            .map_err(|error| PayloadFault::NotJson(error.to_string()))?;
        let mut canonical = String::with_capacity(bytes.len());
        write_value(&mut canonical, &value, DEEPEST)?;
        Ok(Some(Self { canonical }))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.canonical
    }

    #[must_use]
    pub fn into_string(self) -> String {
        self.canonical
    }
}

/// The first 200 characters of a canonical form.
#[must_use]
pub fn summary(canonical: &str) -> &str {
    let end = canonical.char_indices().nth(SUMMARY);
    &canonical[..end.map_or(canonical.len(), |(at, _)| at)]
}

fn write_value(out: &mut String, value: &Value, room: usize) -> Result<(), PayloadFault> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            write!(out, "{value}").expect("a String takes all that is written to it");
            Ok(())
        }
        Value::String(text) => write_text(out, text),
        Value::Array(items) => write_list(out, items, inside(room)?),
        Value::Object(members) => write_object(out, members, inside(room)?),
    }
}

fn inside(room: usize) -> Result<usize, PayloadFault> {
    room.checked_sub(1).ok_or(PayloadFault::TooDeep)
}

fn write_text(out: &mut String, text: &str) -> Result<(), PayloadFault> {
    if text.contains('\0') {
        return Err(PayloadFault::Nul);
    }
    let quoted = serde_json::to_string(text).expect("every text is a JSON string");
    out.push_str(&quoted);
    Ok(())
}

fn write_list(out: &mut String, items: &[Value], room: usize) -> Result<(), PayloadFault> {
    out.push('[');
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write_value(out, item, room)?;
    }
    out.push(']');
    Ok(())
}

fn write_object(
    out: &mut String,
    members: &Map<String, Value>,
    room: usize,
) -> Result<(), PayloadFault> {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    out.push('{');
    for (place, (key, value)) in sorted.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write_text(out, key)?;
        out.push(':');
        write_value(out, value, room)?;
    }
    out.push('}');
    Ok(())
}

#[cfg(test)]
mod tests;

//! Text to trees of values, one for each document: JSON where it is JSON, else YAML.
//! Guesses no types: `yes` and `007` stay text, and a key given twice is refused.

use std::cell::Cell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::{MessageFormatter as _, options::DuplicateKeyPolicy};

use crate::{Error, text};

/// Many small values, or aliases that repeat large ones, take far more room than their text.
const MAX_TREE_BYTES: usize = 6 * text::LIMIT;
const MAX_DOCUMENTS: usize = 1_000;
const MAX_YAML_DEPTH: usize = 64;

/// Every document of a file; JSON is one document.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>, Error> {
    if looks_like_json(text) {
        // Flow YAML may look so too; a file that is neither is told off as the JSON it looks like.
        return json(text).or_else(|error| yaml(text).map_err(|_| error));
    }
    yaml(text)
}

fn looks_like_json(text: &str) -> bool {
    let text = text.trim_start();
    let in_map = || {
        text.strip_prefix('{')
            .is_some_and(|rest| rest.trim_start().starts_with(['"', '}']))
    };
    text.starts_with('[') || in_map()
}

fn json(text: &str) -> Result<Vec<Value>, Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed =
        Tree::deserialize(&mut deserializer).and_then(|tree| deserializer.end().map(|()| tree));
    match parsed {
        Ok(tree) => Ok(vec![tree.0]),
        Err(error) => Err(Error::Json {
            line: error.line() as u64,
            column: error.column() as u64,
            message: without_place(&error),
        }),
    }
}

fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&place).unwrap_or(&message).to_owned()
}

fn yaml(text: &str) -> Result<Vec<Value>, Error> {
    let mut bytes = text.as_bytes();
    let mut documents = Vec::new();
    for document in serde_saphyr::read_with_options::<_, Tree>(&mut bytes, yaml_options()) {
        documents.push(document.map_err(|error| yaml_error(&error))?.0);
        if documents.len() > MAX_DOCUMENTS {
            return Err(Error::TooLarge {
                what: "documents",
                count: documents.len(),
                limit: MAX_DOCUMENTS,
            });
        }
    }
    Ok(documents)
}

fn yaml_error(error: &serde_saphyr::Error) -> Error {
    let (line, column) = error
        .location()
        .map_or((0, 0), |place| (place.line(), place.column()));
    let message = serde_saphyr::UserMessageFormatter
        .format_message(error.without_snippet())
        .into_owned();
    Error::Yaml {
        line,
        column,
        message,
    }
}

fn yaml_options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(text::LIMIT),
            max_events: 12_000_000,
            max_nodes: 6_000_000,
            max_depth: MAX_YAML_DEPTH,
            flow_nesting_limit: MAX_YAML_DEPTH,
            max_total_scalar_bytes: text::LIMIT,
            max_aliases: 10_000,
            max_anchors: 10_000,
            max_merge_keys: 10_000,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 200_000,
            max_replay_stack_depth: 16,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        emit_comments: false,
        with_snippet: false,
    }
}

/// A document whose size is bounded while it is built.
struct Tree(Value);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let left = Cell::new(MAX_TREE_BYTES);
        Grow { left: &left }.deserialize(deserializer).map(Self)
    }
}

/// Builds a value; `left` is how many bytes the whole tree may still take.
#[derive(Clone, Copy)]
struct Grow<'a> {
    left: &'a Cell<usize>,
}

impl Grow<'_> {
    fn spend<E: serde::de::Error>(self, text: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(text + size_of::<Value>());
        self.left
            .set(left.ok_or_else(|| E::custom("it holds more than fits into memory here"))?);
        Ok(())
    }

    fn leaf<E: serde::de::Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.spend(0)?;
        Ok(value.into())
    }
}

impl<'de> DeserializeSeed<'de> for Grow<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Grow<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.leaf(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, flag: bool) -> Result<Value, E> {
        self.leaf(flag)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Value, E> {
        self.leaf(number)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Value, E> {
        self.leaf(number)
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        self.leaf(number)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.spend(text.len())?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Value, E> {
        self.spend(text.len())?;
        Ok(Value::String(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.spend(0)?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.spend(0)?;
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            self.spend(key.len())?;
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            let value = access.next_value_seed(self)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_are_not_guessed() {
        let text = "on: yes\nport: 0080\nbig: 1_000\nday: 2001-01-01\nno: ~\nyes: true\nn: -1.50";

        let read = documents(text).unwrap();

        let expected = json!({
            "on": "yes", "port": "0080", "big": "1_000", "day": "2001-01-01", "no": null, "yes": true, "n": -1.5,
        });
        assert_eq!(read, [expected]);
    }

    #[test]
    fn anchors_and_merges_are_resolved() {
        let read = documents("base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\n---\nnext").unwrap();

        assert_eq!(
            read,
            [
                json!({"base": {"x": 1, "y": 2}, "more": {"x": 1, "y": 3}}),
                json!("next")
            ]
        );
    }

    #[test]
    fn a_tree_that_outgrows_its_room_is_refused_while_it_grows() {
        let grow = |room: usize| {
            let left = Cell::new(room);
            Grow { left: &left }.deserialize(&mut serde_json::Deserializer::from_str(
                r#"{"a": ["bc", 1]}"#,
            ))
        };
        let needed = 5 * size_of::<Value>() + "abc".len(); // a key takes as much as a value

        assert_eq!(grow(needed).unwrap(), json!({"a": ["bc", 1]}));
        assert!(grow(needed - 1).is_err());
    }
}

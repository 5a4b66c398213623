//! Copies the named places of a JSON document into values a condition can compute with, and nothing else of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cel::Value;

use super::reads::{Use, map, text_key};
use super::scan::{LEAVES, Members};

/// Why what a condition names could not be copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum LeafFault {
    #[error("what it names is above {LEAVES} bytes")]
    TooLarge,
    #[error("what it looks into is no JSON")]
    NotJson,
}

/// How many bytes may still be copied for one evaluation.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(LEAVES)
    }
}

impl Budget {
    fn spend(&mut self, bytes: usize) -> Result<(), LeafFault> {
        self.0 = self.0.checked_sub(bytes).ok_or(LeafFault::TooLarge)?;
        Ok(())
    }
}

/// Which places below one place are named.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    whole: bool,
    members: BTreeMap<String, Wanted>,
}

impl Wanted {
    pub(super) fn add(&mut self, members: &[&str], purpose: Use) {
        match members.split_first() {
            None => self.whole |= purpose == Use::Value,
            Some((first, rest)) => {
                self.members
                    .entry((*first).to_owned())
                    .or_default()
                    .add(rest, purpose);
            }
        }
    }

    /// Copies what is named out of a document. What is missing stays missing; what is only tested for is `null`.
    pub(super) fn copy(&self, json: &[u8], budget: &mut Budget) -> Result<Value, LeafFault> {
        let json = json.trim_ascii();
        if self.whole {
            return whole(json, budget);
        }
        if self.members.is_empty() || json.is_empty() {
            return Ok(Value::Null);
        }
        match json[0] {
            b'{' => self.copy_members(json, budget),
            // Neither has members: an empty one is refused by the expression just as the full one would be.
            b'[' => Ok(Value::List(Arc::default())),
            b'"' => Ok(Value::String(Arc::default())),
            _ => whole(json, budget),
        }
    }

    fn copy_members(&self, json: &[u8], budget: &mut Budget) -> Result<Value, LeafFault> {
        let mut found = BTreeMap::new();
        for member in Members::of(json) {
            let (name, value) = member.ok_or(LeafFault::NotJson)?;
            if let Some((name, wanted)) = self.members.get_key_value(&*name) {
                found.insert(name, (wanted, value)); // of members with one name the last one counts
            }
        }
        let mut members = HashMap::with_capacity(found.len());
        for (name, (wanted, value)) in found {
            members.insert(text_key(name), wanted.copy(value, budget)?);
        }
        Ok(map(members))
    }
}

fn whole(json: &[u8], budget: &mut Budget) -> Result<Value, LeafFault> {
    if json.is_empty() {
        return Ok(Value::Null);
    }
    budget.spend(json.len())?;
    serde_json::from_slice(json)
        .map(value)
        .map_err(|_| LeafFault::NotJson)
}

/// Integers become ints, never uints: the library's own conversion makes `n + 1` an error.
fn value(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(truth) => Value::Bool(truth),
        serde_json::Value::Number(number) => number.as_i64().map_or_else(
            || Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            Value::Int,
        ),
        serde_json::Value::String(text) => Value::String(Arc::new(text)),
        serde_json::Value::Array(items) => {
            Value::List(Arc::new(items.into_iter().map(value).collect()))
        }
        serde_json::Value::Object(members) => map(members
            .into_iter()
            .map(|(name, it)| (text_key(&name), value(it)))
            .collect()),
    }
}

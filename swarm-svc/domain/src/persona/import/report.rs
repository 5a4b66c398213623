//! What an import did: what it carried, what it dropped and why, and which rules it used.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// A part that has no place in a persona.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dropped {
    /// A JSON pointer into the source.
    pub path: String,
    pub reason: &'static str,
}

/// The report that the receipt keeps and the mind's first turn gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub format: String,
    pub source_sha256: String,
    pub carried: BTreeMap<&'static str, usize>,
    pub dropped: BTreeSet<Dropped>,
    pub coerced: BTreeSet<&'static str>,
}

impl Report {
    pub(super) const fn new(format: String, source_sha256: String) -> Self {
        Self {
            format,
            source_sha256,
            carried: BTreeMap::new(),
            dropped: BTreeSet::new(),
            coerced: BTreeSet::new(),
        }
    }

    pub(super) fn carry(&mut self, list: &'static str, count: usize) {
        if count > 0 {
            *self.carried.entry(list).or_default() += count;
        }
    }

    pub(super) fn drop(&mut self, path: impl Into<String>, reason: &'static str) {
        // A name from the source: where it is stored, no text holds a NUL.
        let path = path.into().replace('\0', "\u{fffd}");
        self.dropped.insert(Dropped { path, reason });
    }

    pub(super) fn coerce(&mut self, rule: &'static str) {
        self.coerced.insert(rule);
    }

    #[must_use]
    pub fn to_value(&self) -> Value {
        let dropped = self.dropped.iter();
        let dropped: Vec<Value> = dropped
            .map(|part| json!({"path": part.path, "reason": part.reason}))
            .collect();
        json!({
            "format": self.format,
            "sourceSha256": self.source_sha256,
            "carried": self.carried,
            "dropped": dropped,
            "coerced": self.coerced,
        })
    }
}

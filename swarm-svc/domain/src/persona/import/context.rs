//! What every reader of a form shares: whose persona it becomes, the time of the source, and the rules for parts that many
//! lists have.

use serde_json::{Map, Value, json};

use super::report::Report;
use crate::persona::schema::{STATUSES, TARGET_KINDS};
use crate::{Instance, canonical};

pub(super) struct Context<'a> {
    pub(super) mind: &'a Instance,
    /// What the mind calls itself: the label of a target that is itself.
    pub(super) name: String,
    /// When the source was last changed: the time of whatever has none.
    pub(super) time: String,
    /// The pointer to what is read, within the source.
    pub(super) root: String,
    pub(super) report: Report,
}

/// Whether a part says nothing: null, or empty.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(parts) => parts.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The parts of an object, none of anything else.
pub(super) fn parts(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

impl<'a> Context<'a> {
    pub(super) fn new(mind: &'a Instance, report: Report) -> Self {
        Self {
            mind,
            name: mind.as_str().to_owned(),
            time: "1970-01-01T00:00:00Z".to_owned(),
            root: String::new(),
            report,
        }
    }

    /// The target that is the mind itself.
    pub(super) fn own(&self) -> Value {
        json!({"kind": "self", "id": self.mind.as_str(), "label": self.name})
    }

    /// What something is about: an object with a kind, a bare text, or nobody but oneself.
    pub(super) fn target(&mut self, value: Option<Value>, path: &str) -> Value {
        match value {
            Some(Value::Object(parts)) => self.target_of(parts, path),
            Some(Value::String(text)) => {
                self.report.coerce("target_unspecified");
                json!({"kind": "custom", "customKind": "unspecified", "id": slug(&text), "label": text})
            }
            Some(other) => other,
            None => {
                self.report.coerce("target_self");
                self.own()
            }
        }
    }

    fn target_of(&mut self, parts: Map<String, Value>, path: &str) -> Value {
        let mut target = Map::new();
        for (key, part) in parts {
            match key.as_str() {
                "kind" | "id" | "label" | "customKind" if !is_empty(&part) => {
                    target.insert(key, part);
                }
                _ if is_empty(&part) => {}
                _ => self.report.drop(format!("{path}/{key}"), "no_field"),
            }
        }
        let kind = target
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let known = match kind.as_str() {
            "archive" => "document",
            "lore" => "concept",
            "" => return Value::Object(target),
            kind if TARGET_KINDS.contains(&kind) => return Value::Object(target),
            _ => "custom",
        };
        self.report.coerce("target_kind");
        target.insert("kind".to_owned(), known.into());
        if known == "custom" {
            target.insert("customKind".to_owned(), kind.into());
        }
        Value::Object(target)
    }

    /// An instant of the source, else that of its last change.
    pub(super) fn time(&mut self, value: Option<Value>) -> Value {
        value.unwrap_or_else(|| {
            self.report.coerce("time_filled");
            self.time.as_str().into()
        })
    }

    /// A state of today for a word of old.
    pub(super) fn status(&mut self, value: Option<Value>) -> Value {
        let Some(Value::String(word)) = value else {
            return value.unwrap_or_else(|| "active".into());
        };
        let known = match word.as_str() {
            word if STATUSES.contains(&word) => return word.into(),
            "deferred" | "blocked" | "dormant" => "cooling",
            "satisfied" | "spoken" => "resolved",
            "abandoned" => "retired",
            _ => "active",
        };
        self.report.coerce("status_word");
        known.into()
    }

    /// The id of the source, else one made of what it is about and says.
    pub(super) fn id(
        &mut self,
        value: Option<Value>,
        tag: &str,
        target: &Value,
        summary: Option<&Value>,
    ) -> Value {
        if let Some(id) = value {
            return id;
        }
        self.report.coerce("id_made");
        let text =
            |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let about = text(target.get("label").or_else(|| target.get("id")));
        let digest = canonical::sha256(format!("{about}\u{1f}{}", text(summary)).as_bytes());
        format!("{}-{tag}-{}", self.mind, &digest[..12]).into()
    }
}

/// Lower case, and each run of other characters as one underscore.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.to_lowercase().chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.ends_with('_') {
            slug.push('_');
        }
    }
    slug
}

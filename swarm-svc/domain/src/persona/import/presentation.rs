//! How a mind shows itself, what it holds dear, and what it notes for itself.

use serde_json::{Map, Value};

use super::context::{Context, is_empty, parts};
use super::item::{Item, set};

impl Context<'_> {
    /// The voice that the source states, else its description, else its name.
    pub(super) fn voice(&mut self, stated: &Value, description: &Value, name: &Value) -> Value {
        if !is_empty(stated) {
            return stated.clone();
        }
        self.report.coerce("voice_from_description");
        if is_empty(description) {
            name.clone()
        } else {
            description.clone()
        }
    }

    /// Today's name of a renderer.
    pub(super) fn renderer(&mut self, stated: &Value) -> Option<Value> {
        if stated == "repo_face" {
            self.report.coerce("renderer");
            return Some("repo_persona".into());
        }
        (!is_empty(stated)).then(|| stated.clone())
    }

    /// A list of texts, left out where it is empty.
    pub(super) fn notes(&mut self, source: &Value, out: &mut Map<String, Value>) {
        if is_empty(source) {
            return;
        }
        self.report
            .carry("privateNotes", source.as_array().map_or(0, Vec::len));
        out.insert("privateNotes".to_owned(), source.clone());
    }

    /// Values: what the summary is made of differs from form to form.
    pub(super) fn values(
        &mut self,
        (source, path): (&Value, &str),
        summary: impl Fn(&mut Item) -> Option<Value>,
        out: &mut Map<String, Value>,
    ) {
        let values = self.list("values", (source, path), |context, mut item| {
            let mut value = Map::new();
            set(&mut value, "id", item.take(&["id", "value_id"]));
            item.same(&["label"], &mut value);
            let priority = item.take(&["priority"]);
            set(
                &mut value,
                "priority",
                context.number(priority, &format!("{}/priority", item.path)),
            );
            set(&mut value, "summary", summary(&mut item));
            item.dropped(context);
            Some(Value::Object(value))
        });
        if !is_empty(&values) {
            out.insert("values".to_owned(), values);
        }
    }

    /// Drops the sections that have no place. Those that only ran things are told apart.
    pub(super) fn leftovers(&mut self, source: &Value, path: &str, known: &[&str]) {
        const RUNTIME: [&str; 5] = [
            "void.moderation_cursor",
            "void.speech_receipts",
            "void.scheduled_runtime",
            "operationalState",
            "moderation_runtime",
        ];
        for (key, part) in parts(source) {
            let pointer = format!("{path}/{key}");
            if RUNTIME.contains(&key.as_str()) {
                self.report.drop(pointer, "runtime_residue");
            } else if !known.contains(&key.as_str()) && !is_empty(part) {
                self.report.drop(pointer, "no_field");
            }
        }
    }
}

/// A part as it is, left out where it says nothing.
pub(super) fn copied(source: &Value) -> Option<Value> {
    (!is_empty(source)).then(|| source.clone())
}

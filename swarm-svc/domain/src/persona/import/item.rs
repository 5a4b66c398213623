//! An entry of a list in the source, taken apart: what no field takes goes along as an extension, and is never authority.

use serde_json::{Map, Value, json};

use super::context::{Context, is_empty};

pub(super) struct Item {
    parts: Map<String, Value>,
    pub(super) path: String,
}

impl Item {
    /// The entries of a list that are objects; others have no field.
    pub(super) fn all(list: &Value, path: &str, context: &mut Context<'_>) -> Vec<Self> {
        let mut items = Vec::new();
        for (n, entry) in list.as_array().into_iter().flatten().enumerate() {
            let path = format!("{path}/{n}");
            match entry {
                Value::Object(parts) => items.push(Self {
                    parts: parts.clone(),
                    path,
                }),
                _ => context.report.drop(path, "no_field"),
            }
        }
        items
    }

    pub(super) fn new(parts: Map<String, Value>, path: String) -> Self {
        Self { parts, path }
    }

    /// The first of these that says something.
    pub(super) fn peek(&self, names: &[&str]) -> Option<&Value> {
        let found = names.iter().filter_map(|name| self.parts.get(*name));
        found.into_iter().find(|part| !is_empty(part))
    }

    /// As [`Item::peek`], and it is gone.
    pub(super) fn take(&mut self, names: &[&str]) -> Option<Value> {
        let says = |name: &&&str| self.parts.get(**name).is_some_and(|part| !is_empty(part));
        let name = names.iter().find(says)?;
        self.parts.remove(*name)
    }

    /// Moves fields that are called the same then and now.
    pub(super) fn same(&mut self, names: &[&str], out: &mut Map<String, Value>) {
        for name in names {
            set(out, name, self.take(&[name]));
        }
    }

    /// What is left, for an entry that has extensions.
    pub(super) fn extensions(mut self, context: &mut Context<'_>, out: &mut Map<String, Value>) {
        let mut extensions = match self.take(&["extensions"]) {
            Some(Value::Object(own)) => own,
            _ => Map::new(),
        };
        let mut import = Map::new();
        for (key, part) in self.parts {
            if key == "semanticVector" {
                context
                    .report
                    .drop(format!("{}/{key}", self.path), "derived");
            } else if !is_empty(&part) {
                import.insert(key, part);
            }
        }
        if !import.is_empty() {
            extensions.insert("import".to_owned(), json!(import));
        }
        set(
            out,
            "extensions",
            (!extensions.is_empty()).then_some(Value::Object(extensions)),
        );
    }

    /// What is left, for an entry that has none.
    pub(super) fn dropped(self, context: &mut Context<'_>) {
        for (key, part) in self.parts {
            let reason = if key == "semanticVector" {
                "derived"
            } else {
                "no_field"
            };
            if !is_empty(&part) {
                context.report.drop(format!("{}/{key}", self.path), reason);
            }
        }
    }
}

/// Sets a part, if there is one.
pub(super) fn set(out: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        out.insert(name.to_owned(), value);
    }
}

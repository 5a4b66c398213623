//! Bonds, reads, stances, moods, biases and wishes to act: what was one word once is a kind and numbers today.

use serde_json::{Map, Value, json};

use super::context::Context;
use super::item::{Item, set};
use super::thought::NO_IMPLICATION;

/// How a form calls the words that decide a kind.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub(super) target: &'static [&'static str],
    /// Of a bond. It stays as an extension, since kind and numbers say less.
    pub(super) relationship: &'static str,
    /// Of a read.
    pub(super) read: &'static [&'static str],
    /// Of a stance.
    pub(super) status: &'static [&'static str],
    pub(super) principle: &'static [&'static str],
    pub(super) implication: &'static [&'static str],
    pub(super) valence: &'static [&'static str],
    pub(super) question: &'static [&'static str],
}

/// Six decimals, as bonds have them.
fn rounded(number: f64) -> Value {
    json!((number * 1e6).round() / 1e6)
}

impl Context<'_> {
    /// Reads a list of the source, each entry by one rule.
    pub(super) fn list(
        &mut self,
        name: &'static str,
        (source, path): (&Value, &str),
        mut each: impl FnMut(&mut Self, Item) -> Option<Value>,
    ) -> Value {
        let mut list = Vec::new();
        for item in Item::all(source, path, self) {
            list.extend(each(self, item));
        }
        self.report.carry(name, list.len());
        Value::Array(list)
    }

    /// What bonds, reads, stances and actions have in common. The target stands under `role`.
    fn entry(
        &mut self,
        item: &mut Item,
        tag: &str,
        words: &Words,
        role: &str,
    ) -> Map<String, Value> {
        let mut out = Map::new();
        let target = item.take(words.target);
        let target = self.target(target, &format!("{}/target", item.path));
        let summary = item.take(&["summary"]);
        let ids = ["id", "bondId", "readId", "stanceId", "interventionId"];
        let id = self.id(item.take(&ids), tag, &target, summary.as_ref());
        out.insert("id".to_owned(), id);
        out.insert(role.to_owned(), target);
        set(&mut out, "summary", summary);
        let time = item.take(&["updatedAt"]);
        out.insert("updatedAt".to_owned(), self.time(time));
        out
    }

    fn intensity(&mut self, item: &mut Item, out: &mut Map<String, Value>) {
        let intensity = item.take(&["intensity"]);
        set(
            out,
            "intensity",
            self.number(intensity, &format!("{}/intensity", item.path)),
        );
    }

    pub(super) fn bond(&mut self, mut item: Item, words: &Words) -> Value {
        let mut out = self.entry(&mut item, "bond", words, "object");
        self.intensity(&mut item, &mut out);
        let status = item.take(&["status"]);
        out.insert("status".to_owned(), self.status(status));
        out.insert("subject".to_owned(), self.own());
        let word = item
            .peek(&[words.relationship])
            .and_then(Value::as_str)
            .unwrap_or("unspecified");
        let kind = match word {
            "fondness" | "attachment" => "friend",
            "trust" | "respect" => "collaborator",
            "protectiveness" => "ally",
            "rivalry" => "rival",
            _ => "custom",
        };
        out.insert("relationshipKind".to_owned(), kind.into());
        set(
            &mut out,
            "customRelationshipKind",
            (kind == "custom").then(|| word.into()),
        );
        let strength = out.get("intensity").and_then(Value::as_f64).unwrap_or(0.5);
        let is_dark = matches!(word, "suspicion" | "irritation" | "rivalry" | "envy");
        let is_warm = matches!(
            word,
            "trust" | "respect" | "fondness" | "attachment" | "protectiveness"
        );
        let lean = if is_dark {
            -0.5
        } else if is_warm {
            0.5
        } else {
            0.0
        };
        let tension = if is_dark { strength } else { 1.0 - strength };
        out.insert("trust".to_owned(), rounded(0.5 + lean * strength));
        out.insert("tension".to_owned(), rounded(tension));
        self.report.coerce("bond_numbers");
        item.extensions(self, &mut out);
        Value::Object(out)
    }

    pub(super) fn read(&mut self, mut item: Item, words: &Words) -> Value {
        let mut out = self.entry(&mut item, "read", words, "target");
        self.intensity(&mut item, &mut out);
        let word = item.take(words.read);
        let word = word
            .as_ref()
            .and_then(Value::as_str)
            .unwrap_or("unspecified");
        let kind = match word {
            "favored" | "neglected" | "pampered" | "ignored" | "consulted" | "admired" => {
                "attention"
            }
            "bypassed" | "blocked" => "authority",
            "threatened" => "risk",
            "challenged" => "conflict",
            _ => "custom",
        };
        let valence = match word {
            "favored" | "pampered" | "consulted" | "admired" => 0.5,
            "neglected" | "bypassed" | "blocked" | "ignored" | "threatened" => -0.5,
            _ => 0.0,
        };
        let status = item.take(&["status"]);
        out.insert("status".to_owned(), self.status(status));
        out.insert("statusKind".to_owned(), kind.into());
        set(
            &mut out,
            "customStatusKind",
            (kind == "custom").then(|| word.into()),
        );
        out.insert("confidence".to_owned(), json!(0.5));
        out.insert("valence".to_owned(), json!(valence));
        self.report.coerce("status_kind");
        item.extensions(self, &mut out);
        Value::Object(out)
    }

    pub(super) fn stance(&mut self, mut item: Item, words: &Words) -> Value {
        let mut out = self.entry(&mut item, "stance", words, "target");
        self.intensity(&mut item, &mut out);
        let status = item.take(words.status);
        out.insert("status".to_owned(), self.status(status));
        set(&mut out, "principle", item.take(words.principle));
        self.neutral(
            &mut out,
            "actionImplication",
            item.take(words.implication),
            NO_IMPLICATION,
        );
        let valence = item.peek(words.valence).cloned();
        let valence = self.valence(valence, &format!("{}/valence", item.path));
        let kind = match valence.as_ref().and_then(Value::as_f64) {
            Some(valence) if valence > 0.35 => "aligned",
            Some(valence) if valence < -0.35 => "rejected",
            _ if item.peek(words.question).is_some() => "uncertain",
            _ => "contextual",
        };
        out.insert("stanceKind".to_owned(), kind.into());
        self.report.coerce("stance_kind");
        item.extensions(self, &mut out);
        Value::Object(out)
    }

    pub(super) fn action(&mut self, mut item: Item, words: &Words) -> Value {
        let mut out = self.entry(&mut item, "action", words, "target");
        let word = item.take(&["status"]);
        let readiness = match word.as_ref().and_then(Value::as_str) {
            Some("queued") => "ready",
            Some("deferred") => "waiting",
            _ => "expired",
        };
        out.insert("status".to_owned(), self.status(word));
        let names_itself = item
            .peek(&["kind"])
            .is_some_and(|kind| kind == "identity_crystallization");
        let kind = if names_itself { "remember" } else { "speak" };
        out.insert("actionType".to_owned(), kind.into());
        out.insert("readiness".to_owned(), readiness.into());
        out.insert("riskLevel".to_owned(), "unknown".into());
        out.insert("confidence".to_owned(), json!(0.5));
        self.report.coerce("action_readiness");
        set(&mut out, "rationale", item.take(&["draft"]));
        let urgency = item.take(&["priority"]);
        set(
            &mut out,
            "urgency",
            self.number(urgency, &format!("{}/priority", item.path)),
        );
        set(&mut out, "constraints", item.take(&["tags"]));
        set(&mut out, "expiresAt", item.take(&["retiredAt", "spokenAt"]));
        set(
            &mut out,
            "deliveryTarget",
            item.take(&["deliveryTarget"]).and_then(delivery),
        );
        let time = item.take(&["createdAt"]);
        out.insert("createdAt".to_owned(), self.time(time));
        item.extensions(self, &mut out);
        Value::Object(out)
    }

    pub(super) fn mood(&mut self, item: Item) -> Option<Value> {
        self.measured(item, &["name", "source"])
    }

    pub(super) fn bias(&mut self, item: Item) -> Option<Value> {
        self.measured(item, &["name", "summary", "behavioralPull"])
    }

    /// An entry that has a value and no extensions; without a number it is none.
    fn measured(&mut self, mut item: Item, fields: &[&str]) -> Option<Value> {
        let mut out = Map::new();
        let value = item.take(&["value"]);
        out.insert(
            "value".to_owned(),
            self.number(value, &format!("{}/value", item.path))?,
        );
        item.same(fields, &mut out);
        let time = item.take(&["updatedAt"]);
        out.insert("updatedAt".to_owned(), self.time(time));
        item.dropped(self);
        Some(Value::Object(out))
    }
}

/// Where an action was to be said.
fn delivery(value: Value) -> Option<Value> {
    let channel = value["channelId"]
        .as_str()
        .filter(|channel| !channel.is_empty());
    match channel {
        _ if value["mode"] == "owner_dm" => Some(json!({"kind": "person", "id": "owner"})),
        Some(channel) => Some(json!({"kind": "room", "id": channel})),
        None => None,
    }
}

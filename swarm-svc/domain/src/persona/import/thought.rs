//! Thoughts: memories, threads, pressures and needs, which all have the same fields today and had many names once.

use serde_json::{Map, Value};

use super::context::Context;
use super::item::{Item, set};
use crate::persona::shape::instant;

/// How a form calls the fields of a thought.
#[derive(Clone, Copy)]
pub(super) struct Names {
    pub(super) id: &'static [&'static str],
    pub(super) target: &'static [&'static str],
    pub(super) summary: &'static [&'static str],
    pub(super) claim: &'static [&'static str],
    pub(super) question: &'static [&'static str],
    pub(super) tension: &'static [&'static str],
    pub(super) implication: &'static [&'static str],
    pub(super) intensity: &'static [&'static str],
    pub(super) valence: &'static [&'static str],
    pub(super) has_times: bool,
}

/// A list of thoughts in the source.
pub(super) struct List<'a> {
    pub(super) source: &'a Value,
    pub(super) path: String,
    pub(super) names: Names,
    pub(super) tag: &'static str,
}

/// What a thought without tension, or without a consequence, says instead.
pub(super) const NO_TENSION: &str = "not stated in the source";
pub(super) const NO_IMPLICATION: &str = "context only, not a command";

/// Each list keeps its newest.
const MOST: usize = 200;

impl Context<'_> {
    /// Reads lists of the source into one list of today.
    pub(super) fn thoughts(&mut self, name: &'static str, lists: &[List<'_>]) -> Value {
        let mut all = Vec::new();
        for list in lists {
            for item in Item::all(list.source, &list.path, self) {
                let path = item.path.clone();
                all.push((path, self.thought(item, &list.names, list.tag)));
            }
        }
        self.newest(name, all)
    }

    /// Keeps the newest thoughts of a list, in the order of the source.
    pub(super) fn newest(&mut self, name: &'static str, all: Vec<(String, Value)>) -> Value {
        let at = |thought: &Value| thought["updatedAt"].as_str().and_then(instant);
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|n| std::cmp::Reverse(at(&all[*n].1)));
        order.truncate(MOST);
        let mut kept = Vec::new();
        for (n, (path, thought)) in all.into_iter().enumerate() {
            if order.contains(&n) {
                kept.push(thought);
            } else {
                self.report.drop(path, "over_limit");
            }
        }
        self.report.carry(name, kept.len());
        Value::Array(kept)
    }

    fn thought(&mut self, mut item: Item, names: &Names, tag: &str) -> Value {
        let mut out = Map::new();
        let path = item.path.clone();
        let target = item.take(names.target);
        let target = self.target(target, &format!("{path}/target"));
        let summary = item.take(names.summary);
        let id = self.id(item.take(names.id), tag, &target, summary.as_ref());
        let status = item.take(&["status"]);
        let status = self.status(status);
        let retired = item.take(&["retiredAt"]);
        out.insert(
            "status".to_owned(),
            if retired.is_some() {
                "retired".into()
            } else {
                status
            },
        );
        out.insert("id".to_owned(), id);
        out.insert("target".to_owned(), target);
        set(&mut out, "summary", summary);
        set(&mut out, "retiredAt", retired);
        set(&mut out, "claim", item.take(names.claim));
        set(&mut out, "question", item.take(names.question));
        self.neutral(&mut out, "tension", item.take(names.tension), NO_TENSION);
        self.neutral(
            &mut out,
            "actionImplication",
            item.take(names.implication),
            NO_IMPLICATION,
        );
        let intensity = item.take(names.intensity);
        set(
            &mut out,
            "intensity",
            self.number(intensity, &format!("{path}/intensity")),
        );
        let valence = item.take(names.valence);
        set(
            &mut out,
            "valence",
            self.valence(valence, &format!("{path}/valence")),
        );
        item.same(&["tags"], &mut out);
        for name in ["createdAt", "updatedAt"] {
            let time = if names.has_times {
                item.take(&[name])
            } else {
                None
            };
            out.insert(name.to_owned(), self.time(time));
        }
        item.extensions(self, &mut out);
        Value::Object(out)
    }

    /// A text that today's form asks for, or the words that stand for none.
    pub(super) fn neutral(
        &mut self,
        out: &mut Map<String, Value>,
        name: &str,
        value: Option<Value>,
        none: &str,
    ) {
        let value = value.unwrap_or_else(|| {
            self.report.coerce("neutral_text");
            none.into()
        });
        out.insert(name.to_owned(), value);
    }
}

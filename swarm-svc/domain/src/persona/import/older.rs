//! L5: the form of today as it was written before, with parts that are missing or not declared any more.

use serde_json::{Map, Value, json};

use super::Reading;
use super::context::{Context, parts};
use crate::persona::schema::PERSONA;
use crate::persona::shape::Shape;

/// The blocks that must be there, each with its lists or maps.
const BLOCKS: [(&str, bool, &[&str]); 5] = [
    (
        "activationProfile",
        false,
        &[
            "underlyingOrganization",
            "stableDispositions",
            "behavioralDimensions",
            "presentationStrategy",
            "voiceStyle",
            "situationalState",
        ],
    ),
    (
        "thoughtMemory",
        true,
        &["shortTerm", "memories", "incubation"],
    ),
    ("agencyPressure", true, &["pressures"]),
    ("candidateActions", true, &["actions"]),
    (
        "affect",
        true,
        &[
            "needs",
            "socialBonds",
            "statusReads",
            "moodDimensions",
            "socialBiases",
            "doctrineStances",
        ],
    ),
];

/// Lists of thoughts, of which the newest are kept.
const THOUGHTS: [&str; 5] = ["shortTerm", "memories", "incubation", "pressures", "needs"];

pub(super) fn read(source: &Value, context: &mut Context<'_>) -> Reading {
    if let Some(time) = source["updatedAt"].as_str() {
        context.time = time.to_owned();
    }
    let root = context.root.clone();
    let pruned = pruned(source, &Shape::Object(&PERSONA), &root, context);
    let mut out = pruned.as_object().cloned().unwrap_or_default();
    if let Some(Value::Object(shown)) = out.get_mut("presentation")
        && let Some(renderer) = shown
            .get("defaultRenderer")
            .and_then(|old| context.renderer(old))
    {
        shown.insert("defaultRenderer".to_owned(), renderer);
    }
    for (name, holds_lists, fields) in BLOCKS {
        let block = out.remove(name).unwrap_or_else(|| json!({}));
        let block = filled(
            block,
            holds_lists,
            fields,
            &format!("{root}/{name}"),
            context,
        );
        out.insert(name.to_owned(), block);
    }
    for name in ["privateNotes", "values"] {
        let count = out.get(name).and_then(Value::as_array).map_or(0, Vec::len);
        context.report.carry(name, count);
    }
    Reading {
        parts: out,
        system: source["provenance"]["sourceSystem"]
            .as_str()
            .unwrap_or("persona_state")
            .to_owned(),
        old_id: source["personaId"].as_str().map(str::to_owned),
    }
}

/// A value without what is not declared. What is of another shape stays, and is found when the whole is checked.
fn pruned(value: &Value, shape: &Shape, path: &str, context: &mut Context<'_>) -> Value {
    match (shape, value) {
        (Shape::List(item), Value::Array(items)) => {
            let items = items.iter().enumerate();
            items
                .map(|(n, part)| pruned(part, item, &format!("{path}/{n}"), context))
                .collect()
        }
        (Shape::Map(item), Value::Object(_)) => {
            let parts = parts(value);
            parts
                .map(|(key, part)| {
                    (
                        key.clone(),
                        pruned(part, item, &format!("{path}/{key}"), context),
                    )
                })
                .collect()
        }
        (Shape::Object(object), Value::Object(_)) => {
            let mut out = Map::new();
            for (key, part) in parts(value) {
                let path = format!("{path}/{key}");
                match object.field(key) {
                    Some(field) => {
                        out.insert(key.clone(), pruned(part, &field.shape, &path, context));
                    }
                    None if key == "semanticVector" => context.report.drop(path, "derived"),
                    None => context.report.drop(path, "no_field"),
                }
            }
            Value::Object(out)
        }
        _ => value.clone(),
    }
}

/// A block with all that it must have, and its lists within their limits.
fn filled(
    block: Value,
    holds_lists: bool,
    fields: &[&'static str],
    path: &str,
    context: &mut Context<'_>,
) -> Value {
    let Value::Object(mut block) = block else {
        return block;
    };
    for name in fields {
        let part = block.remove(*name).unwrap_or_else(|| {
            context.report.coerce("block_filled");
            if holds_lists { json!([]) } else { json!({}) }
        });
        let part = match part {
            Value::Array(items) if THOUGHTS.contains(name) => {
                let items = items.into_iter().enumerate();
                let items = items.map(|(n, item)| (format!("{path}/{name}/{n}"), item));
                context.newest(name, items.collect())
            }
            part => {
                let traits = part.as_object().map_or(0, Map::len);
                context.report.carry("traits", traits);
                context
                    .report
                    .carry(name, part.as_array().map_or(0, Vec::len));
                part
            }
        };
        block.insert((*name).to_owned(), part);
    }
    Value::Object(block)
}

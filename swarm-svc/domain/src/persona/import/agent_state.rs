//! L3: an agent's state with snake_case keys.

use serde_json::{Map, Value, json};

use super::Reading;
use super::context::Context;
use super::item::{Item, set};
use super::numbers::TRAITS;
use super::presentation::copied;
use super::thought::{List, NO_IMPLICATION, NO_TENSION, Names};

const NAMES: Names = Names {
    id: &["memoryId", "id"],
    target: &["subjectLabel"],
    summary: &["summary"],
    claim: &[],
    question: &[],
    tension: &[],
    implication: &[],
    intensity: &[],
    valence: &[],
    has_times: false,
};

const THREADS: Names = Names {
    question: &["topic", "theme"],
    intensity: &["salience"],
    ..NAMES
};

pub(super) fn read(source: &Value, context: &mut Context<'_>) -> Reading {
    let (identity, state) = (&source["identity"], &source["canonical_state"]);
    if let Some(name) = identity["name"].as_str() {
        context.name = name.to_owned();
    }
    let root = context.root.clone();
    let mut out = Map::new();
    set(&mut out, "publicName", copied(&identity["name"]));
    set(
        &mut out,
        "publicDescription",
        copied(&identity["public_description"]),
    );
    let voice = context.voice(
        &Value::Null,
        &identity["public_description"],
        &identity["name"],
    );
    out.insert(
        "presentation".to_owned(),
        json!({"voiceSummary": voice, "defaultRenderer": "chat"}),
    );
    context.notes(&identity["private_notes"], &mut out);
    let path = format!("{root}/canonical_state");
    context.values(
        (&state["values"], &format!("{path}/values")),
        summary,
        &mut out,
    );
    let traits = context.profile(state, |names| names.1, &path);
    out.insert("activationProfile".to_owned(), traits);
    out.insert("thoughtMemory".to_owned(), memory(source, &root, context));
    out.insert(
        "agencyPressure".to_owned(),
        json!({"pressures": goals(source, &root, context)}),
    );
    out.insert("candidateActions".to_owned(), json!({"actions": []}));
    let reads = overlays(source, &root, context);
    out.insert(
        "affect".to_owned(),
        json!({
            "needs": [], "socialBonds": [], "statusReads": reads,
            "moodDimensions": [], "socialBiases": [], "doctrineStances": [],
        }),
    );
    leftovers(source, &root, context);
    Reading {
        parts: out,
        system: "agent_state".to_owned(),
        old_id: source["agent_id"].as_str().map(str::to_owned),
    }
}

fn summary(item: &mut Item) -> Option<Value> {
    let flag = item.take(&["unforgivable_if_betrayed"]);
    (flag == Some(Value::Bool(true))).then(|| "Unforgivable if betrayed.".into())
}

fn memory(source: &Value, root: &str, context: &mut Context<'_>) -> Value {
    let list = |name: &str, names: Names, tag: &'static str| List {
        source: &source["memories"][name],
        path: format!("{root}/memories/{name}"),
        names,
        tag,
    };
    let memories = ["episodic", "semantic", "relationship_summaries"];
    let memories = memories.map(|name| list(name, NAMES, "memory"));
    let threads = ["musings", "dreams"].map(|name| list(name, THREADS, "thread"));
    json!({
        "shortTerm": [],
        "memories": context.thoughts("memories", &memories),
        "incubation": context.thoughts("incubation", &threads),
    })
}

fn goals(source: &Value, root: &str, context: &mut Context<'_>) -> Value {
    let mut goals = Vec::new();
    for item in Item::all(&source["goals"], &format!("{root}/goals"), context) {
        goals.push((item.path.clone(), goal(item, context)));
    }
    context.newest("pressures", goals)
}

/// A goal is a pressure of the mind on itself.
fn goal(mut item: Item, context: &mut Context<'_>) -> Value {
    let mut out = Map::new();
    let path = item.path.clone();
    let target = context.target(None, &path);
    let said = item.take(&["description", "label"]);
    let id = context.id(
        item.take(&["goal_id", "id"]),
        "pressure",
        &target,
        said.as_ref(),
    );
    let status = item.take(&["status"]);
    out.insert("id".to_owned(), id);
    out.insert("status".to_owned(), context.status(status));
    out.insert("target".to_owned(), target);
    set(&mut out, "summary", said.clone());
    context.neutral(&mut out, "actionImplication", said, NO_IMPLICATION);
    set(&mut out, "claim", item.take(&["emotional_stake"]));
    let blockers = item.take(&["blockers"]).map(joined);
    context.neutral(&mut out, "tension", blockers, NO_TENSION);
    let priority = item.take(&["priority"]);
    set(
        &mut out,
        "intensity",
        context.number(priority, &format!("{path}/priority")),
    );
    out.insert("tags".to_owned(), json!(["goal"]));
    for name in ["createdAt", "updatedAt"] {
        out.insert(name.to_owned(), context.time(None));
    }
    item.extensions(context, &mut out);
    Value::Object(out)
}

/// A list of texts as one.
fn joined(value: Value) -> Value {
    let Value::Array(items) = value else {
        return value;
    };
    let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
    texts.join("; ").into()
}

/// What a mind believed of others is a read of which it is not certain.
fn overlays(source: &Value, root: &str, context: &mut Context<'_>) -> Value {
    let mut reads = Vec::new();
    let path = format!("{root}/perceived_state_overlays");
    for mut overlay in Item::all(&source["perceived_state_overlays"], &path, context) {
        let target = overlay.take(&["target", "target_agent_id", "subjectLabel", "label"]);
        let beliefs = overlay.take(&["beliefs"]).unwrap_or_default();
        for belief in beliefs.as_array().into_iter().flatten() {
            reads.push(belief_read(belief, target.clone(), &overlay.path, context));
        }
        overlay.dropped(context);
    }
    context.report.carry("statusReads", reads.len());
    Value::Array(reads)
}

fn belief_read(
    belief: &Value,
    target: Option<Value>,
    path: &str,
    context: &mut Context<'_>,
) -> Value {
    let said = match belief {
        Value::Object(parts) => ["summary", "belief", "claim", "label"]
            .iter()
            .find_map(|name| parts.get(*name)),
        other => Some(other),
    };
    let target = context.target(target, path);
    let id = context.id(None, "read", &target, said);
    let mut out = Map::new();
    out.insert("id".to_owned(), id);
    out.insert("status".to_owned(), "active".into());
    out.insert("target".to_owned(), target);
    out.insert("statusKind".to_owned(), "uncertainty".into());
    set(&mut out, "summary", said.cloned());
    out.insert("confidence".to_owned(), json!(0.5));
    out.insert("updatedAt".to_owned(), context.time(None));
    if belief.is_object() {
        out.insert("extensions".to_owned(), json!({"import": belief}));
    }
    context.report.coerce("status_kind");
    Value::Object(out)
}

fn leftovers(source: &Value, root: &str, context: &mut Context<'_>) {
    let state: Vec<&str> = TRAITS
        .iter()
        .map(|names| names.1)
        .chain(["values"])
        .collect();
    let known: [(&str, &[&str]); 3] = [
        ("identity", &["name", "public_description", "private_notes"]),
        ("canonical_state", &state),
        (
            "memories",
            &[
                "episodic",
                "semantic",
                "relationship_summaries",
                "musings",
                "dreams",
            ],
        ),
    ];
    let whole = [
        "schemaVersion",
        "agent_id",
        "goals",
        "perceived_state_overlays",
    ];
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).chain(whole).collect();
    context.leftovers(source, root, &names);
    for (name, fields) in known {
        context.leftovers(&source[name], &format!("{root}/{name}"), fields);
    }
}

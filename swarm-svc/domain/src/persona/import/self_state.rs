//! L1: a map of up to eight typed documents, and an identity.

use serde_json::{Map, Value, json};

use super::Reading;
use super::context::{Context, parts};
use super::item::{Item, set};
use super::presentation::copied;
use super::social::Words;
use super::thought::{List, Names};
use crate::persona::shape::instant;

const NAMES: Names = Names {
    id: &["id", "memoryId", "threadId", "pressureId", "needId"],
    target: &["target"],
    summary: &["summary"],
    claim: &["claim"],
    question: &["question"],
    tension: &["tension"],
    implication: &["actionImplication"],
    intensity: &["intensity"],
    valence: &["valence"],
    has_times: true,
};

const THREADS: Names = Names {
    question: &["topic", "question"],
    intensity: &["maturation", "intensity"],
    ..NAMES
};

const WORDS: Words = Words {
    target: &["target"],
    relationship: "stance",
    read: &["status"],
    status: &["status"],
    principle: &["doctrine", "principle"],
    implication: &["actionImplication"],
    valence: &["valence"],
    question: &["question"],
};

/// The parts of a typed document that say what it is, and not who the mind is.
const HEADER: [&str; 3] = ["schemaVersion", "updatedAt", "agentId"];

pub(super) fn read(source: &Value, context: &mut Context<'_>) -> Reading {
    let profile = &source["void.self_profile"];
    latest(source, context);
    if let Some(name) = profile["publicName"].as_str() {
        context.name = name.to_owned();
    }
    let mut out = Map::new();
    set(&mut out, "publicName", copied(&profile["publicName"]));
    set(
        &mut out,
        "publicDescription",
        copied(&profile["publicDescription"]),
    );
    out.insert(
        "presentation".to_owned(),
        presentation(source, profile, context),
    );
    context.notes(&profile["privateNotes"], &mut out);
    let root = context.root.clone();
    let at = |section: &str| format!("{root}/{section}");
    let own = at("void.self_profile");
    let summary = |item: &mut Item| item.take(&["summary"]);
    context.values(
        (&profile["values"], &format!("{own}/values")),
        summary,
        &mut out,
    );
    let traits = context.profile(
        &profile["activationProfile"],
        |names| names.0,
        &format!("{own}/activationProfile"),
    );
    out.insert("activationProfile".to_owned(), traits);
    out.insert(
        "thoughtMemory".to_owned(),
        memory(source, &at("void.thought_memory"), context),
    );
    let pressures = List {
        source: &source["void.agency_pressure"]["pressures"],
        path: at("void.agency_pressure/pressures"),
        names: NAMES,
        tag: "pressure",
    };
    let pressures = context.thoughts("pressures", &[pressures]);
    out.insert("agencyPressure".to_owned(), json!({"pressures": pressures}));
    let actions = &source["void.candidate_interventions"]["interventions"];
    let path = at("void.candidate_interventions/interventions");
    let actions = context.list("actions", (actions, &path), |context, item| {
        Some(context.action(item, &WORDS))
    });
    out.insert("candidateActions".to_owned(), json!({"actions": actions}));
    out.insert("affect".to_owned(), affect(source, &root, context));
    leftovers(source, &root, context);
    Reading {
        parts: out,
        system: "void.self_state".to_owned(),
        old_id: profile["agentId"].as_str().map(str::to_owned),
    }
}

/// The source was last changed when the latest of its documents was.
fn latest(source: &Value, context: &mut Context<'_>) {
    let times = parts(source).filter_map(|(_, part)| part["updatedAt"].as_str());
    let latest = times.filter_map(|time| Some((instant(time)?, time))).max();
    if let Some((_, time)) = latest {
        context.time = time.to_owned();
    }
}

fn presentation(source: &Value, profile: &Value, context: &mut Context<'_>) -> Value {
    let mut out = Map::new();
    let voice = context.voice(
        &Value::Null,
        &profile["publicDescription"],
        &profile["publicName"],
    );
    out.insert("voiceSummary".to_owned(), voice);
    let identity = &source["identity"];
    let repo = identity["repoName"]
        .as_str()
        .filter(|name| !name.is_empty());
    let renderer = if repo.is_some() {
        "repo_persona"
    } else {
        "chat"
    };
    out.insert("defaultRenderer".to_owned(), renderer.into());
    if let Some(repo) = repo {
        out.insert(
            "homeContext".to_owned(),
            json!({"kind": "repo", "id": repo, "label": repo}),
        );
        out.insert("jurisdiction".to_owned(), repo.into());
    }
    set(&mut out, "avatarUri", copied(&identity["avatarUrl"]));
    Value::Object(out)
}

fn memory(source: &Value, path: &str, context: &mut Context<'_>) -> Value {
    let memory = &source["void.thought_memory"];
    let mut out = Map::new();
    for (name, names, tag) in [
        ("shortTerm", NAMES, "memory"),
        ("memories", NAMES, "memory"),
        ("incubation", THREADS, "thread"),
    ] {
        let list = List {
            source: &memory[name],
            path: format!("{path}/{name}"),
            names,
            tag,
        };
        out.insert(name.to_owned(), context.thoughts(name, &[list]));
    }
    Value::Object(out)
}

fn affect(source: &Value, root: &str, context: &mut Context<'_>) -> Value {
    let name = if source.get("void.face_affect").is_some() {
        "void.face_affect"
    } else {
        "void.persona_affect"
    };
    let (affect, path) = (&source[name], format!("{root}/{name}"));
    let at = |list: &str| format!("{path}/{list}");
    let needs = List {
        source: &affect["needs"],
        path: at("needs"),
        names: NAMES,
        tag: "need",
    };
    let reads = if affect.get("statusReads").is_some() {
        "statusReads"
    } else {
        "userStatuses"
    };
    let bonds = (&affect["socialBonds"], at("socialBonds"));
    let stances = (&affect["doctrineStances"], at("doctrineStances"));
    json!({
        "needs": context.thoughts("needs", &[needs]),
        "socialBonds": context.list("socialBonds", (bonds.0, &bonds.1), |context, item| Some(context.bond(item, &WORDS))),
        "statusReads": context.list("statusReads", (&affect[reads], &at(reads)), |context, item| Some(context.read(item, &WORDS))),
        "moodDimensions": context.list("moodDimensions", (&affect["moodDimensions"], &at("moodDimensions")), Context::mood),
        "socialBiases": context.list("socialBiases", (&affect["socialBiases"], &at("socialBiases")), Context::bias),
        "doctrineStances": context.list("doctrineStances", (stances.0, &stances.1), |context, item| Some(context.stance(item, &WORDS))),
    })
}

fn leftovers(source: &Value, root: &str, context: &mut Context<'_>) {
    const AFFECT: &[&str] = &[
        "needs",
        "socialBonds",
        "statusReads",
        "userStatuses",
        "moodDimensions",
        "socialBiases",
        "doctrineStances",
    ];
    let known: [(&str, &[&str]); 7] = [
        (
            "void.self_profile",
            &[
                "publicName",
                "publicDescription",
                "privateNotes",
                "values",
                "activationProfile",
            ],
        ),
        (
            "void.thought_memory",
            &["shortTerm", "memories", "incubation"],
        ),
        ("void.agency_pressure", &["pressures"]),
        ("void.candidate_interventions", &["interventions"]),
        ("void.face_affect", AFFECT),
        ("void.persona_affect", AFFECT),
        ("identity", &["repoName", "avatarUrl"]),
    ];
    context.leftovers(source, root, &known.map(|(name, _)| name));
    for (name, fields) in known {
        let fields: Vec<&str> = fields.iter().chain(&HEADER).copied().collect();
        context.leftovers(&source[name], &format!("{root}/{name}"), &fields);
    }
}

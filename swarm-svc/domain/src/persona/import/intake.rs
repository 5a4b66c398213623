//! L2: a form for people, with words for numbers.

use serde_json::{Map, Value, json};

use super::Reading;
use super::context::{Context, parts};
use super::item::{Item, set};
use super::presentation::copied;
use super::social::Words;
use super::thought::{List, Names};

const NAMES: Names = Names {
    id: &["id"],
    target: &["about", "target"],
    summary: &["summary"],
    claim: &["belief", "claim"],
    question: &["openQuestion", "question"],
    tension: &["watchOutFor", "tension"],
    implication: &["futureUse", "wantsNext", "actionImplication"],
    intensity: &["intensity", "maturity", "importance"],
    valence: &["feelsLike", "valence"],
    has_times: true,
};

const THREADS: Names = Names {
    question: &["topic", "openQuestion", "question"],
    ..NAMES
};

const WORDS: Words = Words {
    target: &["about", "target"],
    relationship: "relationship",
    read: &["read"],
    status: &["stance", "status"],
    principle: &["principle"],
    implication: &["futureUse", "wantsNext", "actionImplication"],
    valence: &["feelsLike", "valence"],
    question: &["openQuestion", "question"],
};

pub(super) fn read(source: &Value, context: &mut Context<'_>) -> Reading {
    let persona = &source["persona"];
    let times = ["sourceUpdatedAt", "projectedAt"];
    if let Some(time) = times
        .iter()
        .find_map(|name| source["source"][*name].as_str())
    {
        context.time = time.to_owned();
    }
    if let Some(name) = persona["publicName"].as_str() {
        context.name = name.to_owned();
    }
    let root = context.root.clone();
    let mut out = Map::new();
    set(&mut out, "publicName", copied(&persona["publicName"]));
    set(
        &mut out,
        "publicDescription",
        copied(&persona["publicDescription"]),
    );
    out.insert(
        "presentation".to_owned(),
        presentation(source, &root, context),
    );
    context.notes(&source["privateNotes"], &mut out);
    context.values(
        (&source["coreValues"], &format!("{root}/coreValues")),
        summary,
        &mut out,
    );
    let traits = context.profile(
        &source["personality"],
        |names| names.0,
        &format!("{root}/personality"),
    );
    out.insert("activationProfile".to_owned(), traits);
    out.insert("thoughtMemory".to_owned(), memory(source, &root, context));
    let pressures = List {
        source: &source["agencyPressure"],
        path: format!("{root}/agencyPressure"),
        names: NAMES,
        tag: "pressure",
    };
    let pressures = context.thoughts("pressures", &[pressures]);
    out.insert("agencyPressure".to_owned(), json!({"pressures": pressures}));
    let path = format!("{root}/candidateActions");
    let actions = (&source["candidateActions"], path.as_str());
    let actions = context.list("actions", actions, |context, item| {
        Some(context.action(item, &WORDS))
    });
    out.insert("candidateActions".to_owned(), json!({"actions": actions}));
    out.insert(
        "affect".to_owned(),
        affect(&source["affect"], &format!("{root}/affect"), context),
    );
    leftovers(source, &root, context);
    Reading {
        parts: out,
        system: source["source"]["sourceSystem"]
            .as_str()
            .unwrap_or("persona_intake")
            .to_owned(),
        old_id: persona["id"].as_str().map(str::to_owned),
    }
}

fn presentation(source: &Value, root: &str, context: &mut Context<'_>) -> Value {
    let (stated, persona) = (&source["presentation"], &source["persona"]);
    let mut out = Map::new();
    let voice = context.voice(
        &stated["voiceSummary"],
        &persona["publicDescription"],
        &persona["publicName"],
    );
    out.insert("voiceSummary".to_owned(), voice);
    set(
        &mut out,
        "defaultRenderer",
        context.renderer(&stated["defaultRenderer"]),
    );
    set(
        &mut out,
        "customRenderer",
        copied(&stated["customRenderer"]),
    );
    if let Some(home) = copied(&stated["homeContext"]) {
        let home = context.target(Some(home), &format!("{root}/presentation/homeContext"));
        out.insert("homeContext".to_owned(), home);
    }
    set(&mut out, "publicHandles", copied(&stated["publicHandles"]));
    for name in ["jurisdiction", "pronouns", "avatarUri"] {
        set(&mut out, name, copied(&persona[name]));
    }
    Value::Object(out)
}

/// What a value says, joined.
fn summary(item: &mut Item) -> Option<Value> {
    let names = ["summary", "behavioralImplication", "refusalLine"];
    let said: Vec<Value> = names.iter().filter_map(|name| item.take(&[name])).collect();
    let texts: Vec<&str> = said.iter().filter_map(Value::as_str).collect();
    (!texts.is_empty()).then(|| texts.join(" ").into())
}

fn memory(source: &Value, root: &str, context: &mut Context<'_>) -> Value {
    let mut out = Map::new();
    for (name, old, names, tag) in [
        ("shortTerm", "shortTerm", NAMES, "memory"),
        ("memories", "longTerm", NAMES, "memory"),
        ("incubation", "incubation", THREADS, "thread"),
    ] {
        let source = &source["memories"][old];
        let list = List {
            source,
            path: format!("{root}/memories/{old}"),
            names,
            tag,
        };
        out.insert(name.to_owned(), context.thoughts(name, &[list]));
    }
    Value::Object(out)
}

fn affect(affect: &Value, path: &str, context: &mut Context<'_>) -> Value {
    let at = |list: &str| format!("{path}/{list}");
    let needs = List {
        source: &affect["needs"],
        path: at("needs"),
        names: NAMES,
        tag: "need",
    };
    let stances = (&affect["doctrineStances"], at("doctrineStances"));
    json!({
        "needs": context.thoughts("needs", &[needs]),
        "socialBonds": context.list("socialBonds", (&affect["bonds"], &at("bonds")), |context, item| Some(context.bond(item, &WORDS))),
        "statusReads": context.list("statusReads", (&affect["statusReads"], &at("statusReads")), |context, item| Some(context.read(item, &WORDS))),
        "moodDimensions": moods(&affect["mood"], &at("mood"), context),
        "socialBiases": context.list("socialBiases", (&affect["socialBiases"], &at("socialBiases")), Context::bias),
        "doctrineStances": context.list("doctrineStances", (stances.0, &stances.1), |context, item| Some(context.stance(item, &WORDS))),
    })
}

/// A map of words, as a list of moods.
fn moods(source: &Value, path: &str, context: &mut Context<'_>) -> Value {
    let mut moods = Vec::new();
    for (name, value) in parts(source) {
        let mood = json!({"name": name, "value": value, "source": "import"});
        if let Value::Object(mood) = mood {
            moods.extend(context.mood(Item::new(mood, format!("{path}/{name}"))));
        }
    }
    context.report.carry("moodDimensions", moods.len());
    Value::Array(moods)
}

fn leftovers(source: &Value, root: &str, context: &mut Context<'_>) {
    let known: [(&str, &[&str]); 5] = [
        (
            "persona",
            &[
                "id",
                "publicName",
                "publicDescription",
                "pronouns",
                "avatarUri",
                "jurisdiction",
            ],
        ),
        (
            "presentation",
            &[
                "voiceSummary",
                "defaultRenderer",
                "customRenderer",
                "homeContext",
                "publicHandles",
            ],
        ),
        (
            "personality",
            &[
                "underlyingOrganization",
                "stableDispositions",
                "behavioralDimensions",
                "presentationStrategy",
                "voiceStyle",
                "situationalState",
            ],
        ),
        ("memories", &["shortTerm", "longTerm", "incubation"]),
        (
            "affect",
            &[
                "needs",
                "bonds",
                "statusReads",
                "mood",
                "socialBiases",
                "doctrineStances",
            ],
        ),
    ];
    let whole = [
        "schemaVersion",
        "source",
        "coreValues",
        "privateNotes",
        "agencyPressure",
        "candidateActions",
    ];
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).chain(whole).collect();
    context.leftovers(source, root, &names);
    for (name, fields) in known {
        context.leftovers(&source[name], &format!("{root}/{name}"), fields);
    }
}

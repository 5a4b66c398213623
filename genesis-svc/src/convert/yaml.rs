//! A template as a file that people write, and back. Guesses no types, and reads past what nobody may set.

#[cfg(test)]
mod tests;

use cambium_genesis::template::{Caps, Draft, Spec};
use cambium_genesis::{holdout, matching};
use cambium_kernel::Score;
use serde_json::{Map, Value, json};
use serde_saphyr::options::DuplicateKeyPolicy;

use super::score;
use crate::error::Error;

/// A file of a person; more is none.
const MOST_BYTES: usize = 128 * 1024;
const MOST_DEPTH: usize = 32;

/// What only composting sets. An export shows it, an import reads past it.
const LEARNINGS: &str = "perennial_learnings";

const KNOWN: &[&str] = &[
    "name",
    "role",
    "instructions",
    "capabilities",
    "config",
    "limits",
    "serves_minds",
    "requires_approval",
    "match_threshold",
    "holdout_share",
    LEARNINGS,
];

/// What stands in a file.
#[derive(Debug)]
pub(crate) struct File {
    /// Empty if the file has none.
    pub(crate) name: String,
    pub(crate) draft: Draft,
    /// What was read past.
    pub(crate) left_out: Vec<String>,
}

/// A version, and what its template has learned, which is a JSON list.
pub(crate) fn to_yaml(name: &str, spec: &Spec, learnings: &str) -> String {
    let mut file = Map::new();
    let mut put = |key: &str, value: Value| file.insert(key.to_owned(), value);
    put("name", name.into());
    put("role", spec.role.as_str().into());
    put("instructions", spec.instructions.as_str().into());
    put("capabilities", spec.capabilities.iter().collect());
    if !spec.config.is_empty() {
        put("config", Value::Object(spec.config.clone()));
    }
    if spec.caps != Caps::default() {
        let Caps {
            generation,
            live_children,
            live_agents,
        } = spec.caps;
        put(
            "limits",
            json!({ "generation": generation, "live_children": live_children, "live_agents": live_agents }),
        );
    }
    if !spec.serves_minds.is_empty() {
        put("serves_minds", spec.serves_minds.iter().cloned().collect());
    }
    if spec.requires_approval {
        put("requires_approval", true.into());
    }
    put("match_threshold", spec.match_threshold.as_f64().into());
    put("holdout_share", spec.holdout_share.as_f64().into());
    if let Ok(Value::Array(list)) = serde_json::from_str(learnings)
        && !list.is_empty()
    {
        put(LEARNINGS, Value::Array(list));
    }
    serde_saphyr::to_string_with_options(&Value::Object(file), serde_saphyr::ser_options! {})
        .expect("a tree of texts and numbers always has a YAML form")
}

/// Reads a file. What is wrong is named by its path.
pub(crate) fn from_yaml(text: &str) -> Result<File, Error> {
    if text.len() > MOST_BYTES {
        return Err(Error::field("yaml", "has over 128 KiB"));
    }
    let read = serde_saphyr::from_str_with_options::<Value>(text, options());
    let value = read.map_err(|why| Error::field("yaml", why.to_string()))?;
    let Value::Object(parts) = value else {
        return Err(Error::field("yaml", "is no map"));
    };
    if let Some(unknown) = parts.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(Error::field(unknown, "is no part of a template"));
    }
    let left_out = parts.contains_key(LEARNINGS).then(|| LEARNINGS.to_owned());
    let parts = Parts(&parts);
    Ok(File {
        name: parts.text("name")?,
        draft: Draft {
            role: parts.text("role")?,
            instructions: parts.text("instructions")?,
            capabilities: parts.texts("capabilities")?,
            config: parts
                .get("config")
                .cloned()
                .unwrap_or_else(|| Value::Object(Map::new())),
            limits: parts.get("limits").map(caps).transpose()?,
            serves_minds: parts.texts("serves_minds")?,
            requires_approval: parts.flag("requires_approval")?,
            match_threshold: parts.score("match_threshold", matching::THRESHOLD)?,
            holdout_share: parts.score("holdout_share", holdout::SHARE)?,
        },
        left_out: left_out.into_iter().collect(),
    })
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MOST_DEPTH,
            flow_nesting_limit: MOST_DEPTH,
            max_total_scalar_bytes: MOST_BYTES,
            max_aliases: 0,
            max_anchors: 0,
            max_merge_keys: 0,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
    }
}

fn caps(value: &Value) -> Result<Caps, Error> {
    let Value::Object(parts) = value else {
        return Err(Error::field("limits", "is no map"));
    };
    let mut caps = Caps::default();
    for (name, value) in parts {
        let field = format!("limits.{name}");
        let place = match name.as_str() {
            "generation" => &mut caps.generation,
            "live_children" => &mut caps.live_children,
            "live_agents" => &mut caps.live_agents,
            _ => return Err(Error::field(field, "is no limit of a template")),
        };
        let whole = value.as_u64().and_then(|number| u32::try_from(number).ok());
        *place = whole.ok_or_else(|| Error::field(field, "is no whole number"))?;
    }
    Ok(caps)
}

/// The parts of a map; a null counts as absent.
struct Parts<'a>(&'a Map<String, Value>);

impl<'a> Parts<'a> {
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Result<String, Error> {
        match self.get(name) {
            None => Ok(String::new()),
            Some(value) => text(name.to_owned(), value),
        }
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, Error> {
        let Some(value) = self.get(name) else {
            return Ok(Vec::new());
        };
        let Value::Array(items) = value else {
            return Err(Error::field(name, "is no list"));
        };
        let items = items.iter().enumerate();
        items
            .map(|(index, item)| text(format!("{name}[{index}]"), item))
            .collect()
    }

    fn flag(&self, name: &str) -> Result<bool, Error> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(Error::field(name, "is neither true nor false")),
        }
    }

    fn score(&self, name: &str, default: Score) -> Result<Score, Error> {
        let Some(value) = self.get(name) else {
            return Ok(default);
        };
        let number = value.as_f64();
        score(
            name,
            number.ok_or_else(|| Error::field(name, "is no number"))?,
        )
    }
}

fn text(path: String, value: &Value) -> Result<String, Error> {
    match value {
        Value::String(text) => Ok(text.clone()),
        _ => Err(Error::field(path, "is no text")),
    }
}

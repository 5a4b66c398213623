//! What agents are made from, and what may stand in it.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use cambium_kernel::{Score, check_name};
use serde_json::{Map, Value};

use crate::spawn::Limits;
use crate::{Capabilities, Error, learning, minds, secret};

/// What people call a template. Unique in its workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TemplateName(Arc<str>);

impl TemplateName {
    // INVARIANT: 1 to 128 characters, none of them a control character.
    pub fn parse(text: &str) -> Result<Self, Error> {
        check_name(text).map_err(Error::TemplateName)?;
        Ok(Self(text.into()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TemplateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Everything that a version of a template says, as it was given.
#[derive(Clone, Debug)]
pub struct Draft {
    pub role: String,
    pub instructions: String,
    pub capabilities: Vec<String>,
    pub config: Value,
    pub limits: Option<Caps>,
    pub serves_minds: Vec<String>,
    pub requires_approval: bool,
    pub match_threshold: Score,
    pub holdout_share: Score,
}

/// What a template says of its own limits; 0 means as many as there may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    pub generation: u32,
    pub live_children: u32,
    pub live_agents: u32,
}

/// One version of a template, checked. What it has learned is no part of it: nobody sets that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    // INVARIANT: as `Spec::new` checks it; no text looks like a secret.
    pub role: String,
    pub instructions: String,
    pub capabilities: Capabilities,
    pub config: Map<String, Value>,
    pub caps: Caps,
    pub serves_minds: BTreeSet<String>,
    pub requires_approval: bool,
    pub match_threshold: Score,
    pub holdout_share: Score,
}

const MOST_ROLE: usize = 200;
const MOST_INSTRUCTIONS: usize = 20_000;
const MOST_CONFIG_BYTES: usize = 64 * 1024;

/// The name under which an agent's config holds what it was spawned with.
pub const INHERITED: &str = "inherited_learnings";

impl Spec {
    pub fn new(draft: Draft) -> Result<Self, Error> {
        text("role", &draft.role, MOST_ROLE)?;
        text("instructions", &draft.instructions, MOST_INSTRUCTIONS)?;
        if !learning::THRESHOLDS.contains(&draft.match_threshold) {
            return Err(Error::Threshold);
        }
        let spec = Self {
            capabilities: Capabilities::parse(&draft.capabilities)?,
            config: config(draft.config)?,
            caps: caps(draft.limits.unwrap_or_default())?,
            serves_minds: minds::parse(&draft.serves_minds)?,
            role: draft.role,
            instructions: draft.instructions,
            requires_approval: draft.requires_approval,
            match_threshold: draft.match_threshold,
            holdout_share: draft.holdout_share,
        };
        spec.holds_no_secret()?;
        Ok(spec)
    }

    /// What its spawns may come to: its own caps within those of the house.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let or = |own: u32, most: u32| if own == 0 { most } else { own };
        Limits {
            generation: or(self.caps.generation, Limits::MOST.generation),
            live_children: or(self.caps.live_children, Limits::MOST.live_children),
            live_agents: or(self.caps.live_agents, Limits::MOST.live_agents),
            ..Limits::MOST
        }
    }

    /// Refuses by the path of the first thing that looks like a secret.
    pub fn holds_no_secret(&self) -> Result<(), Error> {
        let config = Value::Object(self.config.clone());
        let texts = [("role", &self.role), ("instructions", &self.instructions)];
        let in_texts = texts
            .into_iter()
            .find_map(|(path, text)| secret::find(text).map(|what| (path.to_owned(), what)));
        let found = in_texts
            .or_else(|| in_list("capabilities", self.capabilities.iter()))
            .or_else(|| secret::find_in("config", &config))
            .or_else(|| in_list("serves_minds", self.serves_minds.iter().map(String::as_str)));
        match found {
            Some((path, what)) => Err(Error::SecretFound { path, what }),
            None => Ok(()),
        }
    }
}

fn in_list<'a>(
    path: &str,
    texts: impl Iterator<Item = &'a str>,
) -> Option<(String, secret::Secret)> {
    texts.enumerate().find_map(|(index, text)| {
        let what = secret::find(text)?;
        Some((format!("{path}[{index}]"), what))
    })
}

/// A text of some length, without NUL, which no database holds.
fn text(field: &'static str, text: &str, most: usize) -> Result<(), Error> {
    let length = text.chars().count();
    let why = match length {
        _ if text.trim().is_empty() => "is empty".to_owned(),
        _ if length > most => format!("has {length} characters, over the limit of {most}"),
        _ if text.contains('\0') => "holds a NUL character".to_owned(),
        _ => return Ok(()),
    };
    Err(Error::Template {
        field: field.to_owned(),
        why,
    })
}

fn config(value: Value) -> Result<Map<String, Value>, Error> {
    let wrong = |path: &str, why: &str| Error::Template {
        field: path.to_owned(),
        why: why.to_owned(),
    };
    let Value::Object(parts) = value else {
        return Err(wrong("config", "is no JSON object"));
    };
    if parts.contains_key(INHERITED) {
        let path = format!("config.{INHERITED}");
        return Err(wrong(&path, "is set by nobody: only composting promotes"));
    }
    let value = Value::Object(parts);
    if value.to_string().len() > MOST_CONFIG_BYTES {
        return Err(wrong("config", "has over 64 KiB"));
    }
    if let Some(path) = nul("config", &value) {
        return Err(wrong(&path, "holds a NUL character"));
    }
    match value {
        Value::Object(parts) => Ok(parts),
        _ => Ok(Map::new()),
    }
}

/// Where a tree holds a NUL character, if it does.
fn nul(path: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) => text.contains('\0').then(|| path.to_owned()),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| nul(&format!("{path}[{index}]"), item)),
        Value::Object(parts) => parts.iter().find_map(|(name, part)| {
            let path = format!("{path}.{}", name.replace('\0', "\u{2400}"));
            if name.contains('\0') {
                return Some(path);
            }
            nul(&path, part)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn caps(caps: Caps) -> Result<Caps, Error> {
    let most = Limits::MOST;
    let bounds = [
        ("limits.generation", caps.generation, most.generation),
        (
            "limits.live_children",
            caps.live_children,
            most.live_children,
        ),
        ("limits.live_agents", caps.live_agents, most.live_agents),
    ];
    for (field, given, limit) in bounds {
        if given > limit {
            return Err(Error::Template {
                field: field.to_owned(),
                why: format!("is {given}, over the limit of {limit}"),
            });
        }
    }
    Ok(caps)
}

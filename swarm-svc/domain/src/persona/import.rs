//! Reading an older persona, in whatever form it was kept, into the form of today (design: swarm, section 10, "Import").
//! Says what it carried, dropped and had to decide; repairs nothing beyond that list; and takes no old authority over.

mod agent_state;
mod context;
mod intake;
mod item;
mod numbers;
mod older;
mod presentation;
mod report;
#[cfg(test)]
mod samples;
mod self_state;
mod social;
mod thought;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use context::Context;
pub use report::{Dropped, Report};

use super::{Persona, SCHEMA_VERSION};
use crate::member::Brake;
use crate::{Error, Instance, canonical};

/// The largest remnant, in bytes.
pub const MOST_BYTES: usize = 1024 * 1024;

const WRAPPER: &str = "voidbot.persona_state_projection_import.v1";
const INTAKE: &str = "gamecult.persona_intake.v0";

/// An older persona's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    SelfState,
    Intake,
    AgentState,
    Older,
    Wrapper,
}

impl Form {
    fn sniff(value: &Value) -> Option<Self> {
        let has = |key: &str| value.get(key).is_some();
        match value["schemaVersion"].as_str() {
            Some(SCHEMA_VERSION) => Some(Self::Older),
            Some(WRAPPER) => Some(Self::Wrapper),
            Some(INTAKE) => Some(Self::Intake),
            _ if has("void.self_profile") => Some(Self::SelfState),
            _ if has("agent_id") && has("canonical_state") => Some(Self::AgentState),
            _ => None,
        }
    }

    const fn code(self) -> &'static str {
        match self {
            Self::SelfState => "L1",
            Self::Intake => "L2",
            Self::AgentState => "L3",
            Self::Older => "L5",
            Self::Wrapper => "L6",
        }
    }

    /// As the source's document is called.
    const fn name(self) -> &'static str {
        match self {
            Self::SelfState => "void.self_state",
            Self::Intake => INTAKE,
            Self::AgentState => "agent_state.1",
            Self::Older => SCHEMA_VERSION,
            Self::Wrapper => WRAPPER,
        }
    }
}

/// What a form's reader found: the parts of a persona, and where they come from.
struct Reading {
    parts: Map<String, Value>,
    system: String,
    old_id: Option<String>,
}

/// Imports a remnant. The result is validated as any put is.
pub fn import(
    mind: &Instance,
    bytes: &[u8],
    now: DateTime<Utc>,
) -> Result<(Persona, Report), Error> {
    let source = parse(bytes)?;
    let outer = Form::sniff(&source).ok_or(Error::UnknownFormat)?;
    let (form, value) = match outer {
        Form::Wrapper => (Form::sniff(&source["payload"]), &source["payload"]),
        form => (Some(form), &source),
    };
    let form = form
        .filter(|form| *form != Form::Wrapper)
        .ok_or(Error::UnknownFormat)?;
    let sha256 = canonical::sha256(bytes);
    let code = match outer {
        Form::Wrapper => format!("{}+{}", outer.code(), form.code()),
        _ => form.code().to_owned(),
    };
    let mut context = Context::new(mind, Report::new(code, sha256.clone()));
    if outer == Form::Wrapper {
        context.root = "/payload".to_owned();
    }
    let mut reading = read(form, value, &mut context);
    let old_id = reading.old_id.take().unwrap_or_default();
    if old_id != mind.as_str() {
        context.report.coerce("persona_id");
    }
    let outer_id = source["sourceDocumentId"]
        .as_str()
        .filter(|_| outer == Form::Wrapper);
    let document = format!(
        "{}:{}@sha256:{sha256}",
        outer.name(),
        outer_id.unwrap_or(&old_id)
    );
    let value = finished(mind, reading, document, &context.time, now);
    Ok((Persona::sized(value)?, context.report))
}

fn read(form: Form, value: &Value, context: &mut Context<'_>) -> Reading {
    match form {
        Form::SelfState => self_state::read(value, context),
        Form::Intake => intake::read(value, context),
        Form::AgentState => agent_state::read(value, context),
        Form::Older | Form::Wrapper => older::read(value, context),
    }
}

/// Whether a remnant may be imported: once, before any persona is stored, and asleep.
pub fn may_import(brake: Brake, has_persona: bool) -> Result<(), Error> {
    if has_persona {
        return Err(Error::PersonaExists);
    }
    match brake {
        Brake::Held => Ok(()),
        Brake::Released => Err(Error::BrakeNotHeld),
    }
}

fn finished(
    mind: &Instance,
    reading: Reading,
    document: String,
    source_time: &str,
    now: DateTime<Utc>,
) -> Value {
    let now = now.to_rfc3339_opts(SecondsFormat::AutoSi, true);
    let mut parts = reading.parts;
    let provenance = json!({
        "authority": "canonical",
        "sourceSystem": format!("import:{}", reading.system),
        "sourceDocumentId": document,
        "sourceUpdatedAt": source_time,
        "exportedAt": now,
    });
    parts.insert("schemaVersion".to_owned(), SCHEMA_VERSION.into());
    parts.insert("provenance".to_owned(), provenance);
    parts.insert("personaId".to_owned(), mind.as_str().into());
    parts.insert("updatedAt".to_owned(), now.into());
    Value::Object(parts)
}

/// JSON, else YAML without aliases and tags.
fn parse(bytes: &[u8]) -> Result<Value, Error> {
    if bytes.len() > MOST_BYTES {
        return Err(Error::PersonaTooLarge {
            bytes: bytes.len(),
            most: MOST_BYTES,
        });
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Error::UnknownFormat)?;
    serde_json::from_str(text)
        .ok()
        .or_else(|| yaml(text))
        .filter(Value::is_object)
        .ok_or(Error::UnknownFormat)
}

fn yaml(text: &str) -> Option<Value> {
    if text.lines().any(is_tagged) {
        return None;
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(MOST_BYTES),
            max_depth: 64,
            flow_nesting_limit: 64,
            max_aliases: 0,
            max_anchors: 0,
            max_merge_keys: 0,
        },
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        emit_comments: false,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).ok()
}

/// Whether the entry or the value that stands on a line has a tag: the reader would only look past it.
fn is_tagged(line: &str) -> bool {
    let mut entry = line.trim_start();
    while let Some(rest) = entry.strip_prefix("- ") {
        entry = rest.trim_start();
    }
    let is_entry = entry.len() < line.trim_start().len() && entry.starts_with('!');
    let value = entry.split_once(": ").map(|(_, value)| value.trim_start());
    is_entry || value.is_some_and(|value| value.starts_with('!'))
}

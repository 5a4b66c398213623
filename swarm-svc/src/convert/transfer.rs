//! A mind as the lines of a bundle, and back. A line that is not of its form is named by its number.

use cambium_swarm::member::Wakes;
use cambium_swarm::{Error as Rule, Instance};
use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::error::Error;
use crate::store::persona::Receipt;
use crate::store::transfer::{Dated, Version, Written};

/// All that goes with a mind.
#[derive(Debug)]
pub(crate) struct Moving {
    pub(crate) instance: Instance,
    pub(crate) display_name: String,
    pub(crate) mission: String,
    pub(crate) proposed_by: String,
    pub(crate) wakes: Wakes,
    pub(crate) documents: Vec<Written>,
    pub(crate) versions: Vec<Version>,
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) reviews: Vec<Dated>,
}

pub(crate) fn entries(moving: &Moving) -> Vec<Value> {
    let mind = json!({
        "entry": "mind",
        "instance": moving.instance.as_str(),
        "display_name": moving.display_name,
        "mission": moving.mission,
        "proposed_by": moving.proposed_by,
        "wakes": moving.wakes.as_str(),
    });
    let documents = moving.documents.iter().map(document);
    let versions = moving.versions.iter().map(version);
    let receipts = moving.receipts.iter().map(receipt);
    let reviews = moving.reviews.iter().map(|one| {
        json!({
            "entry": "review",
            "ruling_id": one.ruling_id,
            "review_on": one.review_on.to_string(),
            "cause": one.cause,
        })
    });
    let rest = documents.chain(versions).chain(receipts).chain(reviews);
    std::iter::once(mind).chain(rest).collect()
}

fn at(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Micros, true)
}

fn document(one: &Written) -> Value {
    json!({
        "entry": "document",
        "id": one.id,
        "kind": one.kind,
        "payload": one.payload,
        "payload_sha256": one.payload_sha256,
        "seq": one.seq,
        "author": one.author,
        "turn_id": one.turn_id.map(|id| id.to_string()),
        "session_id": one.session_id.map(|id| id.to_string()),
        "written_at": at(one.written_at),
    })
}

fn version(one: &Version) -> Value {
    json!({
        "entry": "persona_version",
        "version": one.version,
        "value": one.value,
        "value_sha256": one.value_sha256,
        "updated_at": at(one.updated_at),
        "receipt_id": one.receipt_id.to_string(),
    })
}

fn receipt(one: &Receipt) -> Value {
    json!({
        "entry": "persona_receipt",
        "id": one.id.to_string(),
        "version": one.version,
        "author": one.author,
        "faculty": one.faculty,
        "agent": one.agent,
        "session": one.session,
        "tool": one.tool,
        "turn_id": one.turn_id.map(|id| id.to_string()),
        "session_id": one.session_id.map(|id| id.to_string()),
        "identity_changed": one.identity_changed,
        "import_report": one.import_report,
        "committed_at": at(one.committed_at),
    })
}

/// A line that is read.
struct Line<'a> {
    n: usize,
    value: &'a Value,
}

impl Line<'_> {
    fn fault(&self, why: &'static str) -> Error {
        Rule::Bundle { line: self.n, why }.into()
    }

    fn text(&self, name: &str) -> Result<String, Error> {
        let text = self.value.get(name).and_then(Value::as_str);
        let text = text.filter(|text| !text.contains('\0'));
        text.map(str::to_owned)
            .ok_or_else(|| self.fault("lacks a text that its kind has"))
    }

    fn number(&self, name: &str) -> Result<i64, Error> {
        let number = self.value.get(name).and_then(Value::as_i64);
        number.ok_or_else(|| self.fault("lacks a number that its kind has"))
    }

    fn version(&self) -> Result<i32, Error> {
        let version = i32::try_from(self.number("version")?);
        version.map_err(|_| self.fault("has a version that is too large"))
    }

    fn time(&self, name: &str) -> Result<DateTime<Utc>, Error> {
        let at = DateTime::parse_from_rfc3339(&self.text(name)?);
        at.map(|at| at.with_timezone(&Utc))
            .map_err(|_| self.fault("lacks an instant that its kind has"))
    }

    fn id(&self, name: &str) -> Result<Uuid, Error> {
        let id = Uuid::try_parse(&self.text(name)?);
        id.map_err(|_| self.fault("lacks an id that its kind has"))
    }

    fn maybe_id(&self, name: &str) -> Result<Option<Uuid>, Error> {
        match self.value.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.id(name).map(Some),
        }
    }

    fn part(&self, name: &str) -> Result<Value, Error> {
        let part = self.value.get(name).filter(|part| part.is_object());
        part.cloned()
            .ok_or_else(|| self.fault("lacks an object that its kind has"))
    }

    fn document(&self) -> Result<Written, Error> {
        Ok(Written {
            id: self.text("id")?,
            kind: self.text("kind")?,
            payload: self.part("payload")?,
            payload_sha256: self.text("payload_sha256")?,
            seq: self.number("seq")?,
            author: self.text("author")?,
            turn_id: self.maybe_id("turn_id")?,
            session_id: self.maybe_id("session_id")?,
            written_at: self.time("written_at")?,
        })
    }

    fn persona(&self) -> Result<Version, Error> {
        Ok(Version {
            version: self.version()?,
            value: self.part("value")?,
            value_sha256: self.text("value_sha256")?,
            updated_at: self.time("updated_at")?,
            receipt_id: self.id("receipt_id")?,
        })
    }

    fn receipt(&self) -> Result<Receipt, Error> {
        let changed = self.value.get("identity_changed").and_then(Value::as_bool);
        let report = self.value.get("import_report").cloned();
        let committed_at = self.time("committed_at")?;
        Ok(Receipt {
            id: self.id("id")?,
            version: self.version()?,
            // Those of its version: only that one is stored.
            updated_at: committed_at,
            value_sha256: String::new(),
            author: self.text("author")?,
            faculty: self.text("faculty")?,
            agent: self.text("agent")?,
            session: self.text("session")?,
            tool: self.text("tool")?,
            turn_id: self.maybe_id("turn_id")?,
            session_id: self.maybe_id("session_id")?,
            identity_changed: changed
                .ok_or_else(|| self.fault("does not say whether the identity changed"))?,
            import_report: report.filter(|report| !report.is_null()),
            committed_at,
        })
    }

    fn review(&self) -> Result<Dated, Error> {
        let date: Result<NaiveDate, _> = self.text("review_on")?.parse();
        let cause = self.text("cause")?;
        if !matches!(cause.as_str(), "at_write" | "second_mind") {
            return Err(self.fault("has a cause that is not known"));
        }
        Ok(Dated {
            ruling_id: self.text("ruling_id")?,
            review_on: date.map_err(|_| self.fault("lacks a date that its kind has"))?,
            cause,
        })
    }
}

/// What a bundle's lines say. The first says whose they are.
pub(crate) fn read(entries: &[Value]) -> Result<Moving, Error> {
    let mut lines = (1..).zip(entries).map(|(n, value)| Line { n, value });
    let empty = || Rule::Bundle {
        line: 1,
        why: "does not say whose the bundle is",
    };
    let first = lines.next().ok_or_else(empty)?;
    if first.text("entry")? != "mind" {
        return Err(empty().into());
    }
    let mut moving = Moving {
        instance: Instance::parse(&first.text("instance")?)
            .map_err(|_| first.fault("has no mind's name"))?,
        display_name: first.text("display_name")?,
        mission: first.text("mission")?,
        proposed_by: first.text("proposed_by")?,
        wakes: Wakes::parse(&first.text("wakes")?)?,
        documents: Vec::new(),
        versions: Vec::new(),
        receipts: Vec::new(),
        reviews: Vec::new(),
    };
    for line in lines {
        match line.text("entry")?.as_str() {
            "document" => moving.documents.push(line.document()?),
            "persona_version" => moving.versions.push(line.persona()?),
            "persona_receipt" => moving.receipts.push(line.receipt()?),
            "review" => moving.reviews.push(line.review()?),
            _ => return Err(line.fault("is of no kind that is known")),
        }
    }
    Ok(moving)
}

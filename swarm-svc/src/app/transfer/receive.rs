//! The new side of a transfer: what came is what was sent, or nothing of it is written. The mind sleeps until its new operator has
//! given it a target and a share.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::Instance;
use cambium_swarm::authority::Action;
use cambium_swarm::mind::{Profile, State};
use cambium_swarm::record::{Author, Document, Kind, Shelf, resolution_id};
use cambium_swarm::transfer::received;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use sqlx::PgConnection;

use crate::app::mind::{bear, identity, look};
use crate::app::{About, App, record};
use crate::convert::transfer::{Moving, read};
use crate::error::Error;
use crate::store::mind::{self, Mind};
use crate::store::transfer::{Written, taken_area};
use crate::store::{document, transfer as kept};

impl App {
    pub(crate) async fn receive_mind(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        host: &str,
        bundle: &str,
    ) -> Result<wire::ReceiveMindResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        if let Some(reply) = change.admit(Action::OpenMind, None).await? {
            return Ok(reply);
        }
        let (entries, sha256) = received(bundle)?;
        let moving = read(&entries)?;
        let instance = &moving.instance;
        mind::lock_names(change.conn(), workspace).await?;
        let known = mind::find(change.conn(), workspace, instance).await?;
        let open = mind::open_count(change.conn(), workspace).await?;
        State::open(known.map(|mind| mind.state), open)?;
        let now = change.now().await?;
        let mind = arrived(&moving, host, now);
        let profile = Profile {
            display_name: &mind.display_name,
            mission: &mind.mission,
            host: Some(host),
        };
        profile.check()?;
        let by = change.author();
        bear(change.conn(), workspace, &mind, moving.wakes, &by).await?;
        let documents = settled(&moving)?;
        keep(change.conn(), workspace, &moving, &documents).await?;
        let here = moved(&mind, &documents, now)?;
        let signed = change.signed();
        record::write(change.conn(), workspace, here, &Author::Transfer, &signed).await?;
        record::second_mind(change.conn(), workspace, now.date_naive()).await?;
        let shown = Some(look(change.conn(), workspace, instance).await?);
        let about = About::mind(instance, json!({"host": host, "bundle_sha256": sha256}));
        change
            .finish(wire::ReceiveMindResponse { mind: shown }, about)
            .await
    }
}

fn arrived(moving: &Moving, host: &str, now: DateTime<Utc>) -> Mind {
    Mind {
        instance: moving.instance.clone(),
        display_name: moving.display_name.clone(),
        mission: moving.mission.clone(),
        host: Some(host.to_owned()),
        state: State::Open,
        target: None,
        proposed_by: moving.proposed_by.clone(),
        reason: String::new(),
        opened_at: Some(now),
        closed_at: None,
        moved_to: None,
    }
}

fn fault(line: usize, why: &'static str) -> Error {
    cambium_swarm::Error::Bundle { line, why }.into()
}

/// The documents by their form, if record and personas are whole: numbered without gaps, a receipt a version, reviews of rulings.
fn settled(moving: &Moving) -> Result<Vec<Document>, Error> {
    // The first line is the mind's own.
    let line = |n: usize| n.saturating_add(2);
    let mut documents = Vec::new();
    for (n, written) in moving.documents.iter().enumerate() {
        if usize::try_from(written.seq).ok() != n.checked_add(1) {
            return Err(fault(line(n), "is not the next of its record"));
        }
        documents.push(
            formed(&moving.instance, written)
                .ok_or_else(|| fault(line(n), "is no document of its kind"))?,
        );
    }
    let numbers = moving
        .versions
        .iter()
        .map(|one| (one.version, one.receipt_id));
    let receipts = moving.receipts.iter().map(|one| (one.version, one.id));
    let is_paired = numbers.clone().eq(receipts);
    let is_counted = (1..).zip(numbers).all(|(n, (version, _))| n == version);
    let is_own = |value: &Value| {
        value.get("personaId").and_then(Value::as_str) == Some(moving.instance.as_str())
    };
    let are_own = moving.versions.iter().all(|one| is_own(&one.value));
    if !(is_paired && is_counted && are_own) {
        return Err(fault(
            line(documents.len()),
            "begins personas that are not whole",
        ));
    }
    let is_ruling = |id: &str| {
        let mut rulings = documents.iter().filter(|one| one.kind() == Kind::Ruling);
        rulings.any(|ruling| ruling.id() == id)
    };
    if !moving.reviews.iter().all(|one| is_ruling(&one.ruling_id)) {
        return Err(fault(
            line(documents.len()),
            "is followed by a review of no ruling",
        ));
    }
    Ok(documents)
}

fn formed(holder: &Instance, written: &Written) -> Option<Document> {
    let kind = Kind::parse(&written.kind).ok()?;
    let payload = written.payload.as_object()?.clone();
    let document = Document::new(holder.clone(), kind, &written.id, payload).ok()?;
    (document.sha256() == written.payload_sha256).then_some(document)
}

/// Writes all that came. An area that somebody here looks after is not looked after twice.
async fn keep(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    moving: &Moving,
    documents: &[Document],
) -> Result<(), Error> {
    let instance = &moving.instance;
    document::lock(conn, workspace).await?;
    let shelf = Shelf::new(documents.iter().cloned());
    let stewardships: Vec<&Document> = documents
        .iter()
        .filter(|one| one.kind() == Kind::Stewardship && shelf.is_in_force(one))
        .collect();
    let areas: Vec<String> = stewardships
        .iter()
        .map(|one| one.text("area").to_owned())
        .collect();
    if let Some(area) = taken_area(conn, workspace, &areas).await? {
        return Err(cambium_swarm::Error::WouldDouble(area).into());
    }
    kept::insert_documents(conn, workspace, instance, &moving.documents).await?;
    kept::insert_relations(conn, workspace, documents, &stewardships).await?;
    kept::insert_personas(
        conn,
        workspace,
        instance,
        &moving.versions,
        &moving.receipts,
    )
    .await?;
    kept::insert_reviews(conn, workspace, instance, &moving.reviews).await
}

/// The identity at the new host, and the end of the one before.
fn moved(mind: &Mind, documents: &[Document], now: DateTime<Utc>) -> Result<Vec<Document>, Error> {
    let shelf = Shelf::new(documents.iter().cloned());
    let identities = || documents.iter().filter(|one| one.kind() == Kind::Identity);
    let old = identities().find(|one| shelf.is_in_force(one));
    let old = old.ok_or_else(|| fault(1, "is followed by no identity in force"))?;
    let new = identity(mind, identities().count().saturating_add(1), now)?;
    let sequence = shelf.next_resolution(old.id());
    let payload = json!({
        "subject": old.id(),
        "sequence": sequence,
        "outcome": "superseded",
        "by": new.id(),
        "rationale": "The mind moved to another host.",
        "resolved_on": now.date_naive().to_string(),
    });
    let payload: Map<String, Value> = payload.as_object().cloned().unwrap_or_default();
    let id = resolution_id(old.id(), sequence);
    let end = Document::new(mind.instance.clone(), Kind::Resolution, &id, payload)?;
    Ok(vec![new, end])
}

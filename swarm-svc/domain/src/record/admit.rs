//! Whether documents may be written: all of them or none. What a ruling brings about of itself is written with it.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::hand_over::{copy_id, is_accepted};
use super::shelf::{Shelf, is_lead_ruling};
use super::{Authority, Document, Kind, form, resolution_id};
use crate::authority::Denial;
use crate::{Error, Instance};

/// By whose credential a document is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// In its own record, and with a mind's authority.
    Mind(Instance),
    Operator,
    /// The move of a mind to another host.
    Transfer,
}

/// The most documents of one call.
pub const MOST: usize = 64;

/// Admits documents in their order, each upon those before it. Returns what is new, resolutions that follow included; an exact
/// replay is no news.
pub fn admit(
    documents: Vec<Document>,
    author: &Author,
    shelf: &Shelf,
) -> Result<Vec<Document>, Error> {
    if documents.is_empty() || documents.len() > MOST {
        return Err(Error::document("documents", "are not 1 to 64"));
    }
    let mut shelf = shelf.clone();
    let mut admitted = Vec::new();
    for document in documents {
        if is_replay(&document, &shelf)? {
            continue;
        }
        check(&document, author, &shelf)?;
        let follows = answered(&document, &shelf)?;
        for document in [Some(document), follows].into_iter().flatten() {
            shelf.add(document.clone());
            admitted.push(document);
        }
    }
    stand_once(&shelf)?;
    Ok(admitted)
}

/// Of what there can be one, one is in force: a mind's identity, and the ruling that makes the lead.
fn stand_once(shelf: &Shelf) -> Result<(), Error> {
    let mut seen: BTreeSet<(Kind, &str)> = BTreeSet::new();
    let identities = shelf
        .of(Kind::Identity)
        .map(|one| ((Kind::Identity, one.holder().as_str()), one));
    let leads = shelf.of(Kind::Ruling).filter(|one| is_lead_ruling(one));
    let leads = leads.map(|one| ((Kind::Ruling, "swarm-lead"), one));
    for (what, document) in identities.chain(leads) {
        if shelf.is_in_force(document) && !seen.insert(what) {
            return Err(Error::WouldDouble(what.1.to_owned()));
        }
    }
    Ok(())
}

fn is_replay(document: &Document, shelf: &Shelf) -> Result<bool, Error> {
    match shelf.get(document.id()) {
        None => Ok(false),
        Some(known) if known == document => Ok(true),
        Some(_) => Err(Error::DocumentTaken(document.id().to_owned())),
    }
}

fn check(document: &Document, author: &Author, shelf: &Shelf) -> Result<(), Error> {
    if let Author::Mind(mind) = author
        && document.holder() != mind
    {
        return Err(Error::Denied(Denial::ForeignHolder));
    }
    document
        .refs()
        .iter()
        .try_for_each(|cited| shelf.check_citation(cited))?;
    match document.kind() {
        Kind::Identity => identity(document, author),
        Kind::Ruling => ruling(document, author, shelf),
        Kind::Resolution => resolution(document, author, shelf),
        Kind::Stewardship => stewardship(document, author, shelf),
        Kind::Question => question(document, author, shelf),
        Kind::Citation => about(document, shelf),
        Kind::HandOff => hand_off(document, author, shelf),
        Kind::Campaign => Ok(()),
    }
}

/// A field that points at a document of a kind, which is in force.
fn pointed(document: &Document, field: &str, kind: Kind, shelf: &Shelf) -> Result<(), Error> {
    let Some(id) = document.stated(field) else {
        return Ok(());
    };
    match shelf.in_force(id)?.kind() == kind {
        true => Ok(()),
        false => Err(Error::document(
            field,
            "points at a document of another kind",
        )),
    }
}

/// Who a mind is stands in its own record, and not by its own word.
fn identity(document: &Document, author: &Author) -> Result<(), Error> {
    if matches!(author, Author::Mind(_)) {
        return Err(Error::Denied(Denial::AuthorityAbove));
    }
    match document.text("instance") == document.holder().as_str() {
        true => Ok(()),
        false => Err(Error::document("instance", "is not the holder")),
    }
}

/// A fork between minds is put by the lead or the operator.
fn question(document: &Document, author: &Author, shelf: &Shelf) -> Result<(), Error> {
    if let Author::Mind(mind) = author
        && document.is_between_minds()
        && shelf.lead().as_ref() != Some(mind)
    {
        return Err(Error::Denied(Denial::BetweenMinds));
    }
    pointed(document, "campaign", Kind::Campaign, shelf)
}

fn ruling(document: &Document, author: &Author, shelf: &Shelf) -> Result<(), Error> {
    let is_mind = matches!(author, Author::Mind(_));
    match (document.authority(), is_mind) {
        (Some(Authority::Mind), true)
        | (Some(Authority::Operator | Authority::Standing), false) => {}
        (_, true) => return Err(Error::Denied(Denial::AuthorityAbove)),
        (_, false) => return Err(Error::document("authority", "is not the operator's")),
    }
    if is_mind && document.stated("operator_quote").is_some() {
        return Err(Error::document("operator_quote", "is the operator's alone"));
    }
    if document.stated("names_lead").is_some() && !is_lead_ruling(document) {
        return Err(Error::document(
            "names_lead",
            "is for the standing ruling `swarm-lead`",
        ));
    }
    let Some(question) = document.stated("answers") else {
        return Ok(());
    };
    answer(document, shelf.find(question)?, is_mind, shelf)
}

fn answer(
    ruling: &Document,
    question: &Document,
    is_mind: bool,
    shelf: &Shelf,
) -> Result<(), Error> {
    if question.kind() != Kind::Question {
        return Err(Error::document("answers", "is no question"));
    }
    if is_mind && question.holder() != ruling.holder() {
        return Err(Error::Denied(Denial::ForeignHolder));
    }
    if is_mind && question.is_between_minds() {
        return Err(Error::Denied(Denial::BetweenMinds));
    }
    if !shelf.is_in_force(question) {
        return Err(Error::QuestionClosed(question.id().to_owned()));
    }
    let options = question
        .payload()
        .get("options")
        .and_then(form::options)
        .unwrap_or_default();
    match ruling.stated("choice") {
        Some(choice) if !options.contains(&choice) => {
            Err(Error::document("choice", "was not offered"))
        }
        _ => Ok(()),
    }
}

fn resolution(document: &Document, author: &Author, shelf: &Shelf) -> Result<(), Error> {
    let subject = shelf.find(document.text("subject"))?;
    let next = shelf.next_resolution(subject.id());
    if document.sequence() != next {
        let subject = subject.id().to_owned();
        return Err(Error::Sequence { subject, next });
    }
    shelf.in_force(subject.id())?;
    match (subject.kind(), document.text("outcome")) {
        (Kind::Ruling, "superseded") => superseded(document, subject, author, shelf),
        (Kind::Identity, "superseded") if *author == Author::Transfer => {
            pointed(document, "by", Kind::Identity, shelf)
        }
        (Kind::Identity, "superseded") => Err(Error::Denied(Denial::AuthorityAbove)),
        (Kind::Question, "answered") => answers(document, subject, shelf),
        (Kind::HandOff, "withdrawn") => not_accepted(subject, shelf),
        (Kind::Campaign, "closed" | "withdrawn")
        | (Kind::Question | Kind::Stewardship | Kind::Citation, "withdrawn") => Ok(()),
        (Kind::Resolution, "withdrawn") => undone(subject, shelf),
        _ => Err(Error::document(
            "outcome",
            "is none that its subject may have",
        )),
    }
}

/// A question is answered by a ruling in force that names it.
fn answers(document: &Document, question: &Document, shelf: &Shelf) -> Result<(), Error> {
    pointed(document, "ruling", Kind::Ruling, shelf)?;
    let ruling = shelf.find(document.text("ruling"))?;
    match ruling.stated("answers") == Some(question.id()) {
        true => Ok(()),
        false => Err(Error::document("ruling", "answers another question")),
    }
}

/// A hand-off is taken back before it is accepted, which is when its bytes stand in the receiver's record.
fn not_accepted(offer: &Document, shelf: &Shelf) -> Result<(), Error> {
    match is_accepted(offer, shelf) {
        true => Err(Error::OfferOver),
        false => Ok(()),
    }
}

/// A ruling gives way to one that ranks no lower, in the same record or by the operator's word. A mind ends only what is a
/// mind's: an operator's ruling does not give way by a mind's word, not even to another of the operator's.
fn superseded(
    document: &Document,
    subject: &Document,
    author: &Author,
    shelf: &Shelf,
) -> Result<(), Error> {
    if matches!(author, Author::Mind(_)) && subject.authority() > Some(Authority::Mind) {
        return Err(Error::Denied(Denial::AuthorityAbove));
    }
    pointed(document, "by", Kind::Ruling, shelf)?;
    let by = shelf.find(document.text("by"))?;
    if by.id() == subject.id() {
        return Err(Error::document("by", "is its subject"));
    }
    if by.authority() < subject.authority() {
        return Err(Error::Denied(Denial::AuthorityAbove));
    }
    Ok(())
}

/// Takes a resolution back, unless what it ended would then stand beside what took its place. An offer that is over stays so.
fn undone(resolution: &Document, shelf: &Shelf) -> Result<(), Error> {
    let subject = shelf.find(resolution.text("subject"))?;
    match subject.kind() {
        Kind::Resolution => return Err(Error::TooDeep),
        Kind::HandOff => return Err(Error::OfferOver),
        _ => {}
    }
    let stands = |field: &str| {
        let other = resolution.stated(field);
        other.is_some_and(|other| shelf.is_upheld(other))
    };
    let has_steward =
        subject.kind() == Kind::Stewardship && shelf.steward(subject.text("area")).is_some();
    match stands("by") || stands("ruling") || has_steward {
        true => Err(Error::WouldDouble(subject.id().to_owned())),
        false => Ok(()),
    }
}

/// Nobody takes an area that somebody has. A mind has one by the operator's word, or as an offer that it accepted.
fn stewardship(document: &Document, author: &Author, shelf: &Shelf) -> Result<(), Error> {
    let area = document.text("area");
    if matches!(author, Author::Mind(_)) {
        return Err(Error::Denied(Denial::AuthorityAbove));
    }
    if shelf.steward(area).is_some() {
        return Err(Error::WouldDouble(area.to_owned()));
    }
    let next = shelf.next_stewardship(area);
    if document.sequence() == next {
        return Ok(());
    }
    let subject = area.to_owned();
    Err(Error::Sequence { subject, next })
}

/// What a citation is about is the citing mind's own, and in force.
fn about(document: &Document, shelf: &Shelf) -> Result<(), Error> {
    let Some(id) = document.stated("about") else {
        return Ok(());
    };
    match shelf.in_force(id)?.holder() == document.holder() {
        true => Ok(()),
        false => Err(Error::document("about", "is another mind's")),
    }
}

/// Only who has something gives it, and not to itself. A copy is the receiver's own, and bears the giver's bytes.
fn hand_off(document: &Document, author: &Author, shelf: &Shelf) -> Result<(), Error> {
    if document.text("from") == document.text("to") {
        return Err(Error::document("to", "is the giver"));
    }
    let gives = document.text("from") == document.holder().as_str();
    let is_offer = |one: &Document| {
        copy_id(one) == document.id() && one.sha256() == document.sha256() && shelf.is_in_force(one)
    };
    let accepts = !matches!(author, Author::Mind(_)) && shelf.of(Kind::HandOff).any(is_offer);
    match gives || accepts {
        true => Ok(()),
        false => Err(Error::Denied(Denial::NotTheGiver)),
    }
}

/// The resolution that a ruling which answers brings about, in the record of the question.
fn answered(ruling: &Document, shelf: &Shelf) -> Result<Option<Document>, Error> {
    let Some(subject) = ruling
        .stated("answers")
        .filter(|_| ruling.kind() == Kind::Ruling)
    else {
        return Ok(None);
    };
    let question = shelf.find(subject)?;
    let sequence = shelf.next_resolution(subject);
    let payload = json!({
        "subject": subject,
        "sequence": sequence,
        "outcome": "answered",
        "ruling": ruling.id(),
        "rationale": ruling.text("title"),
        "resolved_on": ruling.text("ruled_on"),
    });
    let payload: Map<String, Value> = payload.as_object().cloned().unwrap_or_default();
    let id = resolution_id(subject, sequence);
    Document::new(question.holder().clone(), Kind::Resolution, &id, payload).map(Some)
}

//! Writing documents, with all that is kept beside them. Decides by the domain's rules alone, under the lock of the records.

use std::collections::BTreeSet;

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::record::{self, Author, Document, ForeignRef, Kind, Shelf};
use cambium_swarm::review::{self, Cause};
use chrono::NaiveDate;
use sqlx::PgConnection;

use super::Signed;
use crate::error::Error;
use crate::store;
use crate::store::document::Wanted;
use crate::store::launch::{Reason, touch};

/// Admits documents by the rules of the domain and writes those that are new, with all that follows from them: resolutions, citations,
/// stewards, review dates, and the reasons they bring to minds. Returns what was written.
pub(crate) async fn write(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    documents: Vec<Document>,
    author: &Author,
    signed: &Signed,
) -> Result<Vec<Document>, Error> {
    wake(conn, workspace, &documents, author).await?;
    store::document::lock(conn, workspace).await?;
    let shelf = shelf(conn, workspace, wanted(&documents)).await?;
    let written = record::admit(documents, author, &shelf)?;
    holders_open(conn, workspace, &written, &shelf).await?;
    let today = store::now(conn).await?.date_naive();
    let open = store::mind::open_count(conn, workspace).await?;
    for document in &written {
        store::document::insert(conn, workspace, document, signed).await?;
        store::citation::insert(conn, workspace, document).await?;
        date(conn, workspace, document, open, today).await?;
    }
    let shelf = shelf.with(written.iter().cloned());
    steward(conn, workspace, &written, &shelf).await?;
    lapse(conn, workspace, &written, &shelf).await?;
    Ok(written)
}

/// Tells the minds to which documents bring a reason, or whose review dates they change.
async fn wake(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    documents: &[Document],
    author: &Author,
) -> Result<(), Error> {
    let rules = documents.iter().any(|one| one.kind() == Kind::Ruling);
    let ends = documents.iter().any(|one| one.kind() == Kind::Resolution);
    match author {
        Author::Mind(mind) if rules || ends => touch(conn, workspace, &[mind], Reason::None).await,
        Author::Operator if rules => {
            let minds = ruled(conn, workspace, documents).await?;
            let minds: Vec<&Instance> = minds.iter().collect();
            touch(conn, workspace, &minds, Reason::Came).await
        }
        Author::Mind(_) | Author::Operator | Author::Transfer => Ok(()),
    }
}

/// Those whom an operator's ruling concerns: whose record it enters, and whose question it answers.
async fn ruled(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    documents: &[Document],
) -> Result<BTreeSet<Instance>, Error> {
    let answered = documents.iter().filter_map(|one| one.stated("answers"));
    let ids: Vec<String> = answered.map(str::to_owned).collect();
    let mut minds: BTreeSet<Instance> = documents
        .iter()
        .map(|document| document.holder().clone())
        .collect();
    if ids.is_empty() {
        return Ok(minds);
    }
    let known = shelf(conn, workspace, of_ids(ids.clone())).await?;
    for question in ids.iter().filter_map(|id| known.get(id)) {
        minds.insert(question.holder().clone());
        minds.extend(question.between());
    }
    Ok(minds)
}

/// What a decision about documents looks at.
fn wanted(documents: &[Document]) -> Wanted {
    let mut wanted = Wanted::default();
    for document in documents {
        let fields: &[&str] = match document.kind() {
            Kind::Resolution => &["subject", "by", "ruling"],
            Kind::Ruling => &["answers"],
            Kind::Question => &["campaign"],
            Kind::Citation => &["about"],
            Kind::Identity | Kind::Campaign | Kind::Stewardship | Kind::HandOff => &[],
        };
        let named = fields.iter().filter_map(|field| document.stated(field));
        wanted.ids.extend(named.map(str::to_owned));
        wanted.ids.push(document.id().to_owned());
        let cited = document.refs().into_iter().map(|cited| cited.id);
        wanted.ids.extend(cited);
        match document.kind() {
            Kind::Identity => wanted.identities.push(document.holder().to_string()),
            Kind::Stewardship => wanted.areas.push(document.text("area").to_owned()),
            Kind::HandOff => wanted.ids.extend(record::both_ids(document)),
            _ => {}
        }
    }
    wanted
}

pub(crate) const fn of_ids(ids: Vec<String>) -> Wanted {
    Wanted {
        ids,
        areas: Vec::new(),
        identities: Vec::new(),
    }
}

/// What a decision needs to know. Read it under the lock of the records, if something is written by it.
pub(crate) async fn shelf(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    wanted: Wanted,
) -> Result<Shelf, Error> {
    let around = store::document::around(conn, workspace, &wanted).await?;
    Ok(Shelf::new(around))
}

/// Whether all that would be cited is here as it is cited.
pub(crate) async fn citable(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    refs: &[ForeignRef],
) -> Result<(), Error> {
    if refs.is_empty() {
        return Ok(());
    }
    let ids = refs.iter().map(|cited| cited.id.clone()).collect();
    let shelf = shelf(conn, workspace, of_ids(ids)).await?;
    for cited in refs {
        shelf.check_citation(cited)?;
    }
    Ok(())
}

/// The record of a mind that retired or moved is there to be read. Two things are written nevertheless: who a mind is, at its birth,
/// and that another leads than whom its record names.
async fn holders_open(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    written: &[Document],
    shelf: &Shelf,
) -> Result<(), Error> {
    let is_born = |mind: &Instance| {
        let mut own = written.iter().filter(|one| one.holder() == mind);
        own.any(|one| one.kind() == Kind::Identity)
    };
    let ends_lead = |one: &Document| {
        let subject = shelf.get(one.text("subject"));
        one.kind() == Kind::Resolution && subject.is_some_and(record::is_lead_ruling)
    };
    let holders: BTreeSet<&Instance> = written
        .iter()
        .filter(|one| !ends_lead(one))
        .map(Document::holder)
        .filter(|mind| !is_born(mind))
        .collect();
    for holder in holders {
        open(conn, workspace, holder).await?;
    }
    Ok(())
}

/// Whether something may be given to a mind, or written in its record: it is open. Stays so while the records are locked.
pub(crate) async fn open(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<(), Error> {
    let found = store::mind::find(conn, workspace, mind).await?;
    let found = found.ok_or(cambium_swarm::Error::NoMind)?;
    Ok(found.state.writable()?)
}

/// Says when a ruling is looked at again.
async fn date(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    document: &Document,
    open: usize,
    today: NaiveDate,
) -> Result<(), Error> {
    if document.kind() != Kind::Ruling {
        return Ok(());
    }
    match review::at_write(document, open, today)? {
        Some(on) => store::review::insert(conn, workspace, document, on, Cause::AtWrite).await,
        None => Ok(()),
    }
}

/// Says anew who looks after the areas of which something was written.
async fn steward(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    written: &[Document],
    shelf: &Shelf,
) -> Result<(), Error> {
    let areas: BTreeSet<&str> = written
        .iter()
        .filter_map(|document| ended(document, shelf))
        .filter(|subject| subject.kind() == Kind::Stewardship)
        .map(|stewardship| stewardship.text("area"))
        .collect();
    for area in areas {
        store::steward::put(conn, workspace, area, shelf.steward(area)).await?;
    }
    Ok(())
}

/// What a document is about in the end: of a resolution, or of a resolution's withdrawal, the thing that it ends or restores.
fn ended<'a>(document: &'a Document, shelf: &'a Shelf) -> Option<&'a Document> {
    let mut about = document;
    while about.kind() == Kind::Resolution {
        about = shelf.get(about.text("subject"))?;
    }
    Some(about)
}

/// Work whose offer was withdrawn is held as before.
async fn lapse(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    written: &[Document],
    shelf: &Shelf,
) -> Result<(), Error> {
    let withdrawn = written
        .iter()
        .filter(|one| one.kind() == Kind::Resolution)
        .filter_map(|one| shelf.get(one.text("subject")))
        .filter(|subject| subject.kind() == Kind::HandOff);
    for offer in withdrawn {
        let item = store::work::offered_by(conn, workspace, offer.id(), offer.text("to")).await?;
        if let Some(mut item) = item {
            item.work = item.work.lapsed();
            item.offer = None;
            store::work::update(conn, workspace, &item).await?;
        }
    }
    Ok(())
}

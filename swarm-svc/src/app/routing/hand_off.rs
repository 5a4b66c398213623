//! The answer to an offer: everything moves with it, or nothing does.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::{Action, Facts};
use cambium_swarm::record::{self, Author, Document, Kind, Thing};
use cambium_swarm::{Instance, work};
use serde_json::json;
use sqlx::PgConnection;

use super::{enter, withdraw};
use crate::app::record::{Signed, shelf, write};
use crate::app::{About, App};
use crate::convert;
use crate::convert::record::name_to_wire;
use crate::error::Error;
use crate::store;
use crate::store::document::{Stored, Wanted};

/// What whom something is offered to says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) giver: &'a Instance,
    pub(crate) id: &'a str,
    pub(crate) accept: bool,
    pub(crate) reason: &'a str,
}

impl App {
    /// By the mind to which it is offered.
    pub(crate) async fn answer_hand_off(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        answer: Answer<'_>,
    ) -> Result<wire::AnswerHandOffResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        let mind = convert::own(&change.actor)?;
        let stored = offer(change.conn(), workspace, answer).await?;
        let document = stored.document()?;
        let facts = Facts {
            mind: Instance::parse(document.text("to")).ok(),
            ..Facts::default()
        };
        change.authorize(Action::AnswerHandOff, facts).await?;
        if let Some(reply) = change.replied().await? {
            return Ok(reply);
        }
        let signed = change.signed();
        let conn = change.conn();
        enter(conn, workspace, &[answer.giver]).await?;
        if work::is_expired(stored.written_at, store::now(conn).await?) {
            return Err(cambium_swarm::Error::OfferOver.into());
        }
        let written = match answer.accept {
            true => accept(conn, workspace, &document, (&mind, &signed)).await?,
            false => decline(conn, workspace, &document, (answer.reason, &signed)).await?,
        };
        let reply = wire::AnswerHandOffResponse {
            written: written.iter().map(name_to_wire).collect(),
        };
        let body = json!({
            "offer": document.id(),
            "accepted": answer.accept,
            "what": document.text("what"),
            "reason": answer.reason,
        });
        change.finish(reply, About::mind(&mind, body)).await
    }
}

async fn offer(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    answer: Answer<'_>,
) -> Result<Stored, Error> {
    let giver = answer.giver.as_str();
    let found = store::document::find(conn, workspace, giver, answer.id).await?;
    let offer = found.filter(|one| one.kind == Kind::HandOff);
    let none = || cambium_swarm::Error::NoDocument(answer.id.to_owned());
    Ok(offer.ok_or_else(none)?)
}

/// The receiver gets the giver's bytes, and what they are about: the work, or the area.
async fn accept(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    offer: &Document,
    (mind, signed): (&Instance, &Signed),
) -> Result<Vec<Document>, Error> {
    let item = store::work::offered_by(conn, workspace, offer.id(), mind.as_str()).await?;
    let thing = match item {
        Some(_) => Thing::Work,
        None => Thing::Area,
    };
    let wanted = Wanted {
        ids: record::both_ids(offer).into(),
        areas: vec![offer.text("what").to_owned()],
        identities: Vec::new(),
    };
    let now = store::now(conn).await?;
    let shelf = shelf(conn, workspace, wanted).await?;
    let documents = record::accepted(offer, thing, now.date_naive(), &shelf)?;
    let written = write(conn, workspace, documents, &Author::Operator, signed).await?;
    if let Some(mut item) = item {
        let offered_at = item.offer.take().map_or(now, |offer| offer.at);
        item.work = item.work.answered(mind, true, offered_at, now)?;
        store::work::update(conn, workspace, &item).await?;
    }
    Ok(written)
}

/// The offer ends, and nothing has moved.
async fn decline(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    offer: &Document,
    (reason, signed): (&str, &Signed),
) -> Result<Vec<Document>, Error> {
    let why = match reason {
        "" => "Declined.",
        reason => reason,
    };
    let written = withdraw(conn, workspace, offer.id(), (signed, why)).await?;
    match written.is_empty() {
        true => Err(cambium_swarm::Error::OfferOver.into()),
        false => Ok(written),
    }
}

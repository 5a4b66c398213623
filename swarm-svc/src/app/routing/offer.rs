//! Offers: of work by who holds it, of an area by its steward, of unaddressed work by the lead. Moves nothing: that is the answer's.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::{Action, Facts};
use cambium_swarm::record::{self, Author, Document, ForeignRef};
use cambium_swarm::work::Work;
use cambium_swarm::{Instance, WorkId};
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use super::work::held;
use super::{enter, item, withdraw};
use crate::app::record::{Signed, open, shelf, write};
use crate::app::{About, App, Change};
use crate::convert;
use crate::convert::record::name_to_wire;
use crate::error::Error;
use crate::store;
use crate::store::document::Wanted;
use crate::store::work::Offered;

/// What is offered.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Work(WorkId),
    Area(String),
}

/// An offer, as its giver asks for it.
#[derive(Clone, Debug)]
pub(crate) struct Give {
    pub(crate) what: What,
    pub(crate) to: Instance,
    pub(crate) refs: Vec<ForeignRef>,
    pub(crate) reason: String,
}

/// By which rule work is offered.
type Rule = fn(Work, &Instance, Instance) -> Result<Work, cambium_swarm::Error>;

impl App {
    /// By the mind that holds the work or the area.
    pub(crate) async fn offer_hand_off(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        give: &Give,
    ) -> Result<wire::OfferHandOffResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        let giver = match &give.what {
            What::Work(id) => held(&mut change, Action::HandOff, *id).await?,
            What::Area(area) => steward(&mut change, area).await?,
        };
        if let Some(reply) = change.replied().await? {
            return Ok(reply);
        }
        let offer = offered(&mut change, &giver, give, Work::offered).await?;
        let reply = wire::OfferHandOffResponse {
            offer: Some(name_to_wire(&offer)),
        };
        change.finish(reply, about(&giver, &offer)).await
    }

    /// By the lead, of unaddressed work.
    pub(crate) async fn route_work(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        give: &Give,
    ) -> Result<wire::RouteWorkResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        let lead = convert::own(&change.actor)?;
        if let Some(reply) = change.admit(Action::RouteWork, Some(&lead)).await? {
            return Ok(reply);
        }
        let offer = offered(&mut change, &lead, give, Work::routed).await;
        if let Err(denial) = &offer {
            let facts = Facts {
                mind: Some(lead.clone()),
                ..Facts::default()
            };
            let action = Action::RouteWork;
            change.tell_refusal(action, &facts, denial).await?;
        }
        let offer = offer?;
        let reply = wire::RouteWorkResponse {
            offer: Some(name_to_wire(&offer)),
        };
        change.finish(reply, about(&lead, &offer)).await
    }
}

fn about(giver: &Instance, offer: &Document) -> About {
    let (to, what) = (offer.text("to"), offer.text("what"));
    About::mind(giver, json!({"offer": offer.id(), "to": to, "what": what}))
}

/// Lets the caller offer an area that it looks after. What nobody looks after is the rules' to refuse.
async fn steward(change: &mut Change<'_>, area: &str) -> Result<Instance, Error> {
    let mind = convert::own(&change.actor)?;
    let workspace = change.workspace.clone();
    let known = shelf(change.conn(), &workspace, of_area(area)).await?;
    let holder = known.steward(area).map(Document::holder);
    let facts = Facts {
        mind: Some(holder.unwrap_or(&mind).clone()),
        ..Facts::default()
    };
    change.authorize(Action::HandOff, facts).await?;
    Ok(mind)
}

pub(super) fn of_area(area: &str) -> Wanted {
    Wanted {
        areas: vec![area.to_owned()],
        ..Wanted::default()
    }
}

/// Makes the offer in the giver's record, and tells the receiver.
async fn offered(
    change: &mut Change<'_>,
    giver: &Instance,
    give: &Give,
    rule: Rule,
) -> Result<Document, Error> {
    let (workspace, signed) = (change.workspace.clone(), change.signed());
    let conn = change.conn();
    enter(conn, &workspace, &[&give.to]).await?;
    open(conn, &workspace, &give.to).await?;
    match &give.what {
        What::Work(id) => offer_work(conn, &workspace, (giver, give, &signed), (*id, rule)).await,
        What::Area(area) => {
            let shelf = shelf(conn, &workspace, of_area(area)).await?;
            record::held_area(giver, area, &shelf)?;
            offer(conn, &workspace, (giver, give, &signed), area).await
        }
    }
}

/// Work is offered to one at a time: a new offer ends the one before.
async fn offer_work(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    (giver, give, signed): (&Instance, &Give, &Signed),
    (id, rule): (WorkId, Rule),
) -> Result<Document, Error> {
    let mut item = item(conn, workspace, id).await?;
    let next = rule(item.work.clone(), giver, give.to.clone())?;
    if let Some(last) = item.offer.take() {
        withdraw(conn, workspace, &last.id, (signed, &give.reason)).await?;
    }
    let document = offer(conn, workspace, (giver, give, signed), &id.to_string()).await?;
    item.work = next;
    item.offer = Some(Offered {
        id: document.id().to_owned(),
        at: store::now(conn).await?,
    });
    store::work::update(conn, workspace, &item).await?;
    Ok(document)
}

async fn offer(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    (giver, give, signed): (&Instance, &Give, &Signed),
    what: &str,
) -> Result<Document, Error> {
    let today = store::now(conn).await?.date_naive();
    let offer = record::Offer {
        giver,
        to: &give.to,
        what,
        refs: &give.refs,
        reason: &give.reason,
    };
    let label = Uuid::now_v7().to_string();
    let document = offer.document(&label, today)?;
    let author = Author::Mind(giver.clone());
    write(conn, workspace, vec![document.clone()], &author, signed).await?;
    Ok(document)
}

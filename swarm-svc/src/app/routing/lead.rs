//! The operator says who leads, and who looks after an area that nobody does. The lead gets no power by it but to route.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_swarm::authority::Action;
use cambium_swarm::record::{self, Appointment, Author, Document, Kind, Shelf};
use cambium_swarm::{Instance, review, text};
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use super::offer::of_area;
use super::{enter, put};
use crate::app::record::{Signed, names, shelf, write};
use crate::app::{About, App};
use crate::convert::record::name_to_wire;
use crate::error::Error;
use crate::store;
use crate::store::document::Wanted;

/// Who is to lead, until it is looked at again, and why.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move<'a> {
    pub(crate) names: Option<&'a Instance>,
    pub(crate) review_on: Option<&'a str>,
    pub(crate) reason: &'a str,
}

impl App {
    /// Unaddressed work goes along.
    pub(crate) async fn move_lead(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        to: Move<'_>,
    ) -> Result<wire::MoveLeadResponse, Error> {
        text::para(to.reason).map_err(|why| Error::field("reason", why.to_string()))?;
        let mut change = self.begin(call, workspace).await?;
        if let Some(reply) = change.admit(Action::MoveLead, to.names).await? {
            return Ok(reply);
        }
        let signed = change.signed();
        let conn = change.conn();
        let before = store::lead::ruling(conn, workspace).await?;
        let last = before.as_ref().map(|ruling| &ruling.holder);
        let told: Vec<&Instance> = [to.names, last].into_iter().flatten().collect();
        enter(conn, workspace, &told).await?;
        let written = appoint(conn, workspace, to, &signed).await?;
        move_work(conn, workspace, (to.names, &signed, to.reason)).await?;
        let ruling = written.iter().find(|one| record::is_lead_ruling(one));
        let reply = wire::MoveLeadResponse {
            ruling: ruling.map(name_to_wire),
            lead: to.names.map(Instance::to_string).unwrap_or_default(),
        };
        let about = About {
            instance: to.names.cloned(),
            turn: None,
            body: names(&written),
        };
        change.finish(reply, about).await
    }

    pub(crate) async fn take_stewardship(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        (mind, area, note): (&Instance, &str, &str),
    ) -> Result<wire::TakeStewardshipResponse, Error> {
        let mut change = self.begin(call, workspace).await?;
        let admitted = change.admit(Action::TakeStewardship, Some(mind)).await?;
        if let Some(reply) = admitted {
            return Ok(reply);
        }
        let signed = change.signed();
        let conn = change.conn();
        enter(conn, workspace, &[]).await?;
        let today = store::now(conn).await?.date_naive();
        let shelf = shelf(conn, workspace, of_area(area)).await?;
        let label = Uuid::now_v7().to_string();
        let document = record::stewardship((mind, &label), area, note, today, &shelf)?;
        let documents = vec![document.clone()];
        write(conn, workspace, documents, &Author::Operator, &signed).await?;
        let reply = wire::TakeStewardshipResponse {
            document: Some(name_to_wire(&document)),
        };
        let about = json!({"area": area, "document": document.id()});
        change.finish(reply, About::mind(mind, about)).await
    }

    pub(crate) async fn lead(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<wire::GetLeadResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let today = store::now(&mut conn).await?.date_naive();
        let ruling = store::lead::ruling(&mut conn, workspace).await?;
        Ok(
            ruling.map_or_else(wire::GetLeadResponse::default, |ruling| {
                let on = ruling.review_on;
                wire::GetLeadResponse {
                    instance: ruling.names.map_or_else(String::new, |one| one.to_string()),
                    ruling_id: ruling.id,
                    review_on: on.map_or_else(String::new, |on| on.to_string()),
                    review_overdue: on.is_some_and(|on| review::is_overdue(on, today)),
                }
            }),
        )
    }
}

/// Writes the ruling in the new lead's record, or where the last one stands if there is to be none, and ends the last one.
async fn appoint(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    to: Move<'_>,
    signed: &Signed,
) -> Result<Vec<Document>, Error> {
    // The ruling in force comes along with whatever is looked at.
    let shelf = shelf(conn, workspace, Wanted::default()).await?;
    let holder = holder(to, &shelf)?;
    let base = format!("{holder}:{}:swarm-lead", Kind::Ruling);
    let taken = store::document::numbered(conn, workspace, &base).await?;
    let today = store::now(conn).await?.date_naive();
    let appointment = Appointment {
        holder,
        names: to.names,
        review_on: to.review_on,
        reason: to.reason,
    };
    let documents = record::appointed(&appointment, &taken, today, &shelf)?;
    write(conn, workspace, documents, &Author::Operator, signed).await
}

/// In whose record the ruling is written. Where nobody leads, nobody can cease to.
fn holder<'a>(to: Move<'a>, shelf: &'a Shelf) -> Result<&'a Instance, Error> {
    let last = || shelf.lead_ruling().filter(|_| shelf.lead().is_some());
    let holder = to.names.or_else(|| last().map(Document::holder));
    let none = || cambium_swarm::Error::NotInForce("swarm-lead".to_owned());
    Ok(holder.ok_or_else(none)?)
}

/// Unaddressed work is the new lead's, or nobody's. What the same mind holds already stays as it is.
async fn move_work(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    (lead, signed, why): (Option<&Instance>, &Signed, &str),
) -> Result<(), Error> {
    for item in store::work::unaddressed(conn, workspace).await? {
        if item.work.holder() == lead {
            continue;
        }
        let next = item.work.clone().led_by(lead);
        put(conn, workspace, (item, next), (signed, why)).await?;
    }
    Ok(())
}

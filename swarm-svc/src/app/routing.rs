//! Who holds which work and which area, and how both pass on (design: swarm, section 9). Nobody takes what another holds: it is
//! offered and accepted, or the operator says so.

mod brief;
mod hand_off;
mod lapse;
mod lead;
mod offer;
mod read;
mod submit;
mod work;

use cambium_kernel::WorkspaceId;
use cambium_swarm::record::{self, Author, Document};
use cambium_swarm::work::Work;
use cambium_swarm::{Instance, WorkId};
use sqlx::PgConnection;

use crate::app::record::{Signed, of_ids, shelf, write};
use crate::error::Error;
use crate::store;
use crate::store::launch::{Reason, touch};
use crate::store::work::Item;

pub(crate) use brief::brief_work;
pub(crate) use hand_off::Answer;
pub(crate) use lead::Move;
pub(crate) use offer::{Give, What};
pub(crate) use submit::Submission;

async fn item(conn: &mut PgConnection, workspace: &WorkspaceId, id: WorkId) -> Result<Item, Error> {
    let found = store::work::find(conn, workspace, id).await?;
    found.ok_or(Error::NoWork(id))
}

/// Brings these minds a reason, then keeps all others from the records and the work until the transaction ends.
async fn enter(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    told: &[&Instance],
) -> Result<(), Error> {
    if !told.is_empty() {
        touch(conn, workspace, told, Reason::Came).await?;
    }
    store::document::lock(conn, workspace).await
}

/// As [`enter`], where the lead is told, and who that is.
async fn enter_with_lead(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Option<Instance>, Error> {
    let before = store::lead::current(conn, workspace).await?;
    let told: Vec<&Instance> = before.iter().collect();
    enter(conn, workspace, &told).await?;
    let lead = store::lead::current(conn, workspace).await?;
    match &lead {
        // Another leads since. It is told out of order, and a deadlock that may come of it is tried again.
        Some(lead) if before.as_ref() != Some(lead) => {
            touch(conn, workspace, &[lead], Reason::Came).await?;
        }
        _ => {}
    }
    Ok(lead)
}

/// Writes where a piece of work is now. An offer of it that stands is over.
async fn put(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    (mut item, next): (Item, Work),
    (signed, why): (&Signed, &str),
) -> Result<Item, Error> {
    if let Some(offer) = item.offer.take() {
        withdraw(conn, workspace, &offer.id, (signed, why)).await?;
    }
    item.work = next;
    store::work::update(conn, workspace, &item).await?;
    Ok(item)
}

/// Ends an offer that stands, in its giver's record; the work that it was of is held as before.
async fn withdraw(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    offer: &str,
    (signed, why): (&Signed, &str),
) -> Result<Vec<Document>, Error> {
    let shelf = shelf(conn, workspace, of_ids(vec![offer.to_owned()])).await?;
    let Some(offer) = shelf.get(offer) else {
        return Ok(Vec::new());
    };
    if record::still_stands(offer, &shelf).is_err() {
        return Ok(Vec::new());
    }
    let today = store::now(conn).await?.date_naive();
    let end = record::withdrawal(offer, why, today, &shelf)?;
    write(conn, workspace, vec![end], &Author::Operator, signed).await
}

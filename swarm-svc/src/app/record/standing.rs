//! What stands in the records of a mind that shall leave, and what happens to those who came first once they are not alone.

use std::collections::BTreeSet;

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::member::Brake;
use cambium_swarm::mind::Ties;
use cambium_swarm::record::Document;
use cambium_swarm::review::{self, Cause};
use chrono::{DateTime, NaiveDate};
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;
use crate::store::launch::{Reason, touch};

/// Gives each ruling in force of a mind's authority, and the lead's, a date for its review if it has none. Called whenever a mind has
/// opened: while fewer than two are open it does nothing, and with more there is nothing left to do.
pub(crate) async fn second_mind(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    today: NaiveDate,
) -> Result<(), Error> {
    if store::mind::open_count(conn, workspace).await? < 2 {
        return Ok(());
    }
    let before = undated(conn, workspace, today).await?;
    let told: BTreeSet<&Instance> = before.iter().map(|(ruling, _)| ruling.holder()).collect();
    let minds: Vec<&Instance> = told.iter().copied().collect();
    if !minds.is_empty() {
        touch(conn, workspace, &minds, Reason::None).await?;
    }
    store::document::lock(conn, workspace).await?;
    for (ruling, on) in undated(conn, workspace, today).await? {
        if !told.contains(ruling.holder()) {
            touch(conn, workspace, &[ruling.holder()], Reason::None).await?;
        }
        store::review::insert(conn, workspace, &ruling, on, Cause::SecondMind).await?;
    }
    Ok(())
}

/// The rulings that are to have a date, and which.
async fn undated(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    today: NaiveDate,
) -> Result<Vec<(Document, NaiveDate)>, Error> {
    let rulings = store::document::undated_rulings(conn, workspace).await?;
    let dated = rulings.into_iter().filter_map(|ruling| {
        let on = review::at_second_mind(&ruling, false, today)?;
        Some((ruling, on))
    });
    Ok(dated.collect())
}

/// All that still ties a mind that shall leave. The records stay locked, so that nothing is added meanwhile.
pub(crate) async fn ties(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    instance: &Instance,
) -> Result<Ties, Error> {
    store::document::lock(conn, workspace).await?;
    let now = store::now(conn).await?;
    let standing = store::standing::of(conn, workspace, instance)
        .await?
        .standing;
    let name = instance.as_str();
    let given = (Some(name), None);
    let offers = store::document::offers(conn, workspace, given, DateTime::UNIX_EPOCH).await?;
    let lead = store::lead::current(conn, workspace).await?;
    Ok(Ties {
        is_released: standing.brake == Brake::Released,
        has_live_turn: standing.is_live,
        has_session: standing.session_until.is_some_and(|until| now < until),
        campaigns: few(store::document::campaigns(conn, workspace, name).await?),
        stewardships: few(store::steward::count(conn, workspace, name).await?),
        held_work: few(store::work::held_count(conn, workspace, name).await?),
        offers_given: u32::try_from(offers.len()).unwrap_or(u32::MAX),
        is_lead: lead.as_ref() == Some(instance),
    })
}

fn few(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

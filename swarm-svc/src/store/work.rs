//! Table `swarm.work`: what somebody submitted, and who holds it. Whoever changes a row holds the lock of the records: who leads, and
//! what was offered, stay as they are meanwhile.

mod list;

use cambium_kernel::WorkspaceId;
use cambium_swarm::record::ForeignRef;
use cambium_swarm::work::{State, Work};
use cambium_swarm::{Instance, WorkId};
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;
use crate::store;

pub(crate) use list::{Filter, Place, held_count, list, oldest_held};

/// An offer of a piece of work: the hand-off's id, and when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offered {
    pub(crate) id: String,
    pub(crate) at: DateTime<Utc>,
}

/// A piece of work, with all that is known of it.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) id: WorkId,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) refs: Vec<ForeignRef>,
    pub(crate) work: Work,
    /// As in `mind:eureka`.
    pub(crate) submitted_by: String,
    pub(crate) submitted_at: DateTime<Utc>,
    pub(crate) returned_by: Option<String>,
    pub(crate) done_ref: Option<String>,
    /// While it is offered.
    pub(crate) offer: Option<Offered>,
}

#[derive(Debug)]
struct Row {
    work_id: Uuid,
    title: String,
    body: String,
    refs: Value,
    addressed: bool,
    holder: Option<String>,
    state: String,
    submitted_by: String,
    submitted_at: DateTime<Utc>,
    returned_by: Option<String>,
    returned_by_lead: bool,
    done_ref: Option<String>,
    offered_to: Option<String>,
    offer_id: Option<String>,
    offered_at: Option<DateTime<Utc>>,
}

impl TryFrom<Row> for Item {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let broken = |why: &str| Error::broken(format!("work {}", row.work_id), why);
        let mind = |name: &Option<String>| {
            let name = name.as_deref().ok_or_else(|| broken("it names no mind"));
            name.and_then(store::instance)
        };
        let state = match row.state.as_str() {
            "unrouted" => State::Unrouted,
            "held" => State::Held(mind(&row.holder)?),
            "offered" => State::Offered {
                holder: mind(&row.holder)?,
                to: mind(&row.offered_to)?,
            },
            "done" => State::Done,
            "withdrawn" => State::Withdrawn,
            other => return Err(broken(other)),
        };
        let refs = row.refs.as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(Self {
            id: WorkId::from_uuid(row.work_id),
            refs: refs.iter().filter_map(ForeignRef::from_value).collect(),
            work: Work {
                state,
                is_addressed: row.addressed,
                is_returned_by_lead: row.returned_by_lead,
            },
            title: row.title,
            body: row.body,
            submitted_by: row.submitted_by,
            submitted_at: row.submitted_at,
            returned_by: row.returned_by,
            done_ref: row.done_ref,
            offer: row
                .offer_id
                .zip(row.offered_at)
                .map(|(id, at)| Offered { id, at }),
        })
    }
}

const fn word(state: &State) -> &'static str {
    match state {
        State::Unrouted => "unrouted",
        State::Held(_) => "held",
        State::Offered { .. } => "offered",
        State::Done => "done",
        State::Withdrawn => "withdrawn",
    }
}

const fn offered_to(state: &State) -> Option<&Instance> {
    match state {
        State::Offered { to, .. } => Some(to),
        State::Unrouted | State::Held(_) | State::Done | State::Withdrawn => None,
    }
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    item: &Item,
) -> Result<(), Error> {
    let refs = item.refs.iter().map(ForeignRef::to_value).collect();
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.work
            (workspace_id, work_id, title, body, refs, addressed, holder, state, submitted_by, submitted_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        "#,
        workspace.as_str(),
        item.id.as_uuid(),
        item.title,
        item.body,
        Value::Array(refs),
        item.work.is_addressed,
        item.work.holder().map(Instance::as_str),
        word(&item.work.state),
        item.submitted_by,
        item.submitted_at,
    );
    insert.execute(conn).await?;
    Ok(())
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: WorkId,
) -> Result<Option<Item>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT
            work_id, title, body, refs, addressed, holder, state, submitted_by, submitted_at, returned_by,
            returned_by_lead, done_ref, offered_to, offer_id, offered_at
        FROM swarm.work
        WHERE workspace_id = $1 AND work_id = $2
        "#,
        workspace.as_str(),
        id.as_uuid(),
    );
    row.fetch_optional(conn)
        .await?
        .map(Item::try_from)
        .transpose()
}

/// What is offered by a hand-off, to a mind.
pub(crate) async fn offered_by(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    offer_id: &str,
    to: &str,
) -> Result<Option<Item>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT
            work_id, title, body, refs, addressed, holder, state, submitted_by, submitted_at, returned_by,
            returned_by_lead, done_ref, offered_to, offer_id, offered_at
        FROM swarm.work
        WHERE workspace_id = $1 AND state = 'offered' AND offered_to = $3 AND offer_id = $2
        "#,
        workspace.as_str(),
        offer_id,
        to,
    );
    row.fetch_optional(conn)
        .await?
        .map(Item::try_from)
        .transpose()
}

/// What is nobody's in particular, and not the operator's to assign.
pub(crate) async fn unaddressed(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Vec<Item>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT
            work_id, title, body, refs, addressed, holder, state, submitted_by, submitted_at, returned_by,
            returned_by_lead, done_ref, offered_to, offer_id, offered_at
        FROM swarm.work
        WHERE workspace_id = $1 AND NOT addressed AND NOT returned_by_lead AND state IN ('unrouted', 'held', 'offered')
        ORDER BY work_id
        "#,
        workspace.as_str(),
    );
    let rows = rows.fetch_all(conn).await?;
    rows.into_iter().map(Item::try_from).collect()
}

/// Writes where a piece of work is now, and what came of it.
pub(crate) async fn update(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    item: &Item,
) -> Result<(), Error> {
    let update = sqlx::query!(
        r#"
        UPDATE swarm.work
        SET addressed = $3, holder = $4, state = $5, returned_by = $6, returned_by_lead = $7, done_ref = $8,
            offered_to = $9, offer_id = $10, offered_at = $11
        WHERE workspace_id = $1 AND work_id = $2
        "#,
        workspace.as_str(),
        item.id.as_uuid(),
        item.work.is_addressed,
        item.work.holder().map(Instance::as_str),
        word(&item.work.state),
        item.returned_by,
        item.work.is_returned_by_lead,
        item.done_ref,
        offered_to(&item.work.state).map(Instance::as_str),
        item.offer.as_ref().map(|offer| offer.id.as_str()),
        item.offer.as_ref().map(|offer| offer.at),
    );
    update.execute(conn).await?;
    Ok(())
}

/// Whether a mind holds work, offered or not.
pub(crate) async fn is_held(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<bool, Error> {
    let held = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM swarm.work WHERE workspace_id = $1 AND holder = $2) AS "held!""#,
        workspace.as_str(),
        mind.as_str(),
    );
    Ok(held.fetch_one(conn).await?)
}

//! Table `swarm.audit`: who changed what, and who was refused.

use cambium_kernel::WorkspaceId;
use cambium_swarm::{Instance, TurnId};
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// As in `operator:ada`.
    pub(crate) actor: String,
    pub(crate) action: String,
    pub(crate) instance: Option<Instance>,
    pub(crate) turn: Option<TurnId>,
    /// Why it was refused; none where it was done.
    pub(crate) refusal: Option<&'static str>,
    pub(crate) body: Value,
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    entry: &Entry,
) -> Result<(), Error> {
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.audit
            (workspace_id, seq, actor, action, instance, turn_id, allowed, reason, body, at)
        VALUES ($1, swarm.next_seq($1, 'audit'), $2, $3, $4, $5, $6, $7, $8, swarm.now())
        "#,
        workspace.as_str(),
        entry.actor,
        entry.action,
        entry.instance.as_ref().map_or("", Instance::as_str),
        entry.turn.map(TurnId::as_uuid),
        entry.refusal.is_none(),
        entry.refusal.unwrap_or(""),
        entry.body,
    );
    insert.execute(conn).await?;
    Ok(())
}

/// An entry as it is kept.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) seq: i64,
    pub(crate) actor: String,
    pub(crate) action: String,
    /// Empty where it is about no mind.
    pub(crate) instance: String,
    pub(crate) turn_id: Option<Uuid>,
    pub(crate) allowed: bool,
    /// Why it was refused; empty where it was done.
    pub(crate) reason: String,
    pub(crate) body: Value,
    pub(crate) at: DateTime<Utc>,
}

/// Those after a number, in order.
pub(crate) async fn after(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    seq: i64,
    limit: i64,
) -> Result<Vec<Kept>, Error> {
    let rows = sqlx::query_as!(
        Kept,
        r#"
        SELECT seq, actor, action, instance, turn_id, allowed, reason, body, at
        FROM swarm.audit
        WHERE workspace_id = $1 AND seq > $2
        ORDER BY seq
        LIMIT $3
        "#,
        workspace.as_str(),
        seq,
        limit,
    );
    Ok(rows.fetch_all(conn).await?)
}

/// Newest first; those before a number, if one is given.
pub(crate) async fn before(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    seq: Option<i64>,
    limit: i64,
) -> Result<Vec<Kept>, Error> {
    let rows = sqlx::query_as!(
        Kept,
        r#"
        SELECT seq, actor, action, instance, turn_id, allowed, reason, body, at
        FROM swarm.audit
        WHERE workspace_id = $1 AND seq < $2
        ORDER BY seq DESC
        LIMIT $3
        "#,
        workspace.as_str(),
        seq.unwrap_or(i64::MAX),
        limit,
    );
    Ok(rows.fetch_all(conn).await?)
}

/// The lowest number kept; one more than the last given out where none is.
pub(crate) async fn lowest(conn: &mut PgConnection, workspace: &WorkspaceId) -> Result<i64, Error> {
    let lowest = sqlx::query_scalar!(
        r#"
        SELECT coalesce(
            (SELECT min(seq) FROM swarm.audit WHERE workspace_id = $1),
            (SELECT seq + 1 FROM swarm.log_head WHERE workspace_id = $1 AND log = 'audit'),
            1
        ) AS "lowest!"
        "#,
        workspace.as_str(),
    );
    Ok(lowest.fetch_one(conn).await?)
}

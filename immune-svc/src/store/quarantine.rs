//! Table `immune.quarantine`: every quarantine there has been.

use cambium_kernel::WorkspaceId;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::Key;
use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct Quarantine {
    pub(crate) id: Uuid,
    pub(crate) key: Key,
    pub(crate) reason: String,
    pub(crate) actor: String,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) ends_at: DateTime<Utc>,
    pub(crate) is_active: bool,
    pub(crate) count: u32,
    pub(crate) over_cap: bool,
    pub(crate) release_reason: String,
}

struct Row {
    quarantine_id: Uuid,
    workspace_id: String,
    agent_id: Uuid,
    reason: String,
    actor: String,
    started_at: DateTime<Utc>,
    ends_at: DateTime<Utc>,
    is_active: bool,
    count: i32,
    over_cap: bool,
    release_reason: String,
}

impl TryFrom<Row> for Quarantine {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        Ok(Self {
            id: row.quarantine_id,
            key: Key::from_row(&row.workspace_id, row.agent_id)?,
            reason: row.reason,
            actor: row.actor,
            started_at: row.started_at,
            ends_at: row.ends_at,
            is_active: row.is_active,
            count: u32::try_from(row.count).unwrap_or(0),
            over_cap: row.over_cap,
            release_reason: row.release_reason,
        })
    }
}

/// Writes one, new or changed. Its agent is locked.
pub(crate) async fn save(conn: &mut PgConnection, one: &Quarantine) -> Result<(), Error> {
    sqlx::query!(
        r#"
        INSERT INTO immune.quarantine (
            quarantine_id, workspace_id, agent_id, reason, actor, started_at, ends_at, is_active, count, over_cap,
            release_reason
        ) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        ON CONFLICT (quarantine_id) DO UPDATE SET
            reason = EXCLUDED.reason, actor = EXCLUDED.actor, ends_at = EXCLUDED.ends_at,
            is_active = EXCLUDED.is_active, over_cap = EXCLUDED.over_cap, release_reason = EXCLUDED.release_reason
        "#,
        one.id,
        one.key.workspace.as_str(),
        one.key.agent.as_uuid(),
        one.reason,
        one.actor,
        one.started_at,
        one.ends_at,
        one.is_active,
        i32::try_from(one.count).unwrap_or(i32::MAX),
        one.over_cap,
        one.release_reason,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn by_ids(
    conn: &mut PgConnection,
    ids: &[Uuid],
) -> Result<Vec<Quarantine>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT quarantine_id, workspace_id, agent_id, reason, actor, started_at, ends_at, is_active, count, over_cap,
               release_reason
        FROM immune.quarantine
        WHERE quarantine_id = ANY ($1)
        "#,
        ids,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Quarantine::try_from).collect()
}

/// The newest before `before`, at most so many.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    with_ended: bool,
    before: Option<(DateTime<Utc>, Uuid)>,
    most: i64,
) -> Result<Vec<Quarantine>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT quarantine_id, workspace_id, agent_id, reason, actor, started_at, ends_at, is_active, count, over_cap,
               release_reason
        FROM immune.quarantine
        WHERE workspace_id = $1 AND ($2 OR is_active)
          AND ($3::timestamptz IS NULL OR (started_at, quarantine_id) < ($3, $4::uuid))
        ORDER BY started_at DESC, quarantine_id DESC
        LIMIT $5
        "#,
        workspace.as_str(),
        with_ended,
        before.map(|(at, _)| at),
        before.map(|(_, id)| id),
        most,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Quarantine::try_from).collect()
}

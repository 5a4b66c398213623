//! Table `immune.alert`: what a person should look at, counted per workspace.

use cambium_kernel::{Score, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Key, columns, score};
use crate::error::Error;

/// One that has no number yet.
#[derive(Clone, Debug)]
pub(crate) struct New {
    pub(crate) id: Uuid,
    pub(crate) key: Key,
    pub(crate) source: String,
    pub(crate) severity: Score,
    pub(crate) text: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Alert {
    pub(crate) seq: i64,
    pub(crate) new: New,
    pub(crate) raised_at: DateTime<Utc>,
    pub(crate) acknowledged_at: Option<DateTime<Utc>>,
    pub(crate) acknowledged_by: String,
}

struct Row {
    workspace_id: String,
    seq: i64,
    alert_id: Uuid,
    source: String,
    agent_id: Uuid,
    severity: i32,
    text: String,
    raised_at: DateTime<Utc>,
    acknowledged_at: Option<DateTime<Utc>>,
    acknowledged_by: String,
}

impl TryFrom<Row> for Alert {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        Ok(Self {
            seq: row.seq,
            new: New {
                id: row.alert_id,
                key: Key::from_row(&row.workspace_id, row.agent_id)?,
                source: row.source,
                severity: score(row.severity)?,
                text: row.text,
            },
            raised_at: row.raised_at,
            acknowledged_at: row.acknowledged_at,
            acknowledged_by: row.acknowledged_by,
        })
    }
}

/// Numbers and writes them. Their workspaces are locked, so the numbers have no gaps and commit in order.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    alerts: &[New],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let (workspaces, agents) = columns(alerts.iter().map(|alert| &alert.key));
    let ids: Vec<Uuid> = alerts.iter().map(|alert| alert.id).collect();
    let sources: Vec<&str> = alerts.iter().map(|alert| alert.source.as_str()).collect();
    let severities: Vec<i32> = alerts
        .iter()
        .map(|alert| alert.severity.as_millionths())
        .collect();
    let texts: Vec<&str> = alerts.iter().map(|alert| alert.text.as_str()).collect();
    sqlx::query!(
        r#"
        INSERT INTO immune.alert (workspace_id, seq, alert_id, source, agent_id, severity, text, raised_at)
        SELECT new.workspace_id,
               coalesce((SELECT max(a.seq) FROM immune.alert a WHERE a.workspace_id = new.workspace_id), 0)
                   + row_number() OVER (PARTITION BY new.workspace_id ORDER BY new.place),
               new.alert_id, new.source, new.agent_id, new.severity, new.text, $7
        FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::text[], $5::integer[], $6::text[])
             WITH ORDINALITY AS new (workspace_id, agent_id, alert_id, source, severity, text, place)
        "#,
        &workspaces,
        &agents,
        &ids,
        &sources as &[&str],
        &severities,
        &texts as &[&str],
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The newest below `below`, at most so many.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    with_acknowledged: bool,
    below: i64,
    most: i64,
) -> Result<Vec<Alert>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT workspace_id, seq, alert_id, source, agent_id, severity, text, raised_at, acknowledged_at, acknowledged_by
        FROM immune.alert
        WHERE workspace_id = $1 AND seq < $2 AND ($3 OR acknowledged_at IS NULL)
        ORDER BY seq DESC
        LIMIT $4
        "#,
        workspace.as_str(),
        below,
        with_acknowledged,
        most,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Alert::try_from).collect()
}

/// The oldest after `after`, at most so many.
pub(crate) async fn after(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    after: i64,
    most: i64,
) -> Result<Vec<Alert>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT workspace_id, seq, alert_id, source, agent_id, severity, text, raised_at, acknowledged_at, acknowledged_by
        FROM immune.alert
        WHERE workspace_id = $1 AND seq > $2
        ORDER BY seq
        LIMIT $3
        "#,
        workspace.as_str(),
        after,
        most,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Alert::try_from).collect()
}

/// Says that somebody has looked; whoever was first stays. Nothing if there is no such alert.
pub(crate) async fn acknowledge(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: Uuid,
    by: &str,
) -> Result<Option<Alert>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        UPDATE immune.alert SET
            acknowledged_at = coalesce(acknowledged_at, immune.now()),
            acknowledged_by = CASE WHEN acknowledged_at IS NULL THEN $3 ELSE acknowledged_by END
        WHERE alert_id = $2 AND workspace_id = $1
        RETURNING workspace_id, seq, alert_id, source, agent_id, severity, text, raised_at, acknowledged_at, acknowledged_by
        "#,
        workspace.as_str(),
        id,
        by,
    )
    .fetch_optional(conn)
    .await?;
    row.map(Alert::try_from).transpose()
}

//! Table `immune.anomaly`: every firing of a rule.

use cambium_immune::Response;
use cambium_kernel::{AgentId, Score, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Key, columns, score};
use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct Anomaly {
    pub(crate) id: Uuid,
    pub(crate) key: Key,
    pub(crate) rule: String,
    pub(crate) severity: Score,
    pub(crate) response: Response,
    pub(crate) is_dry_run: bool,
    pub(crate) detail: String,
    pub(crate) occurred_at: DateTime<Utc>,
}

pub(crate) async fn insert(conn: &mut PgConnection, anomalies: &[Anomaly]) -> Result<(), Error> {
    let (workspaces, agents) = columns(anomalies.iter().map(|anomaly| &anomaly.key));
    let ids: Vec<Uuid> = anomalies.iter().map(|anomaly| anomaly.id).collect();
    let rules: Vec<&str> = anomalies.iter().map(|a| a.rule.as_str()).collect();
    let severities: Vec<i32> = anomalies
        .iter()
        .map(|a| a.severity.as_millionths())
        .collect();
    let responses: Vec<&str> = anomalies.iter().map(|a| a.response.as_str()).collect();
    let dry: Vec<bool> = anomalies.iter().map(|a| a.is_dry_run).collect();
    let details: Vec<&str> = anomalies.iter().map(|a| a.detail.as_str()).collect();
    let times: Vec<DateTime<Utc>> = anomalies.iter().map(|a| a.occurred_at).collect();
    sqlx::query!(
        r#"
        INSERT INTO immune.anomaly (
            anomaly_id, workspace_id, agent_id, rule_id, severity, response, is_dry_run, detail, occurred_at
        )
        SELECT * FROM unnest(
            $1::uuid[], $2::text[], $3::uuid[], $4::text[], $5::integer[], $6::text[], $7::boolean[], $8::text[],
            $9::timestamptz[]
        )
        "#,
        &ids,
        &workspaces,
        &agents,
        &rules as &[&str],
        &severities,
        &responses as &[&str],
        &dry,
        &details as &[&str],
        &times,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The newest before `before`, at most so many.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    agent: Option<AgentId>,
    before: Option<(DateTime<Utc>, Uuid)>,
    most: i64,
) -> Result<Vec<Anomaly>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT anomaly_id, workspace_id, agent_id, rule_id, severity, response, is_dry_run, detail, occurred_at
        FROM immune.anomaly
        WHERE workspace_id = $1
          AND ($2::uuid IS NULL OR agent_id = $2)
          AND ($3::timestamptz IS NULL OR (occurred_at, anomaly_id) < ($3, $4::uuid))
        ORDER BY occurred_at DESC, anomaly_id DESC
        LIMIT $5
        "#,
        workspace.as_str(),
        agent.map(AgentId::as_uuid),
        before.map(|(at, _)| at),
        before.map(|(_, id)| id),
        most,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let response = Response::parse(&row.response)
                .ok_or_else(|| Error::broken("an anomaly", &row.response))?;
            Ok(Anomaly {
                id: row.anomaly_id,
                key: Key::from_row(&row.workspace_id, row.agent_id)?,
                rule: row.rule_id,
                severity: score(row.severity)?,
                response,
                is_dry_run: row.is_dry_run,
                detail: row.detail,
                occurred_at: row.occurred_at,
            })
        })
        .collect()
}

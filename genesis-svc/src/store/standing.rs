//! Table `genesis.standing`: what immune last said of an agent, as far as genesis asks.

use cambium_kernel::{AgentId, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

/// What was said, one agent a row. Sorted by agent, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) workspaces: Vec<String>,
    pub(crate) agents: Vec<Uuid>,
    pub(crate) seqs: Vec<i64>,
    pub(crate) quarantined: Vec<bool>,
    pub(crate) ends: Vec<Option<DateTime<Utc>>>,
}

/// Keeps what is newer than what is there.
pub(crate) async fn upsert(conn: &mut PgConnection, said: &Said) -> Result<(), Error> {
    sqlx::query!(
        r#"
        INSERT INTO genesis.standing (workspace_id, agent_id, seq, is_quarantined, quarantined_to)
        SELECT workspace_id, agent_id, seq, is_quarantined, quarantined_to
        FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::boolean[], $5::timestamptz[])
            AS said (workspace_id, agent_id, seq, is_quarantined, quarantined_to)
        ORDER BY workspace_id, agent_id
        ON CONFLICT ON CONSTRAINT standing_pk DO UPDATE
        SET seq = excluded.seq, is_quarantined = excluded.is_quarantined,
            quarantined_to = excluded.quarantined_to
        WHERE standing.seq < excluded.seq
        "#,
        &said.workspaces,
        &said.agents,
        &said.seqs,
        &said.quarantined,
        &said.ends as &[Option<DateTime<Utc>>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether an agent is in quarantine now. One of which immune has not spoken is not.
pub(crate) async fn is_quarantined(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    agent: AgentId,
) -> Result<bool, Error> {
    let found = sqlx::query_scalar!(
        r#"
        SELECT (is_quarantined AND (quarantined_to IS NULL OR quarantined_to > genesis.now())) AS "is!"
        FROM genesis.standing
        WHERE workspace_id = $1 AND agent_id = $2
        "#,
        workspace.as_str(),
        agent.as_uuid(),
    );
    Ok(found.fetch_optional(conn).await?.unwrap_or(false))
}

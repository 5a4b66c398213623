//! Table `genesis.evidence`: how many of an agent's tasks ended, and how.

use cambium_kernel::{AgentId, WorkspaceId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

/// Of one agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    pub(crate) settled: i64,
    pub(crate) ended: i64,
    pub(crate) succeeded: i64,
}

/// Of several agents, one a row. Sorted by agent, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) workspaces: Vec<String>,
    pub(crate) agents: Vec<Uuid>,
    pub(crate) settled: Vec<i64>,
    pub(crate) ended: Vec<i64>,
    pub(crate) succeeded: Vec<i64>,
}

/// Adds to what is known. Of agents that are unknown or have retired nothing is kept: their record is written.
pub(crate) async fn add(conn: &mut PgConnection, batch: &Batch) -> Result<(), Error> {
    sqlx::query!(
        r#"
        INSERT INTO genesis.evidence (workspace_id, agent_id, settled, ended, succeeded)
        SELECT new.workspace_id, new.agent_id, new.settled, new.ended, new.succeeded
        FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[])
            AS new (workspace_id, agent_id, settled, ended, succeeded)
        JOIN genesis.agent a ON a.workspace_id = new.workspace_id AND a.agent_id = new.agent_id
        WHERE a.state <> 'retired'
        ORDER BY new.workspace_id, new.agent_id -- two deliveries wait for each other, and never in a circle
        ON CONFLICT ON CONSTRAINT evidence_pk DO UPDATE
        SET settled = evidence.settled + excluded.settled,
            ended = evidence.ended + excluded.ended,
            succeeded = evidence.succeeded + excluded.succeeded
        "#,
        &batch.workspaces,
        &batch.agents,
        &batch.settled,
        &batch.ended,
        &batch.succeeded,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn of(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    agent: AgentId,
) -> Result<Evidence, Error> {
    let found = sqlx::query_as!(
        Evidence,
        "SELECT settled, ended, succeeded FROM genesis.evidence WHERE workspace_id = $1 AND agent_id = $2",
        workspace.as_str(),
        agent.as_uuid(),
    );
    Ok(found.fetch_optional(conn).await?.unwrap_or_default())
}

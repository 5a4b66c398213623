//! The copy of what genesis says of agents.

use cambium_kernel::AgentId;
use sqlx::PgConnection;
use uuid::Uuid;

#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) id: AgentId,
    pub(crate) workspace: String,
    pub(crate) name: String,
    pub(crate) capabilities: Vec<String>,
    /// `*` is every one.
    pub(crate) serves_minds: Vec<String>,
    /// JSON; empty if nothing.
    pub(crate) learnings: Vec<u8>,
}

pub(crate) async fn upsert(conn: &mut PgConnection, agent: &Agent) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        INSERT INTO hypha.agent (agent_id, workspace_id, name, capabilities, inherited_learnings, serves_minds)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (agent_id) DO UPDATE
        SET name = excluded.name, capabilities = excluded.capabilities, inherited_learnings = excluded.inherited_learnings,
            serves_minds = excluded.serves_minds
        "#,
        agent.id.as_uuid(),
        agent.workspace,
        agent.name,
        &agent.capabilities,
        agent.learnings,
        &agent.serves_minds,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Those of the agents that are known.
pub(crate) async fn find(
    conn: &mut PgConnection,
    ids: &[AgentId],
) -> Result<Vec<Agent>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT agent_id, workspace_id, name, capabilities, inherited_learnings, serves_minds
        FROM hypha.agent WHERE agent_id = ANY ($1)
        "#,
        &ids.iter().map(|id| id.as_uuid()).collect::<Vec<Uuid>>(),
    )
    .fetch_all(conn)
    .await?;
    let agents = rows.into_iter().map(|row| Agent {
        id: AgentId::from_uuid(row.agent_id),
        workspace: row.workspace_id,
        name: row.name,
        capabilities: row.capabilities,
        serves_minds: row.serves_minds,
        learnings: row.inherited_learnings,
    });
    Ok(agents.collect())
}

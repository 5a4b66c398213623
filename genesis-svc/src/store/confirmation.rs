//! Table `genesis.confirmation`: who confirmed which learning.

use std::collections::BTreeSet;

use cambium_genesis::LearningId;
use cambium_genesis::compost::Candidate;
use cambium_kernel::{AgentId, Score, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

/// One lineage's word for a learning.
#[derive(Clone, Debug)]
pub(crate) struct Confirmation {
    pub(crate) agent: AgentId,
    pub(crate) agent_name: String,
    pub(crate) root: AgentId,
    pub(crate) success: Score,
    pub(crate) pattern: String,
    pub(crate) at: DateTime<Utc>,
    pub(crate) is_flagged: bool,
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    learning: LearningId,
    voice: &Candidate,
    now: DateTime<Utc>,
) -> Result<(), Error> {
    sqlx::query!(
        r#"
        INSERT INTO genesis.confirmation (
            workspace_id, learning_id, root_id, agent_id, success_rate, pattern, confirmed_at
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        "#,
        workspace.as_str(),
        learning.as_uuid(),
        voice.lineage.as_uuid(),
        voice.agent.as_uuid(),
        voice.success.as_millionths(),
        voice.pattern.as_str(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Which of these learnings a lineage has confirmed.
pub(crate) async fn of_lineage(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    learnings: &[Uuid],
    root: AgentId,
) -> Result<BTreeSet<LearningId>, Error> {
    let ids = sqlx::query_scalar!(
        r#"
        SELECT learning_id
        FROM genesis.confirmation
        WHERE workspace_id = $1 AND learning_id = ANY($2) AND root_id = $3
        "#,
        workspace.as_str(),
        learnings,
        root.as_uuid(),
    );
    let ids = ids.fetch_all(conn).await?;
    Ok(ids.into_iter().map(LearningId::from_uuid).collect())
}

/// The oldest `limit` confirmations of a learning.
pub(crate) async fn of(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    learning: LearningId,
    limit: i64,
) -> Result<Vec<Confirmation>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT c.agent_id, a.name AS agent_name, c.root_id, c.success_rate, c.pattern,
               c.confirmed_at, c.is_flagged
        FROM genesis.confirmation c
        JOIN genesis.agent a ON a.workspace_id = c.workspace_id AND a.agent_id = c.agent_id
        WHERE c.workspace_id = $1 AND c.learning_id = $2
        ORDER BY c.confirmed_at, c.agent_id
        LIMIT $3
        "#,
        workspace.as_str(),
        learning.as_uuid(),
        limit,
    )
    .fetch_all(conn)
    .await?;
    let confirmations = rows.into_iter().map(|row| {
        let success = Score::from_millionths(row.success_rate);
        Ok(Confirmation {
            agent: AgentId::from_uuid(row.agent_id),
            agent_name: row.agent_name,
            root: AgentId::from_uuid(row.root_id),
            success: success.map_err(|why| Error::Broken {
                what: format!("a confirmation of learning {learning}"),
                why: why.to_string(),
            })?,
            pattern: row.pattern,
            at: row.confirmed_at,
            is_flagged: row.is_flagged,
        })
    });
    confirmations.collect()
}

/// Flags what these agents confirmed, and the learnings that rest on it.
pub(crate) async fn flag(
    conn: &mut PgConnection,
    workspaces: &[String],
    agents: &[Uuid],
) -> Result<(), Error> {
    let flagged = sqlx::query!(
        r#"
        UPDATE genesis.confirmation
        SET is_flagged = true
        WHERE workspace_id = ANY($1) AND agent_id = ANY($2)
        RETURNING workspace_id, learning_id
        "#,
        workspaces,
        agents,
    )
    .fetch_all(&mut *conn)
    .await?;
    let (workspaces, learnings): (Vec<String>, Vec<Uuid>) = flagged
        .into_iter()
        .map(|row| (row.workspace_id, row.learning_id))
        .unzip();
    sqlx::query!(
        r#"
        UPDATE genesis.learning
        SET is_flagged = true
        WHERE workspace_id = ANY($1) AND learning_id = ANY($2)
        "#,
        &workspaces,
        &learnings,
    )
    .execute(conn)
    .await?;
    Ok(())
}

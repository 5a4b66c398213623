//! Table `genesis.agent`: what has changed since somebody looked. Transactions commit in another order than they began, so
//! whoever reads on must stop at the oldest that may still be under way.

use cambium_genesis::Agent;
use cambium_kernel::{AgentId, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::Row;
use crate::error::Error;

/// An agent, and the transaction that changed it last.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) changed_in: i64,
    pub(crate) agent: Agent,
}

/// Every transaction below has ended: what it changed is there to be seen.
pub(crate) async fn horizon(conn: &mut PgConnection) -> Result<i64, Error> {
    let horizon = sqlx::query_scalar!(
        r#"SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS "horizon!""#
    );
    Ok(horizon.fetch_one(conn).await?)
}

/// Changes by transactions from `since` on, after a place in their order.
pub(crate) async fn since(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    since: i64,
    after: (i64, AgentId),
    limit: i64,
) -> Result<Vec<Change>, Error> {
    struct Found {
        workspace_id: String,
        agent_id: Uuid,
        name: String,
        capabilities: Vec<String>,
        serves_minds: Vec<String>,
        state: String,
        enrolled_at: DateTime<Utc>,
        template: Option<String>,
        template_version: Option<i32>,
        parent_id: Option<Uuid>,
        root_id: Uuid,
        generation: i32,
        changed_in: i64,
    }
    let rows = sqlx::query_as!(
        Found,
        r#"
        SELECT workspace_id, agent_id, name, capabilities, serves_minds, state, enrolled_at,
               template, template_version, parent_id, root_id, generation, changed_in
        FROM genesis.agent
        WHERE workspace_id = $1 AND changed_in >= $2 AND (changed_in, agent_id) > ($3, $4)
        ORDER BY changed_in, agent_id
        LIMIT $5
        "#,
        workspace.as_str(),
        since,
        after.0,
        after.1.as_uuid(),
        limit,
    )
    .fetch_all(conn)
    .await?;
    let changes = rows.into_iter().map(|found| {
        let row = Row {
            workspace_id: found.workspace_id,
            agent_id: found.agent_id,
            name: found.name,
            capabilities: found.capabilities,
            serves_minds: found.serves_minds,
            state: found.state,
            enrolled_at: found.enrolled_at,
            template: found.template,
            template_version: found.template_version,
            parent_id: found.parent_id,
            root_id: found.root_id,
            generation: found.generation,
        };
        Ok(Change {
            changed_in: found.changed_in,
            agent: Agent::try_from(row)?,
        })
    });
    changes.collect()
}

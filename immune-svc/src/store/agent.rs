//! Table `immune.agent`: what genesis told of each agent.

use std::collections::{BTreeMap, BTreeSet};

use cambium_immune::{Commons, Member};
use cambium_kernel::{AgentId, Capability, WorkspaceId};
use sqlx::PgConnection;

use super::{Key, columns};
use crate::error::Error;

/// A name and what the agent can do.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) name: String,
    pub(crate) capabilities: Vec<String>,
}

/// What was told last holds.
pub(crate) async fn upsert(conn: &mut PgConnection, key: &Key, agent: &Agent) -> Result<(), Error> {
    sqlx::query!(
        r#"
        INSERT INTO immune.agent (workspace_id, agent_id, name, capabilities)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (workspace_id, agent_id) DO UPDATE
        SET name = EXCLUDED.name, capabilities = EXCLUDED.capabilities
        "#,
        key.workspace.as_str(),
        key.agent.as_uuid(),
        agent.name,
        &agent.capabilities,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The names of those of which genesis has told.
pub(crate) async fn names(
    conn: &mut PgConnection,
    keys: impl IntoIterator<Item = &Key>,
) -> Result<BTreeMap<Key, String>, Error> {
    let (workspaces, agents) = columns(keys);
    let rows = sqlx::query!(
        r#"
        SELECT a.workspace_id, a.agent_id, a.name
        FROM unnest($1::text[], $2::uuid[]) AS asked (workspace_id, agent_id)
        JOIN immune.agent a ON a.workspace_id = asked.workspace_id AND a.agent_id = asked.agent_id
        "#,
        &workspaces,
        &agents,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| Ok((Key::from_row(&row.workspace_id, row.agent_id)?, row.name)))
        .collect()
}

/// Who of a workspace shares a capability with one of these agents, them included, as far as they take work or would
/// if they were not in quarantine.
pub(crate) async fn commons(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    leaving: &[AgentId],
) -> Result<Commons, Error> {
    let leaving: Vec<_> = leaving.iter().map(|agent| agent.as_uuid()).collect();
    let rows = sqlx::query!(
        r#"
        SELECT a.agent_id, a.capabilities, (s.quarantine_id IS NOT NULL) AS "is_out!"
        FROM immune.agent a
        JOIN immune.standing s ON s.workspace_id = a.workspace_id AND s.agent_id = a.agent_id
        WHERE a.workspace_id = $1
          AND NOT s.is_draining AND s.closed_at IS NULL
          AND a.capabilities && ARRAY(
              SELECT unnest(l.capabilities) FROM immune.agent l
              WHERE l.workspace_id = $1 AND l.agent_id = ANY ($2)
          )
        "#,
        workspace.as_str(),
        &leaving,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let agent = AgentId::from_uuid(row.agent_id);
            let capabilities: Result<BTreeSet<Capability>, _> = row
                .capabilities
                .iter()
                .map(|name| Capability::parse(name))
                .collect();
            let capabilities =
                capabilities.map_err(|why| Error::broken(format!("agent {agent}"), why))?;
            let is_out = row.is_out;
            Ok((
                agent,
                Member {
                    capabilities,
                    is_out,
                },
            ))
        })
        .collect()
}

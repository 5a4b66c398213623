//! Table `genesis.tally`: how often something happened in a life that goes on.

use cambium_genesis::harvest::Tally;
use cambium_genesis::{Pattern, PatternKind};
use cambium_kernel::{AgentId, WorkspaceId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

/// Of several agents. Sorted by agent, kind and pattern, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batch {
    pub(crate) workspaces: Vec<String>,
    pub(crate) agents: Vec<Uuid>,
    pub(crate) kinds: Vec<String>,
    pub(crate) patterns: Vec<String>,
    pub(crate) ended: Vec<i64>,
    pub(crate) succeeded: Vec<i64>,
}

/// Adds to what is known. Beyond 1,000 an agent's new ones are left out: nobody could read them, and it chooses their text.
pub(crate) async fn add(conn: &mut PgConnection, batch: &Batch) -> Result<(), Error> {
    sqlx::query!(
        r#"
        INSERT INTO genesis.tally (workspace_id, agent_id, kind, pattern, ended, succeeded)
        SELECT new.workspace_id, new.agent_id, new.kind, new.pattern, new.ended, new.succeeded
        FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])
            AS new (workspace_id, agent_id, kind, pattern, ended, succeeded)
        JOIN genesis.agent a ON a.workspace_id = new.workspace_id AND a.agent_id = new.agent_id
        WHERE a.state <> 'retired'
          AND (
              (SELECT count(*) FROM genesis.tally t
               WHERE t.workspace_id = new.workspace_id AND t.agent_id = new.agent_id) < 1000
              OR EXISTS (SELECT FROM genesis.tally t
                         WHERE t.workspace_id = new.workspace_id AND t.agent_id = new.agent_id
                           AND t.kind = new.kind AND t.pattern = new.pattern)
          )
        ORDER BY new.workspace_id, new.agent_id, new.kind, new.pattern
        ON CONFLICT ON CONSTRAINT tally_pk DO UPDATE
        SET ended = tally.ended + excluded.ended, succeeded = tally.succeeded + excluded.succeeded
        "#,
        &batch.workspaces,
        &batch.agents,
        &batch.kinds,
        &batch.patterns,
        &batch.ended,
        &batch.succeeded,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes all that is known of an agent, for its record.
pub(crate) async fn take(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    agent: AgentId,
) -> Result<Vec<Tally>, Error> {
    let rows = sqlx::query!(
        r#"
        DELETE FROM genesis.tally
        WHERE workspace_id = $1 AND agent_id = $2
        RETURNING kind, pattern, ended, succeeded
        "#,
        workspace.as_str(),
        agent.as_uuid(),
    )
    .fetch_all(conn)
    .await?;
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    let tallies = rows.into_iter().filter_map(|row| {
        let kind = PatternKind::parse(&row.kind)?;
        Some(Tally {
            pattern: Pattern::from_stored(kind, row.pattern),
            ended: count(row.ended),
            succeeded: count(row.succeeded),
        })
    });
    Ok(tallies.collect())
}

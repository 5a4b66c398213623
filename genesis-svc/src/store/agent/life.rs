//! Table `genesis.agent`: what is counted of an agent, and how its life ends.

use cambium_genesis::{State, spawn};
use cambium_kernel::{AgentId, WorkspaceId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{state, word};
use crate::error::Error;

/// What a spawn must know of the parent, beside its standing.
#[derive(Debug)]
pub(crate) struct Parent {
    pub(crate) root: AgentId,
    pub(crate) counted: spawn::Parent,
}

/// Keeps other writers away from these agents until the transaction ends.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    ids: &[Uuid],
) -> Result<(), Error> {
    let locked = sqlx::query!(
        r#"
        SELECT agent_id
        FROM genesis.agent
        WHERE workspace_id = $1 AND agent_id = ANY($2)
        ORDER BY agent_id
        FOR UPDATE
        "#,
        workspace.as_str(),
        ids,
    );
    locked.fetch_all(conn).await?;
    Ok(())
}

/// What is counted of a parent. Its row is locked by the caller.
pub(crate) async fn parent(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: AgentId,
    is_quarantined: bool,
) -> Result<Option<Parent>, Error> {
    let row = sqlx::query!(
        r#"
        SELECT state, root_id, generation, live_children, ever_children
        FROM genesis.agent
        WHERE workspace_id = $1 AND agent_id = $2
        "#,
        workspace.as_str(),
        id.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let state = state(&row.state).ok_or_else(|| Error::Broken {
        what: format!("agent {id}"),
        why: format!("state `{}`", row.state),
    })?;
    let count = |number: i32| u32::try_from(number).unwrap_or_default();
    Ok(Some(Parent {
        root: AgentId::from_uuid(row.root_id),
        counted: spawn::Parent {
            state,
            is_quarantined,
            generation: count(row.generation),
            live_children: count(row.live_children),
            ever: count(row.ever_children),
        },
    }))
}

/// Counts children: `live` of those that have not retired, `ever` of all.
pub(crate) async fn count_children(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    parent: AgentId,
    live: i32,
    ever: i32,
) -> Result<(), Error> {
    sqlx::query!(
        r#"
        UPDATE genesis.agent
        SET live_children = live_children + $3, ever_children = ever_children + $4
        WHERE workspace_id = $1 AND agent_id = $2
        "#,
        workspace.as_str(),
        parent.as_uuid(),
        live,
        ever,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// From now on it gets no new work. What it has to say is kept for its record.
pub(crate) async fn drain(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: AgentId,
    failures: &[String],
    hints: &[String],
) -> Result<(), Error> {
    sqlx::query!(
        r#"
        UPDATE genesis.agent
        SET state = $3, draining_at = genesis.now(), added_failures = $4, added_hints = $5,
            changed_in = pg_current_xact_id()::text::bigint
        WHERE workspace_id = $1 AND agent_id = $2
        "#,
        workspace.as_str(),
        id.as_uuid(),
        word(State::Draining),
        failures,
        hints,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn retire(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: AgentId,
) -> Result<(), Error> {
    sqlx::query!(
        r#"
        UPDATE genesis.agent
        SET state = $3, retired_at = genesis.now(), changed_in = pg_current_xact_id()::text::bigint
        WHERE workspace_id = $1 AND agent_id = $2
        "#,
        workspace.as_str(),
        id.as_uuid(),
        word(State::Retired),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Notes how many settlements there are of a draining agent. Whoever is not draining never was told to.
pub(crate) async fn note_drained(
    conn: &mut PgConnection,
    workspace: &str,
    id: AgentId,
    settled: i64,
) -> Result<(), Error> {
    sqlx::query!(
        r#"
        UPDATE genesis.agent
        SET settled_in_all = $3
        WHERE workspace_id = $1 AND agent_id = $2 AND state = 'draining'
        "#,
        workspace,
        id.as_uuid(),
        settled,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// An agent whose life can be composted.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) workspace: String,
    pub(crate) id: AgentId,
}

/// Draining agents whose every settlement is known, or that have waited for a day. Those that waited longest come first.
pub(crate) async fn due(conn: &mut PgConnection, limit: i64) -> Result<Vec<Due>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT a.workspace_id, a.agent_id
        FROM genesis.agent a
        LEFT JOIN genesis.evidence e ON e.workspace_id = a.workspace_id AND e.agent_id = a.agent_id
        WHERE a.state = 'draining'
          AND (a.settled_in_all <= coalesce(e.settled, 0)
               OR a.draining_at <= genesis.now() - interval '24 hours')
        ORDER BY a.draining_at
        LIMIT $1
        "#,
        limit,
    )
    .fetch_all(conn)
    .await?;
    let due = rows.into_iter().map(|row| Due {
        workspace: row.workspace_id,
        id: AgentId::from_uuid(row.agent_id),
    });
    Ok(due.collect())
}

/// What an agent added to its own record, and how many settlements there are of it, if that was said.
#[derive(Debug)]
pub(crate) struct LastWords {
    pub(crate) failures: Vec<String>,
    pub(crate) hints: Vec<String>,
    pub(crate) settled_in_all: Option<i64>,
}

/// Of an agent that is draining; nothing of any other. Its row is locked by the caller.
pub(crate) async fn last_words(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: AgentId,
) -> Result<Option<LastWords>, Error> {
    let words = sqlx::query_as!(
        LastWords,
        r#"
        SELECT added_failures AS failures, added_hints AS hints, settled_in_all
        FROM genesis.agent
        WHERE workspace_id = $1 AND agent_id = $2 AND state = 'draining'
        "#,
        workspace.as_str(),
        id.as_uuid(),
    );
    Ok(words.fetch_optional(conn).await?)
}

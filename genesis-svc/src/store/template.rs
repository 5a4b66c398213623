//! Table `genesis.template`: of each template, what changes with the lives of its agents.

use cambium_genesis::{Capabilities, TemplateName};
use cambium_kernel::WorkspaceId;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

/// A template beside what its versions say.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) version: i32,
    pub(crate) live_agents: i32,
    pub(crate) composts: i64,
    /// What a spawn copies.
    pub(crate) learnings: String,
}

/// Makes the row of a new template, locked; says no if there is one.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &TemplateName,
) -> Result<bool, Error> {
    let done = sqlx::query!(
        r#"
        INSERT INTO genesis.template (workspace_id, name, version)
        VALUES ($1, $2, 1)
        ON CONFLICT ON CONSTRAINT template_pk DO NOTHING
        "#,
        workspace.as_str(),
        name.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Keeps other writers away from a template until the transaction ends.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &TemplateName,
) -> Result<Head, Error> {
    let head = sqlx::query_as!(
        Head,
        r#"
        SELECT version, live_agents, composts, learnings
        FROM genesis.template
        WHERE workspace_id = $1 AND name = $2
        FOR UPDATE
        "#,
        workspace.as_str(),
        name.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    head.ok_or_else(|| Error::NoTemplate(name.clone()))
}

/// Keeps other writers away from the templates of these agents.
pub(crate) async fn lock_of(
    conn: &mut PgConnection,
    workspaces: &[String],
    agents: &[Uuid],
) -> Result<(), Error> {
    let names = sqlx::query!(
        r#"
        SELECT DISTINCT a.workspace_id, a.template AS "template!"
        FROM genesis.agent a
        WHERE a.workspace_id = ANY($1) AND a.agent_id = ANY($2) AND a.template IS NOT NULL
        "#,
        workspaces,
        agents,
    )
    .fetch_all(&mut *conn)
    .await?;
    let (workspaces, names): (Vec<String>, Vec<String>) = names
        .into_iter()
        .map(|row| (row.workspace_id, row.template))
        .unzip();
    let locked = sqlx::query!(
        r#"
        SELECT t.name
        FROM genesis.template t
        WHERE t.workspace_id = ANY($1) AND t.name = ANY($2)
        ORDER BY t.workspace_id, t.name
        FOR UPDATE
        "#,
        &workspaces,
        &names,
    );
    locked.fetch_all(conn).await?;
    Ok(())
}

/// How a template stands, without a lock.
pub(crate) async fn head(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &TemplateName,
) -> Result<Head, Error> {
    let head = sqlx::query_as!(
        Head,
        r#"
        SELECT version, live_agents, composts, learnings
        FROM genesis.template
        WHERE workspace_id = $1 AND name = $2
        "#,
        workspace.as_str(),
        name.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    head.ok_or_else(|| Error::NoTemplate(name.clone()))
}

/// The first template, by name, whose current version offers all of these.
pub(crate) async fn offering(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    wanted: &Capabilities,
) -> Result<TemplateName, Error> {
    let names: Vec<String> = wanted.iter().map(str::to_owned).collect();
    let found = sqlx::query_scalar!(
        r#"
        SELECT t.name
        FROM genesis.template t
        JOIN genesis.template_version v USING (workspace_id, name, version)
        WHERE t.workspace_id = $1 AND v.capabilities @> $2
        ORDER BY t.name
        LIMIT 1
        "#,
        workspace.as_str(),
        &names,
    )
    .fetch_optional(conn)
    .await?;
    let name = found.ok_or_else(|| Error::NoOffer(wanted.clone()))?;
    Ok(TemplateName::parse(&name)?)
}

pub(crate) async fn set_version(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &TemplateName,
    version: i32,
) -> Result<(), Error> {
    sqlx::query!(
        "UPDATE genesis.template SET version = $3 WHERE workspace_id = $1 AND name = $2",
        workspace.as_str(),
        name.as_str(),
        version,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Counts agents that have not retired, and spawns that wait.
pub(crate) async fn count_live(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &TemplateName,
    by: i32,
) -> Result<(), Error> {
    sqlx::query!(
        "UPDATE genesis.template SET live_agents = live_agents + $3 WHERE workspace_id = $1 AND name = $2",
        workspace.as_str(),
        name.as_str(),
        by,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// One of its agents was composted: the others that live are one fewer.
pub(crate) async fn count_compost(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &TemplateName,
) -> Result<(), Error> {
    sqlx::query!(
        r#"
        UPDATE genesis.template
        SET composts = composts + 1, live_agents = live_agents - 1
        WHERE workspace_id = $1 AND name = $2
        "#,
        workspace.as_str(),
        name.as_str(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What the next spawns copy.
pub(crate) async fn set_learnings(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &TemplateName,
    learnings: &str,
) -> Result<(), Error> {
    sqlx::query!(
        "UPDATE genesis.template SET learnings = $3 WHERE workspace_id = $1 AND name = $2",
        workspace.as_str(),
        name.as_str(),
        learnings,
    )
    .execute(conn)
    .await?;
    Ok(())
}

//! Graphs: contents by hash, versions by name.

use cambium_kernel::WorkspaceId;
use sqlx::PgConnection;

use super::engine::signed;

/// One version of a named graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) version: i32,
    pub(crate) hash: Vec<u8>,
    pub(crate) nodes: i32,
    pub(crate) edges: i32,
}

pub(crate) async fn spec(
    conn: &mut PgConnection,
    hash: &[u8],
) -> Result<Option<Vec<u8>>, sqlx::Error> {
    let row = sqlx::query!(r#"SELECT spec FROM hypha.graph_spec WHERE hash = $1"#, hash)
        .fetch_optional(conn)
        .await?;
    Ok(row.map(|row| row.spec))
}

pub(crate) async fn insert_spec(
    conn: &mut PgConnection,
    hash: &[u8],
    spec: &[u8],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"INSERT INTO hypha.graph_spec (hash, spec) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING"#,
        hash,
        spec,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Puts are numbered one at a time within a name.
pub(crate) async fn lock_name(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"SELECT pg_advisory_xact_lock(hashtextextended($1 || chr(10) || $2, 0)) AS "locked: ()""#,
        workspace.as_str(),
        name,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn by_content(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &str,
    hash: &[u8],
) -> Result<Option<Version>, sqlx::Error> {
    sqlx::query_as!(
        Version,
        r#"
        SELECT name, version, hash, nodes, edges FROM hypha.graph
        WHERE workspace_id = $1 AND name = $2 AND hash = $3
        "#,
        workspace.as_str(),
        name,
        hash,
    )
    .fetch_optional(conn)
    .await
}

/// Adds the next version. The caller holds the name's lock.
pub(crate) async fn insert_next(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &str,
    hash: &[u8],
    nodes: u32,
    edges: u32,
) -> Result<Version, sqlx::Error> {
    sqlx::query_as!(
        Version,
        r#"
        INSERT INTO hypha.graph (workspace_id, name, version, hash, nodes, edges, created_at)
        SELECT $1, $2, coalesce(max(version), 0) + 1, $3, $4, $5, hypha.now()
        FROM hypha.graph WHERE workspace_id = $1 AND name = $2
        RETURNING name, version, hash, nodes, edges
        "#,
        workspace.as_str(),
        name,
        hash,
        signed(nodes),
        signed(edges),
    )
    .fetch_one(conn)
    .await
}

/// A version, or the newest for 0.
pub(crate) async fn version(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &str,
    version: u32,
) -> Result<Option<Version>, sqlx::Error> {
    sqlx::query_as!(
        Version,
        r#"
        SELECT name, version, hash, nodes, edges FROM hypha.graph
        WHERE workspace_id = $1 AND name = $2 AND ($3 = 0 OR version = $3)
        ORDER BY version DESC LIMIT 1
        "#,
        workspace.as_str(),
        name,
        signed(version),
    )
    .fetch_optional(conn)
    .await
}

/// Newest versions by name, after a name.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    after: &str,
    most: i64,
) -> Result<Vec<Version>, sqlx::Error> {
    sqlx::query_as!(
        Version,
        r#"
        SELECT DISTINCT ON (name) name, version, hash, nodes, edges FROM hypha.graph
        WHERE workspace_id = $1 AND name > $2
        ORDER BY name, version DESC LIMIT $3
        "#,
        workspace.as_str(),
        after,
        most,
    )
    .fetch_all(conn)
    .await
}

//! Runs whose parent was told to stop, until they are told too.

use cambium_kernel::RunId;
use sqlx::PgConnection;

/// Remembers the children of a run that are still going on. The caller holds the run's lock, as whoever starts a child does.
pub(crate) async fn add(
    conn: &mut PgConnection,
    parent: RunId,
    grace_ms: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        INSERT INTO hypha.orphan (run_id, grace_ms)
        SELECT run_id, $2 FROM hypha.run WHERE parent_run_id = $1 AND state = 1
        ON CONFLICT (run_id) DO NOTHING
        "#,
        parent.as_uuid(),
        grace_ms,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn list(conn: &mut PgConnection, most: i64) -> Result<Vec<RunId>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT run_id FROM hypha.orphan ORDER BY run_id LIMIT $1"#,
        most,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| RunId::from_uuid(row.run_id))
        .collect())
}

/// Takes one out, for whoever stops it in this transaction; none if another did. Answers the grace of its running tasks.
pub(crate) async fn take(conn: &mut PgConnection, run: RunId) -> Result<Option<i64>, sqlx::Error> {
    let row = sqlx::query!(
        r#"DELETE FROM hypha.orphan WHERE run_id = $1 RETURNING grace_ms"#,
        run.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| row.grace_ms))
}

//! Signals to runs that no task has taken yet.

use cambium_kernel::{RunId, WorkspaceId};
use sqlx::PgConnection;

/// A signal to keep.
#[derive(Clone, Debug)]
pub(crate) struct New<'a> {
    pub(crate) workspace: &'a str,
    /// None: sent to a key ahead of its run.
    pub(crate) run: Option<RunId>,
    pub(crate) request_key: &'a str,
    pub(crate) name: &'a str,
    pub(crate) payload: &'a [u8],
}

pub(crate) async fn insert(conn: &mut PgConnection, new: &New<'_>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        INSERT INTO hypha.signal (workspace_id, run_id, request_key, name, payload, at)
        VALUES ($1, $2, $3, $4, $5, hypha.now())
        "#,
        new.workspace,
        new.run.map(RunId::as_uuid),
        new.request_key,
        new.name,
        new.payload,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How many signals wait for a key that has no run.
pub(crate) async fn count_ahead(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    key: &str,
) -> Result<i64, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT count(*) AS "waiting!" FROM hypha.signal
        WHERE workspace_id = $1 AND request_key = $2 AND run_id IS NULL
        "#,
        workspace.as_str(),
        key,
    )
    .fetch_one(conn)
    .await?;
    Ok(row.waiting)
}

/// Takes the oldest signal of a name, if there is one.
pub(crate) async fn take(
    conn: &mut PgConnection,
    run: RunId,
    name: &str,
) -> Result<Option<Vec<u8>>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        DELETE FROM hypha.signal WHERE signal_no = (
            SELECT signal_no FROM hypha.signal WHERE run_id = $1 AND name = $2 ORDER BY signal_no LIMIT 1
        )
        RETURNING payload
        "#,
        run.as_uuid(),
        name,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| row.payload))
}

/// Gives a run the signals that were sent to its key ahead of it.
pub(crate) async fn attach_to(conn: &mut PgConnection, run: RunId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        UPDATE hypha.signal s SET run_id = $1
        WHERE s.run_id IS NULL
          AND (s.workspace_id, s.request_key) = (SELECT r.workspace_id, r.request_key FROM hypha.run r WHERE r.run_id = $1)
        "#,
        run.as_uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Gives signals sent ahead to the runs that have started since. Returns how many.
pub(crate) async fn attach(conn: &mut PgConnection) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        r#"
        UPDATE hypha.signal s SET run_id = r.run_id FROM hypha.run r
        WHERE s.run_id IS NULL AND r.workspace_id = s.workspace_id AND r.request_key = s.request_key
        "#,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Parked tasks for which a signal waits: run and name.
pub(crate) async fn deliverable(
    conn: &mut PgConnection,
    most: i64,
) -> Result<Vec<(RunId, String)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT DISTINCT s.run_id AS "run_id!", s.name
        FROM hypha.signal s
        JOIN hypha.park p ON p.run_id = s.run_id AND p.signal = s.name AND p.payload IS NULL AND NOT p.timed_out
        JOIN hypha.hot h ON h.run_id = p.run_id AND h.n = p.n AND h.i = p.i AND h.state = 3
        LIMIT $1
        "#,
        most,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (RunId::from_uuid(row.run_id), row.name))
        .collect())
}

/// Forgets up to `most` signals that were sent to keys nobody started within a week; tells how many.
pub(crate) async fn forget(conn: &mut PgConnection, most: i64) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM hypha.signal s
        USING (
            SELECT signal_no FROM hypha.signal
            WHERE run_id IS NULL AND at < hypha.now() - interval '7 days'
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE s.signal_no = old.signal_no
        "#,
        most,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

//! What is past its time and nobody asks for again: replies after a day, signals after thirty, events after a day or a
//! hundred thousand others.

use sqlx::PgConnection;

use crate::error::Error;

/// Forgets up to `limit` replies that were given over a day ago; tells how many.
pub(crate) async fn receipts(conn: &mut PgConnection, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM stigmergy.receipt r
        USING (
            SELECT scope, request_id FROM stigmergy.receipt
            WHERE created_at < (SELECT stigmergy.now()) - interval '24 hours'
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE r.scope = old.scope AND r.request_id = old.request_id
        "#,
        limit,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Forgets up to `limit` signals that were applied over thirty days ago; tells how many.
pub(crate) async fn inbox(conn: &mut PgConnection, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM stigmergy.inbox i
        USING (
            SELECT signal_id FROM stigmergy.inbox
            WHERE applied_at < (SELECT stigmergy.now()) - interval '30 days'
            ORDER BY applied_at
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE i.signal_id = old.signal_id
        "#,
        limit,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// The workspaces that have ever had an event, a part at a time.
pub(crate) async fn workspaces(
    conn: &mut PgConnection,
    after: &str,
    limit: i64,
) -> Result<Vec<String>, Error> {
    let names = sqlx::query_scalar!(
        "SELECT workspace_id FROM stigmergy.workspace WHERE workspace_id > $1 ORDER BY workspace_id LIMIT $2",
        after,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(names)
}

/// Forgets the oldest events of a workspace, up to `limit` of them; tells how many. What is left has no gap.
pub(crate) async fn events(
    conn: &mut PgConnection,
    workspace: &str,
    keep: i64,
    limit: i64,
) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM stigmergy.marker_event e
        WHERE e.workspace_id = $1 AND e.seq <= (
            SELECT max(oldest.seq)
            FROM (
                SELECT o.seq, o.at FROM stigmergy.marker_event o
                WHERE o.workspace_id = $1 ORDER BY o.seq LIMIT $3
            ) oldest
            WHERE oldest.at < (SELECT stigmergy.now()) - interval '24 hours'
               OR oldest.seq <= (SELECT w.last_seq FROM stigmergy.workspace w WHERE w.workspace_id = $1) - $2
        )
        "#,
        workspace,
        keep,
        limit,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

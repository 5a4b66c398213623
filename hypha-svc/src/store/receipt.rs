//! Table `hypha.receipt`, as far as `service-kit` does not keep it: when a reply is forgotten.

use sqlx::PgConnection;

/// Forgets up to `most` replies that were given over a day ago; tells how many.
pub(crate) async fn forget(conn: &mut PgConnection, most: i64) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM hypha.receipt r
        USING (
            SELECT scope, request_id FROM hypha.receipt
            WHERE created_at < hypha.now() - interval '24 hours'
            ORDER BY created_at LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE r.scope = old.scope AND r.request_id = old.request_id
        "#,
        most,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

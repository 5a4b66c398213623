//! Table `hypha.inbox`, as far as `service-kit` does not keep it: when a signal's number is forgotten.

use sqlx::PgConnection;

/// Forgets up to `most` signals that were applied over thirty days ago; tells how many.
pub(crate) async fn forget(conn: &mut PgConnection, most: i64) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM hypha.inbox i
        USING (
            SELECT signal_id FROM hypha.inbox
            WHERE applied_at < hypha.now() - interval '30 days'
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE i.signal_id = old.signal_id
        "#,
        most,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

//! Table `genesis.inbox`, as far as `service-kit` does not keep it: when a signal is forgotten.

use sqlx::PgPool;

use crate::error::Error;

/// Forgets up to `limit` signals that were applied over 30 days ago; tells how many.
pub(crate) async fn forget(pool: &PgPool, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM genesis.inbox i
        USING (
            SELECT signal_id
            FROM genesis.inbox
            WHERE applied_at < genesis.now() - interval '30 days'
            ORDER BY applied_at
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE i.signal_id = old.signal_id
        "#,
        limit,
    )
    .execute(pool)
    .await?;
    Ok(done.rows_affected())
}

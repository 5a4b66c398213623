//! Table `immune.inbox`, as far as `service-kit` does not keep it: when a signal's number is forgotten.

use sqlx::PgPool;

use crate::error::Error;

/// Forgets up to `limit` signals that were applied over thirty days ago; tells how many.
pub(crate) async fn forget(pool: &PgPool, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM immune.inbox i
        USING (
            SELECT signal_id FROM immune.inbox
            WHERE applied_at < immune.now() - interval '30 days'
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

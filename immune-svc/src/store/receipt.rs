//! Table `immune.receipt`, as far as `service-kit` does not keep it: when a reply is forgotten.

use sqlx::PgPool;

use crate::error::Error;

/// Forgets up to `limit` replies that were given over a day ago; tells how many.
pub(crate) async fn forget(pool: &PgPool, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM immune.receipt r
        USING (
            SELECT scope, request_id
            FROM immune.receipt
            WHERE created_at < immune.now() - interval '24 hours'
            ORDER BY created_at
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE r.scope = old.scope AND r.request_id = old.request_id
        "#,
        limit,
    )
    .execute(pool)
    .await?;
    Ok(done.rows_affected())
}

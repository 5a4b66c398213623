//! One receiver's rows: claimed for a while, and deleted once delivered. A claim that nobody ends runs out.

use sqlx::{AssertSqlSafe, FromRow, PgPool};

use crate::database::Error;

/// At most so many rows at once.
const CLAIM: i64 = 32;

/// Always true. The statement's own transaction commits without waiting for the disk.
const LAZILY: &str = "(SELECT set_config('synchronous_commit', 'off', true)) = 'off'";

#[derive(Debug, FromRow)]
pub(super) struct Claimed {
    pub(super) id: i64,
    pub(super) body: Vec<u8>,
    pub(super) attempts: i32,
}

#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) pool: PgPool,
    pub(super) schema: &'static str,
    pub(super) receiver: &'static str,
}

impl Queue {
    /// Takes what is due and nobody else is at, for a minute. The transaction ends here: delivery has none.
    ///
    /// Neither this commit nor that of [`Queue::delete`] waits for the disk: a crash that undoes them only delivers again.
    pub(super) async fn claim(&self) -> Result<Vec<Claimed>, Error> {
        let schema = self.schema;
        let claim = format!(
            "WITH due AS MATERIALIZED (
                 SELECT id FROM {schema}.outbox
                 WHERE receiver = $1 AND next_at <= {schema}.now() AND {LAZILY}
                 ORDER BY id LIMIT $2
                 FOR UPDATE SKIP LOCKED -- another relay's rows are being taken care of
             )
             UPDATE {schema}.outbox AS row
             SET next_at = {schema}.now() + interval '60 seconds', attempts = row.attempts + 1
             FROM due WHERE row.id = due.id
             RETURNING row.id, row.body, row.attempts"
        );
        let query = sqlx::query_as(AssertSqlSafe(claim))
            .bind(self.receiver)
            .bind(CLAIM);
        let mut rows: Vec<Claimed> = query.fetch_all(&self.pool).await?;
        rows.sort_unstable_by_key(|row| row.id);
        Ok(rows)
    }

    /// Whether a claim that came to so many rows may have left some.
    pub(super) fn may_have_more(claimed: usize) -> bool {
        i64::try_from(claimed).is_ok_and(|claimed| claimed >= CLAIM)
    }

    pub(super) async fn delete(&self, ids: &[i64]) -> Result<(), Error> {
        let delete = format!(
            "DELETE FROM {}.outbox WHERE id = ANY($1) AND {LAZILY}",
            self.schema
        );
        sqlx::query(AssertSqlSafe(delete))
            .bind(ids)
            .execute(&self.pool)
            .await?;
        Ok(())
    }

    /// Gives rows back before their claim runs out: they are due in `seconds`.
    pub(super) async fn postpone(&self, ids: &[i64], seconds: f64) -> Result<(), Error> {
        let schema = self.schema;
        let postpone = format!(
            "UPDATE {schema}.outbox SET next_at = {schema}.now() + make_interval(secs => $2) WHERE id = ANY($1)"
        );
        sqlx::query(AssertSqlSafe(postpone))
            .bind(ids)
            .bind(seconds)
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}

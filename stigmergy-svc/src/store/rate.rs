//! Table `stigmergy.rate`, beside what batches do with it: whether immune is told, and when a window is forgotten.

use sqlx::PgConnection;

use crate::error::Error;

/// Who ran into the limit, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Refused {
    pub(crate) workspace: String,
    pub(crate) author: String,
    pub(crate) region: String,
}

/// Those of whom immune is to be told now: not told of within ten seconds. They count as told from here on.
pub(crate) async fn tell(
    conn: &mut PgConnection,
    refused: &[Refused],
) -> Result<Vec<Refused>, Error> {
    let of = |part: fn(&Refused) -> &str| refused.iter().map(part).collect::<Vec<_>>();
    let told = sqlx::query_as!(
        Refused,
        r#"
        WITH due AS MATERIALIZED (
            SELECT r.workspace_id, r.author, r.region, n.now
            FROM unnest($1::text[], $2::text[], $3::text[]) AS o (workspace_id, author, region)
            JOIN stigmergy.rate r USING (workspace_id, author, region)
            CROSS JOIN (SELECT stigmergy.now() AS now OFFSET 0) n
            -- A time ahead of us is a clock's that was set back.
            WHERE r.told_at IS NULL OR r.told_at NOT BETWEEN n.now - interval '10 seconds' AND n.now
            ORDER BY workspace_id, author, region
            FOR UPDATE OF r -- once it is ours, it is as we see it: another replica may have told meanwhile
        )
        UPDATE stigmergy.rate r SET told_at = due.now
        FROM due
        WHERE r.workspace_id = due.workspace_id AND r.author = due.author AND r.region = due.region
        RETURNING r.workspace_id AS workspace, r.author, r.region
        "#,
        &of(|r| &r.workspace) as _,
        &of(|r| &r.author) as _,
        &of(|r| &r.region) as _,
    )
    .fetch_all(conn)
    .await?;
    Ok(told)
}

/// Forgets up to `limit` windows that nobody can run into any more; tells how many.
pub(crate) async fn forget(conn: &mut PgConnection, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM stigmergy.rate
        WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM stigmergy.rate
            WHERE accepted[cardinality(accepted)] < (SELECT stigmergy.now()) - interval '1 minute'
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- whoever holds it is using it
        ))
          AND accepted[cardinality(accepted)] < (SELECT stigmergy.now()) - interval '1 minute'
        "#,
        limit,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

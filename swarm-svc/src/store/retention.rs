//! What is forgotten, and when: replies after a day, signals after thirty, the audit and what watches sent after 400 days.
//! Of a log that is replayed, one `base` row stays for each key, with the value so far.

use sqlx::{PgConnection, PgPool};

use crate::error::Error;

/// Whose log it is.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) workspace: String,
    /// Empty for a swarm's.
    pub(crate) instance: String,
}

/// Forgets up to `limit` replies that were given over a day ago; tells how many.
pub(crate) async fn receipts(pool: &PgPool, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM swarm.receipt r
        USING (
            SELECT scope, request_id
            FROM swarm.receipt
            WHERE created_at < swarm.now() - interval '24 hours'
            ORDER BY created_at
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE r.scope = old.scope AND r.request_id = old.request_id
        "#,
        limit,
    );
    Ok(done.execute(pool).await?.rows_affected())
}

/// Forgets up to `limit` signals that were applied over 30 days ago; tells how many.
pub(crate) async fn inbox(pool: &PgPool, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM swarm.inbox i
        USING (
            SELECT signal_id
            FROM swarm.inbox
            WHERE applied_at < swarm.now() - interval '30 days'
            ORDER BY applied_at
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE i.signal_id = old.signal_id
        "#,
        limit,
    );
    Ok(done.execute(pool).await?.rows_affected())
}

/// Forgets up to `limit` lines of the audit that are over 400 days old; tells how many.
pub(crate) async fn audit(pool: &PgPool, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM swarm.audit a
        USING (
            SELECT workspace_id, seq
            FROM swarm.audit
            WHERE at < swarm.now() - interval '400 days'
            ORDER BY at
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE a.workspace_id = old.workspace_id AND a.seq = old.seq
        "#,
        limit,
    );
    Ok(done.execute(pool).await?.rows_affected())
}

/// Forgets up to `limit` events that are over 400 days old; tells how many.
pub(crate) async fn events(pool: &PgPool, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM swarm.event e
        USING (
            SELECT workspace_id, seq
            FROM swarm.event
            WHERE at < swarm.now() - interval '400 days'
            ORDER BY at
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE e.workspace_id = old.workspace_id AND e.seq = old.seq
        "#,
        limit,
    );
    Ok(done.execute(pool).await?.rows_affected())
}

/// Whether nobody else is thinning logs; nobody will be until the transaction ends. Two at once would leave two base rows.
pub(crate) async fn is_alone(conn: &mut PgConnection) -> Result<bool, Error> {
    let alone = sqlx::query_scalar!(
        r#"SELECT pg_try_advisory_xact_lock(hashtext('swarm.retention')) AS "alone!""#
    );
    Ok(alone.fetch_one(conn).await?)
}

/// Up to `limit` swarms whose bucket's log begins with what is over 400 days old.
pub(crate) async fn old_buckets(pool: &PgPool, limit: i64) -> Result<Vec<Key>, Error> {
    let keys = sqlx::query_as!(
        Key,
        r#"
        SELECT h.workspace_id AS workspace, '' AS "instance!"
        FROM swarm.log_head h
        CROSS JOIN LATERAL (
            SELECT e.at
            FROM swarm.bucket_event e
            WHERE e.workspace_id = h.workspace_id AND e.kind <> 'base'
            ORDER BY e.seq
            LIMIT 1
        ) first
        WHERE h.log = 'bucket' AND first.at < swarm.now() - interval '400 days'
        LIMIT $1
        "#,
        limit,
    );
    Ok(keys.fetch_all(pool).await?)
}

/// Up to `limit` minds whose clock's log begins with what is over 400 days old.
pub(crate) async fn old_clocks(pool: &PgPool, limit: i64) -> Result<Vec<Key>, Error> {
    let keys = sqlx::query_as!(
        Key,
        r#"
        SELECT h.workspace_id AS workspace, substr(h.log, 7) AS "instance!"
        FROM swarm.log_head h
        CROSS JOIN LATERAL (
            SELECT e.at
            FROM swarm.vtime_event e
            WHERE e.workspace_id = h.workspace_id AND e.instance = substr(h.log, 7) AND e.kind <> 'base'
            ORDER BY e.seq
            LIMIT 1
        ) first
        WHERE h.log LIKE 'vtime:%' AND first.at < swarm.now() - interval '400 days'
        LIMIT $1
        "#,
        limit,
    );
    Ok(keys.fetch_all(pool).await?)
}

/// Takes up to `limit` old rows off the beginning of a bucket's log, and leaves one that says where they led.
pub(crate) async fn bucket(conn: &mut PgConnection, key: &Key, limit: i64) -> Result<(), Error> {
    let gone = sqlx::query!(
        r#"
        DELETE FROM swarm.bucket_event e
        USING (
            SELECT seq
            FROM swarm.bucket_event
            WHERE workspace_id = $1
              AND seq < coalesce(
                  (
                      SELECT seq
                      FROM swarm.bucket_event
                      WHERE workspace_id = $1 AND at >= swarm.now() - interval '400 days'
                      ORDER BY seq
                      LIMIT 1
                  ),
                  9223372036854775807
              )
            ORDER BY seq
            LIMIT $2
            FOR UPDATE
        ) old
        WHERE e.workspace_id = $1 AND e.seq = old.seq
        RETURNING e.seq, e.after, e.at
        "#,
        key.workspace,
        limit,
    );
    let gone = gone.fetch_all(&mut *conn).await?;
    let Some(last) = gone.into_iter().max_by_key(|row| row.seq) else {
        return Ok(());
    };
    let base = sqlx::query!(
        r#"
        INSERT INTO swarm.bucket_event (workspace_id, seq, kind, before, after, at)
        VALUES ($1, $2, 'base', $3, $3, $4)
        "#,
        key.workspace,
        last.seq,
        last.after,
        last.at,
    );
    base.execute(conn).await?;
    Ok(())
}

/// Takes up to `limit` old rows off the beginning of a mind's clock's log, and leaves one that says where they led.
pub(crate) async fn clock(conn: &mut PgConnection, key: &Key, limit: i64) -> Result<(), Error> {
    let gone = sqlx::query!(
        r#"
        DELETE FROM swarm.vtime_event e
        USING (
            SELECT seq
            FROM swarm.vtime_event
            WHERE workspace_id = $1 AND instance = $2
              AND seq < coalesce(
                  (
                      SELECT seq
                      FROM swarm.vtime_event
                      WHERE workspace_id = $1 AND instance = $2 AND at >= swarm.now() - interval '400 days'
                      ORDER BY seq
                      LIMIT 1
                  ),
                  9223372036854775807
              )
            ORDER BY seq
            LIMIT $3
            FOR UPDATE
        ) old
        WHERE e.workspace_id = $1 AND e.instance = $2 AND e.seq = old.seq
        RETURNING e.seq, e.n, e.after, e.at
        "#,
        key.workspace,
        key.instance,
        limit,
    );
    let gone = gone.fetch_all(&mut *conn).await?;
    let Some(last) = gone.into_iter().max_by_key(|row| row.seq) else {
        return Ok(());
    };
    let base = sqlx::query!(
        r#"
        INSERT INTO swarm.vtime_event (workspace_id, instance, seq, n, kind, before, after, at)
        VALUES ($1, $2, $3, $4, 'base', $5, $5, $6)
        "#,
        key.workspace,
        key.instance,
        last.seq,
        last.n,
        last.after,
        last.at,
    );
    base.execute(conn).await?;
    Ok(())
}

//! What is past its time: ended runs, their events, and what deleted runs leave behind, a few rows at a time.
//! Rows are deleted by their place in the table, looked up by key: no plan makes a large table be read through.

use cambium_kernel::RunId;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::engine::unsigned;

/// A run as far as its age goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aged {
    pub(crate) run: RunId,
    pub(crate) ended_at: Option<DateTime<Utc>>,
    /// Days kept past its end, where its graph says.
    pub(crate) retain_days: Option<u32>,
}

/// Up to `most` runs after a place, in the order of their ids, which is about that of their starts.
pub(crate) async fn after(
    conn: &mut PgConnection,
    after: Option<RunId>,
    most: i64,
) -> Result<Vec<Aged>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT run_id, ended_at, retain_days FROM hypha.run WHERE run_id > $1 ORDER BY run_id LIMIT $2"#,
        after.map_or(Uuid::nil(), RunId::as_uuid),
        most,
    )
    .fetch_all(conn)
    .await?;
    let runs = rows.into_iter().map(|row| Aged {
        run: RunId::from_uuid(row.run_id),
        ended_at: row.ended_at,
        retain_days: row.retain_days.map(|days| unsigned(days.into())),
    });
    Ok(runs.collect())
}

/// Deletes up to `most` events of these runs; tells how many.
pub(crate) async fn delete_events(
    conn: &mut PgConnection,
    runs: &[Uuid],
    most: i64,
) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM hypha.event WHERE ctid = ANY (ARRAY(
            SELECT old.ctid FROM unnest($1::uuid[]) AS u (run_id) CROSS JOIN LATERAL (
                SELECT e.ctid FROM hypha.event e WHERE e.run_id = u.run_id ORDER BY e.seq LIMIT $2
            ) old
            LIMIT $2
        ))
        "#,
        runs,
        most,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes the own rows of those of the runs that have ended and that nobody else holds, and notes that the rest of
/// theirs is to go. Answers which they are.
pub(crate) async fn delete_runs(
    conn: &mut PgConnection,
    runs: &[Uuid],
) -> Result<Vec<RunId>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        WITH deleted AS (
            DELETE FROM hypha.run r USING (
                SELECT o.run_id FROM hypha.run o
                WHERE o.run_id = ANY ($1) AND o.ended_at IS NOT NULL
                  AND NOT EXISTS (SELECT 1 FROM hypha.hot h WHERE h.run_id = o.run_id) -- the sweep must find its run
                FOR UPDATE OF o SKIP LOCKED -- another replica may be deleting too
            ) old
            WHERE r.run_id = old.run_id
            RETURNING r.run_id
        )
        INSERT INTO hypha.gone (run_id) SELECT run_id FROM deleted RETURNING run_id
        "#,
        runs,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| RunId::from_uuid(row.run_id))
        .collect())
}

/// Takes up to `most` deleted runs whose rest is still there, to the end of the transaction.
pub(crate) async fn take_gone(
    conn: &mut PgConnection,
    most: i64,
) -> Result<Vec<Uuid>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT run_id FROM hypha.gone ORDER BY run_id LIMIT $1 FOR UPDATE SKIP LOCKED"#,
        most,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| row.run_id).collect())
}

/// How many rows of a table one statement deletes, at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Most {
    pub(crate) narrow: i64,
    /// Of tables whose rows may hold a megabyte each.
    pub(crate) wide: i64,
}

/// Deletes rows of these deleted runs; tells whether there may be more.
pub(crate) async fn delete_rest(
    conn: &mut PgConnection,
    runs: &[Uuid],
    most: Most,
) -> Result<bool, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        WITH runs AS MATERIALIZED (
            SELECT run_id FROM unnest($1::uuid[]) AS u (run_id)
        ), ends AS (
            DELETE FROM hypha.task_end WHERE ctid = ANY (ARRAY(
                SELECT old.ctid FROM runs CROSS JOIN LATERAL (
                    SELECT t.ctid FROM hypha.task_end t WHERE t.run_id = runs.run_id ORDER BY t.n, t.i LIMIT $3
                ) old LIMIT $3)) RETURNING 1
        ), parks AS (
            DELETE FROM hypha.park WHERE ctid = ANY (ARRAY(
                SELECT old.ctid FROM runs CROSS JOIN LATERAL (
                    SELECT t.ctid FROM hypha.park t WHERE t.run_id = runs.run_id ORDER BY t.n, t.i LIMIT $3
                ) old LIMIT $3)) RETURNING 1
        ), signals AS (
            DELETE FROM hypha.signal WHERE ctid = ANY (ARRAY(
                SELECT old.ctid FROM runs CROSS JOIN LATERAL (
                    SELECT t.ctid FROM hypha.signal t WHERE t.run_id = runs.run_id ORDER BY t.name LIMIT $3
                ) old LIMIT $3)) RETURNING 1
        ), attempts AS (
            DELETE FROM hypha.attempt WHERE ctid = ANY (ARRAY(
                SELECT old.ctid FROM runs CROSS JOIN LATERAL (
                    SELECT t.ctid FROM hypha.attempt t WHERE t.run_id = runs.run_id ORDER BY t.n, t.i, t.epoch LIMIT $2
                ) old LIMIT $2)) RETURNING 1
        ), events AS (
            DELETE FROM hypha.event WHERE ctid = ANY (ARRAY(
                SELECT old.ctid FROM runs CROSS JOIN LATERAL (
                    SELECT t.ctid FROM hypha.event t WHERE t.run_id = runs.run_id ORDER BY t.seq LIMIT $2
                ) old LIMIT $2)) RETURNING 1
        ), items AS (
            DELETE FROM hypha.fan_item WHERE ctid = ANY (ARRAY(
                SELECT old.ctid FROM runs CROSS JOIN LATERAL (
                    SELECT t.ctid FROM hypha.fan_item t WHERE t.run_id = runs.run_id ORDER BY t.n, t.i LIMIT $2
                ) old LIMIT $2)) RETURNING 1
        ), fans AS (
            DELETE FROM hypha.fan WHERE ctid = ANY (ARRAY(
                SELECT old.ctid FROM runs CROSS JOIN LATERAL (
                    SELECT t.ctid FROM hypha.fan t WHERE t.run_id = runs.run_id ORDER BY t.n LIMIT $2
                ) old LIMIT $2)) RETURNING 1
        ), tallies AS (
            DELETE FROM hypha.tally WHERE ctid = ANY (ARRAY(
                SELECT old.ctid FROM runs CROSS JOIN LATERAL (
                    SELECT t.ctid FROM hypha.tally t WHERE t.run_id = runs.run_id ORDER BY t.n LIMIT $2
                ) old LIMIT $2)) RETURNING 1
        ), arrivals AS (
            DELETE FROM hypha.arrival WHERE ctid = ANY (ARRAY(
                SELECT old.ctid FROM runs CROSS JOIN LATERAL (
                    SELECT t.ctid FROM hypha.arrival t WHERE t.run_id = runs.run_id ORDER BY t.n, t.edge LIMIT $2
                ) old LIMIT $2)) RETURNING 1
        )
        SELECT (SELECT count(*) FROM ends) >= $3 OR (SELECT count(*) FROM parks) >= $3
               OR (SELECT count(*) FROM signals) >= $3 OR (SELECT count(*) FROM attempts) >= $2
               OR (SELECT count(*) FROM events) >= $2 OR (SELECT count(*) FROM items) >= $2
               OR (SELECT count(*) FROM fans) >= $2 OR (SELECT count(*) FROM tallies) >= $2
               OR (SELECT count(*) FROM arrivals) >= $2 AS "more!"
        "#,
        runs,
        most.narrow,
        most.wide,
    )
    .fetch_one(conn)
    .await?;
    Ok(row.more)
}

/// Nothing of these deleted runs is left.
pub(crate) async fn forget_gone(conn: &mut PgConnection, runs: &[Uuid]) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        WITH asks AS (DELETE FROM hypha.spawn_ask WHERE run_id = ANY ($1))
        DELETE FROM hypha.gone WHERE run_id = ANY ($1)
        "#,
        runs,
    )
    .execute(conn)
    .await?;
    Ok(())
}

//! How far joins and fan-outs have come. Rows are written under the lock of their run.

use cambium_kernel::RunId;
use sqlx::PgConnection;

use super::engine::{TaskKey, signed, unsigned};

/// What a batch adds to a node's join.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delta {
    pub(crate) run: RunId,
    pub(crate) n: u32,
    pub(crate) fired: u32,
    pub(crate) dead: u32,
}

/// Adds to the tallies and returns them as they are then, in the deltas' order. A node may stand once in `deltas`.
pub(crate) async fn add(
    conn: &mut PgConnection,
    deltas: &[Delta],
) -> Result<Vec<Delta>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        INSERT INTO hypha.tally AS t (run_id, n, fired, dead)
        SELECT u.run_id, u.n, u.fired, u.dead
        FROM unnest($1::uuid[], $2::int[], $3::int[], $4::int[]) AS u (run_id, n, fired, dead)
        ORDER BY u.run_id, u.n
        ON CONFLICT (run_id, n) DO UPDATE SET fired = t.fired + excluded.fired, dead = t.dead + excluded.dead
        RETURNING run_id, n, fired, dead
        "#,
        &deltas.iter().map(|d| d.run.as_uuid()).collect::<Vec<_>>(),
        &deltas.iter().map(|d| signed(d.n)).collect::<Vec<_>>(),
        &deltas.iter().map(|d| signed(d.fired)).collect::<Vec<_>>(),
        &deltas.iter().map(|d| signed(d.dead)).collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await?;
    let after = rows.into_iter().map(|row| Delta {
        run: RunId::from_uuid(row.run_id),
        n: unsigned(row.n),
        fired: unsigned(row.fired),
        dead: unsigned(row.dead),
    });
    Ok(after.collect())
}

/// An edge that fired into a node which still waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) run: RunId,
    pub(crate) n: u32,
    pub(crate) edge: u32,
    pub(crate) succeeded: bool,
}

pub(crate) async fn insert_arrivals(
    conn: &mut PgConnection,
    arrivals: &[Arrival],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        INSERT INTO hypha.arrival (run_id, n, edge, succeeded)
        SELECT * FROM unnest($1::uuid[], $2::int[], $3::int[], $4::bool[])
        "#,
        &arrivals.iter().map(|a| a.run.as_uuid()).collect::<Vec<_>>(),
        &arrivals.iter().map(|a| signed(a.n)).collect::<Vec<_>>(),
        &arrivals.iter().map(|a| signed(a.edge)).collect::<Vec<_>>(),
        &arrivals.iter().map(|a| a.succeeded).collect::<Vec<_>>(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The edges that fired earlier into each of the nodes.
pub(crate) async fn arrivals(
    conn: &mut PgConnection,
    nodes: &[(RunId, u32)],
) -> Result<Vec<Arrival>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT a.run_id, a.n, a.edge, a.succeeded
        FROM unnest($1::uuid[], $2::int[]) AS u (run_id, n)
        JOIN hypha.arrival a ON a.run_id = u.run_id AND a.n = u.n
        "#,
        &nodes
            .iter()
            .map(|(run, _)| run.as_uuid())
            .collect::<Vec<_>>(),
        &nodes.iter().map(|(_, n)| signed(*n)).collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await?;
    let arrivals = rows.into_iter().map(|row| Arrival {
        run: RunId::from_uuid(row.run_id),
        n: unsigned(row.n),
        edge: unsigned(row.edge),
        succeeded: row.succeeded,
    });
    Ok(arrivals.collect())
}

/// How many members of a fan-out have ended, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fan {
    pub(crate) run: RunId,
    pub(crate) n: u32,
    pub(crate) total: u32,
    pub(crate) ended: u32,
    pub(crate) failed: u32,
    pub(crate) cancelled: u32,
}

pub(crate) async fn insert_fan(
    conn: &mut PgConnection,
    group: TaskKey,
    items: &[Vec<u8>],
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        WITH fan AS (
            INSERT INTO hypha.fan (run_id, n, total, ended, failed, cancelled) VALUES ($1, $2, $3, 0, 0, 0)
        )
        INSERT INTO hypha.fan_item (run_id, n, i, item)
        SELECT $1, $2, u.i, u.item FROM unnest($4::bytea[]) WITH ORDINALITY AS u (item, i)
        "#,
        group.run.as_uuid(),
        signed(group.n),
        i32::try_from(items.len()).unwrap_or(i32::MAX),
        items,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Adds ended members and returns the groups as they are then.
pub(crate) async fn add_ended(
    conn: &mut PgConnection,
    deltas: &[Fan],
) -> Result<Vec<Fan>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        UPDATE hypha.fan f
        SET ended = f.ended + u.ended, failed = f.failed + u.failed, cancelled = f.cancelled + u.cancelled
        FROM unnest($1::uuid[], $2::int[], $3::int[], $4::int[], $5::int[]) AS u (run_id, n, ended, failed, cancelled)
        WHERE f.run_id = u.run_id AND f.n = u.n
        RETURNING f.run_id, f.n, f.total, f.ended, f.failed, f.cancelled
        "#,
        &deltas.iter().map(|d| d.run.as_uuid()).collect::<Vec<_>>(),
        &deltas.iter().map(|d| signed(d.n)).collect::<Vec<_>>(),
        &deltas.iter().map(|d| signed(d.ended)).collect::<Vec<_>>(),
        &deltas.iter().map(|d| signed(d.failed)).collect::<Vec<_>>(),
        &deltas.iter().map(|d| signed(d.cancelled)).collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await?;
    let fans = rows.into_iter().map(|row| Fan {
        run: RunId::from_uuid(row.run_id),
        n: unsigned(row.n),
        total: unsigned(row.total),
        ended: unsigned(row.ended),
        failed: unsigned(row.failed),
        cancelled: unsigned(row.cancelled),
    });
    Ok(fans.collect())
}

/// Items of fan-out members, for those asked that exist.
pub(crate) async fn items(
    conn: &mut PgConnection,
    members: &[TaskKey],
) -> Result<Vec<(TaskKey, Vec<u8>)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT f.run_id, f.n, f.i, f.item
        FROM unnest($1::uuid[], $2::int[], $3::int[]) AS u (run_id, n, i)
        JOIN hypha.fan_item f ON f.run_id = u.run_id AND f.n = u.n AND f.i = u.i
        "#,
        &members.iter().map(|m| m.run.as_uuid()).collect::<Vec<_>>(),
        &members.iter().map(|m| signed(m.n)).collect::<Vec<_>>(),
        &members.iter().map(|m| signed(m.i)).collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await?;
    let items = rows.into_iter().map(|row| {
        let task = TaskKey::of_row(row.run_id, row.n, row.i);
        (task, row.item)
    });
    Ok(items.collect())
}

/// The fan-outs of a run; a node that has not fanned out is absent.
pub(crate) async fn fans(conn: &mut PgConnection, run: RunId) -> Result<Vec<Fan>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT n, total, ended, failed, cancelled FROM hypha.fan WHERE run_id = $1"#,
        run.as_uuid(),
    )
    .fetch_all(conn)
    .await?;
    let fans = rows.into_iter().map(|row| Fan {
        run,
        n: unsigned(row.n),
        total: unsigned(row.total),
        ended: unsigned(row.ended),
        failed: unsigned(row.failed),
        cancelled: unsigned(row.cancelled),
    });
    Ok(fans.collect())
}

/// Forgets what the joins, parks and signals of ended runs needed, `most` rows of each; tells how many in all.
pub(crate) async fn forget(conn: &mut PgConnection, most: i64) -> Result<i64, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        WITH tallies AS (
            DELETE FROM hypha.tally t USING (
                SELECT t.run_id, t.n FROM hypha.tally t JOIN hypha.run r USING (run_id)
                WHERE r.ended_at IS NOT NULL LIMIT $1
            ) old WHERE t.run_id = old.run_id AND t.n = old.n RETURNING 1
        ), arrivals AS (
            DELETE FROM hypha.arrival a USING (
                SELECT a.run_id, a.n, a.edge FROM hypha.arrival a JOIN hypha.run r USING (run_id)
                WHERE r.ended_at IS NOT NULL LIMIT $1
            ) old WHERE a.run_id = old.run_id AND a.n = old.n AND a.edge = old.edge RETURNING 1
        ), parks AS (
            DELETE FROM hypha.park p USING (
                SELECT p.run_id, p.n, p.i FROM hypha.park p JOIN hypha.run r USING (run_id)
                WHERE r.ended_at IS NOT NULL LIMIT $1
            ) old WHERE p.run_id = old.run_id AND p.n = old.n AND p.i = old.i RETURNING 1
        ), signals AS (
            DELETE FROM hypha.signal s USING (
                SELECT s.signal_no FROM hypha.signal s JOIN hypha.run r USING (run_id)
                WHERE r.ended_at IS NOT NULL LIMIT $1
            ) old WHERE s.signal_no = old.signal_no RETURNING 1
        )
        SELECT (SELECT count(*) FROM tallies) + (SELECT count(*) FROM arrivals) + (SELECT count(*) FROM parks)
               + (SELECT count(*) FROM signals) AS "gone!"
        "#,
        most,
    )
    .fetch_one(conn)
    .await?;
    Ok(row.gone)
}

/// All tallies of these runs.
pub(crate) async fn of_runs(
    conn: &mut PgConnection,
    runs: &[RunId],
) -> Result<Vec<Delta>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT run_id, n, fired, dead FROM hypha.tally WHERE run_id = ANY ($1)"#,
        &runs.iter().map(|run| run.as_uuid()).collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await?;
    let tallies = rows.into_iter().map(|row| Delta {
        run: RunId::from_uuid(row.run_id),
        n: unsigned(row.n),
        fired: unsigned(row.fired),
        dead: unsigned(row.dead),
    });
    Ok(tallies.collect())
}

/// Sets tallies to values worked out in memory, under the locks of their runs.
pub(crate) async fn put(conn: &mut PgConnection, tallies: &[Delta]) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        INSERT INTO hypha.tally (run_id, n, fired, dead)
        SELECT * FROM unnest($1::uuid[], $2::int[], $3::int[], $4::int[])
        ON CONFLICT (run_id, n) DO UPDATE SET fired = excluded.fired, dead = excluded.dead
        "#,
        &tallies.iter().map(|d| d.run.as_uuid()).collect::<Vec<_>>(),
        &tallies.iter().map(|d| signed(d.n)).collect::<Vec<_>>(),
        &tallies.iter().map(|d| signed(d.fired)).collect::<Vec<_>>(),
        &tallies.iter().map(|d| signed(d.dead)).collect::<Vec<_>>(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

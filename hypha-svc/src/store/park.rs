//! Parked tasks: what they wait for, and what their next attempt gets.

use sqlx::PgConnection;

use super::engine::{TaskKey, signed};

#[derive(Clone, Debug)]
pub(crate) struct Park {
    pub(crate) task: TaskKey,
    pub(crate) signal: String,
    pub(crate) checkpoint: Vec<u8>,
    pub(crate) payload: Option<Vec<u8>>,
    pub(crate) timed_out: bool,
}

/// Parks a task, or parks it again.
pub(crate) async fn upsert(conn: &mut PgConnection, park: &Park) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        INSERT INTO hypha.park (run_id, n, i, signal, checkpoint, payload, timed_out)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (run_id, n, i) DO UPDATE
        SET signal = excluded.signal, checkpoint = excluded.checkpoint, payload = excluded.payload,
            timed_out = excluded.timed_out
        "#,
        park.task.run.as_uuid(),
        signed(park.task.n),
        signed(park.task.i),
        park.signal,
        park.checkpoint,
        park.payload,
        park.timed_out,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Notes how a park ended: with the signal's payload, or by its moment passing.
pub(crate) async fn end(
    conn: &mut PgConnection,
    task: TaskKey,
    payload: Option<&[u8]>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        UPDATE hypha.park SET payload = $4, timed_out = $4::bytea IS NULL
        WHERE run_id = $1 AND n = $2 AND i = $3
        "#,
        task.run.as_uuid(),
        signed(task.n),
        signed(task.i),
        payload,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Parks of the tasks that have one.
pub(crate) async fn of(
    conn: &mut PgConnection,
    tasks: &[TaskKey],
) -> Result<Vec<Park>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT p.run_id, p.n, p.i, p.signal, p.checkpoint, p.payload, p.timed_out
        FROM unnest($1::uuid[], $2::int[], $3::int[]) AS u (run_id, n, i)
        JOIN hypha.park p ON p.run_id = u.run_id AND p.n = u.n AND p.i = u.i
        "#,
        &tasks.iter().map(|t| t.run.as_uuid()).collect::<Vec<_>>(),
        &tasks.iter().map(|t| signed(t.n)).collect::<Vec<_>>(),
        &tasks.iter().map(|t| signed(t.i)).collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await?;
    let parks = rows.into_iter().map(|row| Park {
        task: TaskKey::of_row(row.run_id, row.n, row.i),
        signal: row.signal,
        checkpoint: row.checkpoint,
        payload: row.payload,
        timed_out: row.timed_out,
    });
    Ok(parks.collect())
}

//! Ready work that no transaction leased when it made it ready.

use sqlx::PgConnection;

use super::TaskKey;

/// A ready row that could be leased, and whose row lock this transaction holds.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) task: TaskKey,
    pub(crate) queue: i32,
    pub(crate) prio: i16,
    pub(crate) turn: i64,
    pub(crate) epoch: i32,
    pub(crate) failures: i16,
    pub(crate) sources: Option<Vec<u8>>,
    pub(crate) resumed: bool,
}

/// Where a search for ready rows of one queue and priority begins, and how far it may go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    pub(crate) queue: i32,
    pub(crate) prio: i16,
    pub(crate) after_turn: i64,
    pub(crate) limit: i64,
}

/// Ready rows, longest waiting first within queue and priority. Rows that another transaction holds are passed over.
pub(crate) async fn candidates(
    conn: &mut PgConnection,
    searches: &[Search],
) -> Result<Vec<Candidate>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT c.run_id, c.n, c.i, c.queue, c.prio, c.turn, c.epoch, c.failures, c.sources, c.resumed
        FROM unnest($1::int[], $2::smallint[], $3::bigint[], $4::bigint[]) AS s (queue, prio, after_turn, most)
        CROSS JOIN LATERAL (
            SELECT h.run_id, h.n, h.i, h.queue, h.prio, h.turn, h.epoch, h.failures, h.sources, h.resumed
            FROM hypha.hot h
            WHERE h.state = 0 AND h.queue = s.queue AND h.prio = s.prio AND h.turn >= s.after_turn
            ORDER BY h.queue, h.prio, h.turn, h.run_id, h.n, h.i
            LIMIT s.most
            FOR UPDATE SKIP LOCKED
        ) c
        "#,
        &column!(searches, s => s.queue),
        &column!(searches, s => s.prio),
        &column!(searches, s => s.after_turn),
        &column!(searches, s => s.limit),
    )
    .fetch_all(conn)
    .await?;
    let candidates = rows.into_iter().map(|row| Candidate {
        task: TaskKey::of_row(row.run_id, row.n, row.i),
        queue: row.queue,
        prio: row.prio,
        turn: row.turn,
        epoch: row.epoch,
        failures: row.failures,
        sources: row.sources,
        resumed: row.resumed,
    });
    Ok(candidates.collect())
}

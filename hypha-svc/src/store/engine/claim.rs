//! Ready work that no transaction leased when it made it ready.

use cambium_kernel::{AgentId, LeaseId};
use sqlx::PgConnection;

use super::{TaskKey, signed};

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

/// A ready row to lease.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) task: TaskKey,
    pub(crate) epoch: i32,
    pub(crate) lease: LeaseId,
    pub(crate) reg: i32,
    pub(crate) agent: AgentId,
    pub(crate) lease_ms: i64,
    pub(crate) run_ms: Option<i64>,
}

/// Leases ready rows whose locks this transaction holds, as [`candidates`] took them.
///
/// An upsert finds each row by its key. An update that is joined with a list may read the whole table for it, once a plan
/// was made while the table was small: no row is ever inserted here.
pub(crate) async fn lease(conn: &mut PgConnection, claims: &[Claim]) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        INSERT INTO hypha.hot AS h (run_id, n, i, state, prio, queue, turn, epoch, failures, losses, lease_id, reg, agent_id,
                                    until, deadline, leased_at)
        SELECT u.run_id, u.n, u.i, 1, 0, 0, 0, u.epoch, 0, 0, u.lease_id, u.reg, u.agent_id,
               hypha.now() + u.lease_ms * interval '1 ms', hypha.now() + u.run_ms * interval '1 ms', hypha.now()
        FROM unnest($1::uuid[], $2::int[], $3::int[], $4::int[], $5::uuid[], $6::int[], $7::uuid[], $8::bigint[], $9::bigint[])
             AS u (run_id, n, i, epoch, lease_id, reg, agent_id, lease_ms, run_ms)
        ON CONFLICT (run_id, n, i) DO UPDATE
        SET state = 1, epoch = h.epoch + 1, lease_id = excluded.lease_id, reg = excluded.reg, agent_id = excluded.agent_id,
            until = excluded.until, deadline = least(excluded.deadline, h.total_until), leased_at = excluded.leased_at
        WHERE h.state = 0 AND h.epoch = excluded.epoch
        "#,
        &column!(claims, c => c.task.run.as_uuid()),
        &column!(claims, c => signed(c.task.n)),
        &column!(claims, c => signed(c.task.i)),
        &column!(claims, c => c.epoch),
        &column!(claims, c => c.lease.as_uuid()),
        &column!(claims, c => c.reg),
        &column!(claims, c => c.agent.as_uuid()),
        &column!(claims, c => c.lease_ms),
        &column!(claims, c => c.run_ms) as &[Option<i64>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

//! The first statement: whose attempt still holds.

use cambium_kernel::{AgentId, LeaseId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{TaskKey, signed};

/// What must still hold for a change to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fence {
    /// The lease, with its end still ahead. The registration must be the lease's, where one is given.
    Live { lease: LeaseId, reg: Option<i32> },
    /// The lease, with its end behind.
    Expired { lease: LeaseId },
    /// Backing off or parked, with its moment behind.
    Due,
    /// Parked, whatever its moment.
    Parked,
    /// Being decided under this lease.
    Deciding { lease: LeaseId },
    /// One of its timeouts has passed.
    Overdue,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FenceRequest {
    pub(crate) task: TaskKey,
    pub(crate) epoch: i32,
    pub(crate) fence: Fence,
}

/// A run's changing part, under its lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunHead {
    pub(crate) state: i16,
    pub(crate) paused: bool,
    pub(crate) failing: bool,
    pub(crate) open: i32,
    pub(crate) seq: i32,
    pub(crate) unhandled: i32,
    pub(crate) succeeded: i32,
    pub(crate) total: i32,
    pub(crate) in_vain: i32,
}

/// A hot row as it was when the fence took it out.
#[derive(Clone, Debug)]
pub(crate) struct HotRow {
    pub(crate) state: i16,
    pub(crate) epoch: i32,
    pub(crate) failures: i16,
    pub(crate) losses: i16,
    pub(crate) lease: Option<LeaseId>,
    pub(crate) agent: Option<AgentId>,
    pub(crate) total_until: Option<DateTime<Utc>>,
    pub(crate) sources: Option<Vec<u8>>,
    pub(crate) resumed: bool,
}

/// One request that passed its fence.
#[derive(Clone, Debug)]
pub(crate) struct Fenced {
    /// Index into the requests.
    pub(crate) request: usize,
    pub(crate) head: RunHead,
    pub(crate) row: HotRow,
}

/// Locks the runs, ascending, then takes out the hot rows whose fence holds. What does not match is simply absent.
pub(crate) async fn fence(
    conn: &mut PgConnection,
    requests: &[FenceRequest],
) -> Result<Vec<Fenced>, sqlx::Error> {
    let mut runs: Vec<Uuid> = requests.iter().map(|r| r.task.run.as_uuid()).collect();
    runs.sort_unstable();
    runs.dedup();
    let columns = FenceColumns::of(requests);
    let rows = sqlx::query!(
        r#"
        WITH req AS MATERIALIZED (
            SELECT * FROM unnest($1::uuid[], $2::int[], $3::int[], $4::int[], $5::smallint[], $6::uuid[], $7::int[])
                WITH ORDINALITY AS u (run_id, n, i, epoch, mode, lease_id, reg, k)
        ), locked AS MATERIALIZED (
            SELECT run_id, state, paused, failing, open, seq, unhandled, succeeded, total, in_vain
            FROM hypha.run WHERE run_id = ANY ($8) ORDER BY run_id FOR NO KEY UPDATE
        ), taken AS (
            DELETE FROM hypha.hot h USING req
            WHERE (SELECT count(*) FROM locked) >= 0 -- the runs' locks come first
              AND h.run_id = req.run_id AND h.n = req.n AND h.i = req.i AND h.epoch = req.epoch
              AND CASE req.mode
                      WHEN 1 THEN h.state = 1 AND h.lease_id = req.lease_id AND h.until > hypha.now()
                                  AND (req.reg = 0 OR h.reg = req.reg)
                      WHEN 2 THEN h.state = 1 AND h.lease_id = req.lease_id AND h.until <= hypha.now()
                      WHEN 3 THEN h.state IN (2, 3) AND h.until <= hypha.now()
                      WHEN 4 THEN h.state = 4 AND h.lease_id = req.lease_id
                      WHEN 5 THEN h.deadline <= hypha.now()
                      ELSE h.state = 3
                  END
            RETURNING req.k, h.run_id, h.state, h.epoch, h.failures, h.losses, h.lease_id, h.agent_id,
                      h.total_until, h.sources, h.resumed
        )
        SELECT taken.k AS "k!", taken.state AS "hot_state!", taken.epoch AS "epoch!", taken.failures AS "failures!",
               taken.losses AS "losses!", taken.lease_id, taken.agent_id, taken.total_until, taken.sources,
               taken.resumed AS "resumed!",
               locked.state AS "run_state!", locked.paused AS "paused!", locked.failing AS "failing!",
               locked.open AS "open!", locked.seq AS "seq!", locked.unhandled AS "unhandled!",
               locked.succeeded AS "succeeded!", locked.total AS "total!", locked.in_vain AS "in_vain!"
        FROM taken JOIN locked USING (run_id)
        ORDER BY taken.k
        "#,
        &columns.runs,
        &columns.ns,
        &columns.is,
        &columns.epochs,
        &columns.modes,
        &columns.leases as &[Option<Uuid>],
        &columns.regs,
        &runs,
    )
    .fetch_all(conn)
    .await?;
    let fenced = rows.into_iter().map(|row| Fenced {
        request: usize::try_from(row.k - 1).unwrap_or(usize::MAX),
        head: RunHead {
            state: row.run_state,
            paused: row.paused,
            failing: row.failing,
            open: row.open,
            seq: row.seq,
            unhandled: row.unhandled,
            succeeded: row.succeeded,
            total: row.total,
            in_vain: row.in_vain,
        },
        row: HotRow {
            state: row.hot_state,
            epoch: row.epoch,
            failures: row.failures,
            losses: row.losses,
            lease: row.lease_id.map(LeaseId::from_uuid),
            agent: row.agent_id.map(AgentId::from_uuid),
            total_until: row.total_until,
            sources: row.sources,
            resumed: row.resumed,
        },
    });
    Ok(fenced.collect())
}

/// The requests turned into columns, in the order of their tasks so that rows are locked in that order.
#[derive(Default)]
struct FenceColumns {
    runs: Vec<Uuid>,
    ns: Vec<i32>,
    is: Vec<i32>,
    epochs: Vec<i32>,
    modes: Vec<i16>,
    leases: Vec<Option<Uuid>>,
    regs: Vec<i32>,
}

impl FenceColumns {
    fn of(requests: &[FenceRequest]) -> Self {
        let mut columns = Self::default();
        for request in requests {
            let (mode, lease, reg) = match request.fence {
                Fence::Live { lease, reg } => (1, Some(lease), reg.unwrap_or(0)),
                Fence::Expired { lease } => (2, Some(lease), 0),
                Fence::Due => (3, None, 0),
                Fence::Deciding { lease } => (4, Some(lease), 0),
                Fence::Overdue => (5, None, 0),
                Fence::Parked => (6, None, 0),
            };
            columns.runs.push(request.task.run.as_uuid());
            columns.ns.push(signed(request.task.n));
            columns.is.push(signed(request.task.i));
            columns.epochs.push(request.epoch);
            columns.modes.push(mode);
            columns.leases.push(lease.map(LeaseId::as_uuid));
            columns.regs.push(reg);
        }
        columns
    }
}

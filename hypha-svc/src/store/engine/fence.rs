//! The first statement: whose attempt still holds.

use std::collections::HashMap;

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
    /// Nobody waits for it any more.
    pub(crate) stop: bool,
    pub(crate) leased_at: Option<DateTime<Utc>>,
}

/// One request that passed its fence.
#[derive(Clone, Debug)]
pub(crate) struct Fenced {
    /// The database's time then.
    pub(crate) at: DateTime<Utc>,
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
                      h.total_until, h.sources, h.resumed, h.stop, h.leased_at
        )
        -- Two lists, one below the other: a join of both would compare each with each.
        SELECT k, run_id AS "run_id!", state AS "state!", epoch AS "epoch?", failures AS "failures?", losses AS "losses?",
               lease_id, agent_id, total_until, sources, resumed AS "resumed?", stop AS "stop?",
               leased_at, hypha.now() AS "at!",
               NULL::boolean AS paused, NULL::boolean AS failing, NULL::int AS open, NULL::int AS seq,
               NULL::int AS unhandled, NULL::int AS succeeded, NULL::int AS total, NULL::int AS in_vain
        FROM taken
        UNION ALL
        SELECT NULL, run_id, state, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, hypha.now(),
               paused, failing, open, seq, unhandled, succeeded, total, in_vain
        FROM locked
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
    let mut heads: HashMap<Uuid, RunHead> = HashMap::new();
    let mut taken: Vec<(usize, Uuid, DateTime<Utc>, HotRow)> = Vec::with_capacity(requests.len());
    for row in rows {
        let Some(k) = row.k else {
            let head = RunHead {
                state: row.state,
                paused: row.paused.unwrap_or_default(),
                failing: row.failing.unwrap_or_default(),
                open: row.open.unwrap_or_default(),
                seq: row.seq.unwrap_or_default(),
                unhandled: row.unhandled.unwrap_or_default(),
                succeeded: row.succeeded.unwrap_or_default(),
                total: row.total.unwrap_or_default(),
                in_vain: row.in_vain.unwrap_or_default(),
            };
            heads.insert(row.run_id, head);
            continue;
        };
        let hot = HotRow {
            state: row.state,
            epoch: row.epoch.unwrap_or_default(),
            failures: row.failures.unwrap_or_default(),
            losses: row.losses.unwrap_or_default(),
            lease: row.lease_id.map(LeaseId::from_uuid),
            agent: row.agent_id.map(AgentId::from_uuid),
            total_until: row.total_until,
            sources: row.sources,
            resumed: row.resumed.unwrap_or_default(),
            stop: row.stop.unwrap_or_default(),
            leased_at: row.leased_at,
        };
        taken.push((
            usize::try_from(k - 1).unwrap_or(usize::MAX),
            row.run_id,
            row.at,
            hot,
        ));
    }
    taken.sort_unstable_by_key(|(request, ..)| *request);
    let fenced = taken.into_iter().filter_map(|(request, run, at, row)| {
        let head = *heads.get(&run)?;
        Some(Fenced {
            at,
            request,
            head,
            row,
        })
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

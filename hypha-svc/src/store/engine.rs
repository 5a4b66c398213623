//! The two statements of the hot path (design: hot-path). Everything between them is decided in Rust.
//! They lock runs first, ascending; whoever locks otherwise invites deadlocks.

use bytes::Bytes;
use cambium_kernel::{AgentId, LeaseId, RunId};
use cambium_service_kit::outbox::Row;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

/// Names a task in the store: node `n` of a run, member `i` of its fan-out from 1, or 0 for the node itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TaskKey {
    pub(crate) run: RunId,
    pub(crate) n: u32,
    pub(crate) i: u32,
}

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

/// A count or index for an `integer` column. Graphs are bounded far below the type's end.
pub(crate) fn signed(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// The reverse of [`signed`].
pub(crate) fn unsigned(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// A run to insert, unless its key is taken.
#[derive(Clone, Debug)]
pub(crate) struct NewRun {
    pub(crate) run: RunId,
    pub(crate) workspace: String,
    pub(crate) request_key: String,
    pub(crate) body_hash: Vec<u8>,
    pub(crate) graph_hash: Vec<u8>,
    pub(crate) graph_name: String,
    pub(crate) graph_version: i32,
    pub(crate) input: Bytes,
    pub(crate) open: i32,
    pub(crate) seq: i32,
}

/// What changes on a locked run: states are new values, numbers are added.
#[derive(Clone, Debug)]
pub(crate) struct RunChange {
    pub(crate) run: RunId,
    pub(crate) state: i16,
    pub(crate) paused: bool,
    pub(crate) failing: bool,
    pub(crate) add: Counts,
    /// Written when the run ends and its metrics follow from the graph alone.
    pub(crate) metrics: Option<[i32; 5]>,
}

/// Numbers to add to a run's counters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) open: i32,
    pub(crate) seq: i32,
    pub(crate) succeeded: i32,
    pub(crate) failed: i32,
    pub(crate) skipped: i32,
    pub(crate) omitted: i32,
    pub(crate) cancelled: i32,
    pub(crate) total: i32,
    pub(crate) unhandled: i32,
    pub(crate) gratitude: i32,
    pub(crate) cost_micro_usd: i64,
    pub(crate) unmeasured: i32,
    pub(crate) in_vain: i32,
}

/// A hot row to insert. Times are relative to the transaction's, or absolute where they were fixed before.
#[derive(Clone, Debug)]
pub(crate) struct NewHot {
    pub(crate) task: TaskKey,
    /// Of a run inserted by this very write: left out if that run's key was taken.
    pub(crate) fresh: bool,
    pub(crate) state: i16,
    pub(crate) prio: i16,
    pub(crate) queue: i32,
    pub(crate) epoch: i32,
    pub(crate) failures: i16,
    pub(crate) losses: i16,
    pub(crate) lease: Option<LeaseId>,
    pub(crate) reg: Option<i32>,
    pub(crate) agent: Option<AgentId>,
    pub(crate) until_ms: Option<i64>,
    pub(crate) until_at: Option<DateTime<Utc>>,
    pub(crate) deadline_ms: Option<i64>,
    pub(crate) total_ms: Option<i64>,
    pub(crate) total_until: Option<DateTime<Utc>>,
    pub(crate) sources: Option<Vec<u8>>,
    pub(crate) resumed: bool,
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

#[derive(Clone, Debug)]
pub(crate) struct NewEnd {
    pub(crate) task: TaskKey,
    pub(crate) state: i16,
    pub(crate) epoch: i32,
    pub(crate) failures: i16,
    pub(crate) losses: i16,
    pub(crate) agent: Option<AgentId>,
    pub(crate) lease: Option<LeaseId>,
    pub(crate) body_hash: Option<i64>,
    pub(crate) cost: Option<(i64, bool)>,
    pub(crate) sources: Option<Vec<u8>>,
    pub(crate) code: Option<String>,
    pub(crate) detail: Option<String>,
    pub(crate) output: Option<Bytes>,
}

/// Several transitions of one run.
#[derive(Clone, Debug)]
pub(crate) struct NewEvents {
    pub(crate) run: RunId,
    pub(crate) fresh: bool,
    pub(crate) last_seq: i32,
    pub(crate) k: i32,
    pub(crate) body: Vec<u8>,
}

/// All that one transaction writes on the hot path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Write {
    pub(crate) runs: Vec<NewRun>,
    pub(crate) changes: Vec<RunChange>,
    pub(crate) hot: Vec<NewHot>,
    pub(crate) claims: Vec<Claim>,
    pub(crate) ends: Vec<NewEnd>,
    pub(crate) events: Vec<NewEvents>,
    pub(crate) outbox: Vec<Row>,
    /// Tell other replicas that work was left ready, in this replica's name.
    pub(crate) notify: Option<String>,
}

/// What came of a [`Write`].
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) at: DateTime<Utc>,
    /// Those of `runs` whose key was free.
    pub(crate) started: Vec<RunId>,
}

macro_rules! column {
    ($rows:expr, $row:ident => $value:expr) => {
        $rows.iter().map(|$row| $value).collect::<Vec<_>>()
    };
}

/// Writes everything in one statement. The caller holds the locks of all runs named in `changes`.
#[expect(
    clippy::too_many_lines,
    reason = "one statement: its columns are listed once, in its order"
)]
pub(crate) async fn write(conn: &mut PgConnection, w: &Write) -> Result<Written, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        WITH t AS MATERIALIZED (
            SELECT hypha.now() AS at
        ), new_run AS (
            INSERT INTO hypha.run (run_id, workspace_id, request_key, body_hash, graph_hash, graph_name, graph_version,
                                   started_at, input, open, total, seq)
            SELECT u.run_id, u.workspace_id, u.request_key, u.body_hash, u.graph_hash, u.graph_name, u.graph_version,
                   t.at, u.input, u.open, u.open, u.seq
            FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::bytea[], $6::text[], $7::int[], $8::bytea[],
                        $9::int[], $10::int[])
                 AS u (run_id, workspace_id, request_key, body_hash, graph_hash, graph_name, graph_version, input, open, seq), t
            ORDER BY u.workspace_id, u.request_key
            ON CONFLICT ON CONSTRAINT run_key_once DO NOTHING
            RETURNING run_id
        ), changed AS (
            UPDATE hypha.run r
            SET state = u.state, paused = u.paused, failing = u.failing, open = r.open + u.open, seq = r.seq + u.seq,
                succeeded = r.succeeded + u.succeeded, failed = r.failed + u.failed, skipped = r.skipped + u.skipped,
                omitted = r.omitted + u.omitted, cancelled = r.cancelled + u.cancelled, total = r.total + u.total,
                unhandled = r.unhandled + u.unhandled, gratitude = r.gratitude + u.gratitude,
                cost_micro_usd = r.cost_micro_usd + u.cost, unmeasured = r.unmeasured + u.unmeasured,
                in_vain = r.in_vain + u.in_vain,
                ended_at = CASE WHEN u.state >= 3 THEN t.at END,
                chain_length = u.chain_length, chain_breadth = u.chain_breadth, total_handoffs = u.total_handoffs,
                consumed_outputs = u.consumed_outputs, total_outputs = u.total_outputs,
                dead_ends = CASE WHEN u.chain_length IS NOT NULL THEN 0 END
            FROM unnest($11::uuid[], $12::smallint[], $13::bool[], $14::bool[], $15::int[], $16::int[], $17::int[], $18::int[],
                        $19::int[], $20::int[], $21::int[], $22::int[], $23::int[], $24::int[], $25::bigint[], $26::int[],
                        $27::int[], $28::int[], $29::int[], $30::int[], $31::int[], $85::int[])
                 AS u (run_id, state, paused, failing, open, seq, succeeded, failed, skipped, omitted, cancelled, total,
                       unhandled, gratitude, cost, unmeasured, chain_length, chain_breadth, total_handoffs,
                       consumed_outputs, total_outputs, in_vain), t
            WHERE r.run_id = u.run_id
        ), inserted AS (
            INSERT INTO hypha.hot (run_id, n, i, state, prio, queue, turn, epoch, failures, losses, lease_id, reg, agent_id,
                                   until, deadline, total_until, sources, resumed)
            SELECT u.run_id, u.n, u.i, u.state, u.prio, u.queue, (extract(epoch FROM t.at) * 1000000)::bigint + u.k - 1, u.epoch,
                   u.failures, u.losses, u.lease_id, u.reg, u.agent_id,
                   coalesce(u.until_at, t.at + u.until_ms * interval '1 ms'),
                   least(t.at + u.deadline_ms * interval '1 ms', u.total_until, t.at + u.total_ms * interval '1 ms'),
                   coalesce(u.total_until, t.at + u.total_ms * interval '1 ms'), u.sources, u.resumed
            FROM unnest($32::uuid[], $33::int[], $34::int[], $35::bool[], $36::smallint[], $37::smallint[], $38::int[],
                        $39::int[], $40::smallint[], $41::smallint[], $42::uuid[], $43::int[], $44::uuid[], $45::bigint[],
                        $46::timestamptz[], $47::bigint[], $48::bigint[], $49::timestamptz[], $50::bytea[], $51::bool[])
                 WITH ORDINALITY
                 AS u (run_id, n, i, fresh, state, prio, queue, epoch, failures, losses, lease_id, reg, agent_id, until_ms,
                       until_at, deadline_ms, total_ms, total_until, sources, resumed, k), t
            WHERE NOT u.fresh OR u.run_id IN (SELECT run_id FROM new_run)
        ), claimed AS (
            UPDATE hypha.hot h
            SET state = 1, epoch = h.epoch + 1, lease_id = u.lease_id, reg = u.reg, agent_id = u.agent_id,
                until = t.at + u.lease_ms * interval '1 ms',
                deadline = least(t.at + u.run_ms * interval '1 ms', h.total_until)
            FROM unnest($52::uuid[], $53::int[], $54::int[], $55::int[], $56::uuid[], $57::int[], $58::uuid[], $59::bigint[],
                        $60::bigint[])
                 AS u (run_id, n, i, epoch, lease_id, reg, agent_id, lease_ms, run_ms), t
            WHERE h.run_id = u.run_id AND h.n = u.n AND h.i = u.i AND h.state = 0 AND h.epoch = u.epoch
        ), ended AS (
            INSERT INTO hypha.task_end (run_id, n, i, state, epoch, failures, losses, agent_id, lease_id, body_hash, at,
                                        cost_micro_usd, measured, sources, code, detail, output)
            SELECT u.run_id, u.n, u.i, u.state, u.epoch, u.failures, u.losses, u.agent_id, u.lease_id, u.body_hash, t.at,
                   u.cost, u.measured, u.sources, u.code, u.detail, u.output
            FROM unnest($61::uuid[], $62::int[], $63::int[], $64::smallint[], $65::int[], $66::smallint[], $67::smallint[],
                        $68::uuid[], $69::uuid[], $70::bigint[], $71::bigint[], $72::bool[], $73::bytea[], $74::text[],
                        $75::text[], $76::bytea[])
                 AS u (run_id, n, i, state, epoch, failures, losses, agent_id, lease_id, body_hash, cost, measured, sources,
                       code, detail, output), t
        ), attached AS ( -- signals that were sent to the key ahead of its run
            UPDATE hypha.signal s SET run_id = u.run_id
            FROM unnest($1::uuid[], $2::text[], $3::text[]) AS u (run_id, workspace_id, request_key)
            WHERE s.run_id IS NULL AND s.workspace_id = u.workspace_id AND s.request_key = u.request_key
              AND u.run_id IN (SELECT run_id FROM new_run)
        ), told AS (
            INSERT INTO hypha.event (run_id, seq, k, at, body)
            SELECT u.run_id, u.seq, u.k, t.at, u.body
            FROM unnest($77::uuid[], $78::bool[], $79::int[], $80::int[], $81::bytea[]) AS u (run_id, fresh, seq, k, body), t
            WHERE NOT u.fresh OR u.run_id IN (SELECT run_id FROM new_run)
        ), sent AS (
            INSERT INTO hypha.outbox (receiver, body)
            SELECT u.receiver, u.body FROM unnest($82::text[], $83::bytea[]) AS u (receiver, body)
        )
        SELECT t.at AS "at!", coalesce((SELECT array_agg(run_id) FROM new_run), '{}') AS "started!",
               CASE WHEN $84::text IS NOT NULL THEN pg_notify('hypha_ready', $84)::text END AS told
        FROM t
        "#,
        &column!(w.runs, r => r.run.as_uuid()),
        &column!(w.runs, r => r.workspace.clone()),
        &column!(w.runs, r => r.request_key.clone()),
        &column!(w.runs, r => r.body_hash.clone()),
        &column!(w.runs, r => r.graph_hash.clone()),
        &column!(w.runs, r => r.graph_name.clone()),
        &column!(w.runs, r => r.graph_version),
        &column!(w.runs, r => r.input.to_vec()),
        &column!(w.runs, r => r.open),
        &column!(w.runs, r => r.seq),
        &column!(w.changes, c => c.run.as_uuid()),
        &column!(w.changes, c => c.state),
        &column!(w.changes, c => c.paused),
        &column!(w.changes, c => c.failing),
        &column!(w.changes, c => c.add.open),
        &column!(w.changes, c => c.add.seq),
        &column!(w.changes, c => c.add.succeeded),
        &column!(w.changes, c => c.add.failed),
        &column!(w.changes, c => c.add.skipped),
        &column!(w.changes, c => c.add.omitted),
        &column!(w.changes, c => c.add.cancelled),
        &column!(w.changes, c => c.add.total),
        &column!(w.changes, c => c.add.unhandled),
        &column!(w.changes, c => c.add.gratitude),
        &column!(w.changes, c => c.add.cost_micro_usd),
        &column!(w.changes, c => c.add.unmeasured),
        &column!(w.changes, c => c.metrics.map(|m| m[0])) as &[Option<i32>],
        &column!(w.changes, c => c.metrics.map(|m| m[1])) as &[Option<i32>],
        &column!(w.changes, c => c.metrics.map(|m| m[2])) as &[Option<i32>],
        &column!(w.changes, c => c.metrics.map(|m| m[3])) as &[Option<i32>],
        &column!(w.changes, c => c.metrics.map(|m| m[4])) as &[Option<i32>],
        &column!(w.hot, h => h.task.run.as_uuid()),
        &column!(w.hot, h => signed(h.task.n)),
        &column!(w.hot, h => signed(h.task.i)),
        &column!(w.hot, h => h.fresh),
        &column!(w.hot, h => h.state),
        &column!(w.hot, h => h.prio),
        &column!(w.hot, h => h.queue),
        &column!(w.hot, h => h.epoch),
        &column!(w.hot, h => h.failures),
        &column!(w.hot, h => h.losses),
        &column!(w.hot, h => h.lease.map(LeaseId::as_uuid)) as &[Option<Uuid>],
        &column!(w.hot, h => h.reg) as &[Option<i32>],
        &column!(w.hot, h => h.agent.map(AgentId::as_uuid)) as &[Option<Uuid>],
        &column!(w.hot, h => h.until_ms) as &[Option<i64>],
        &column!(w.hot, h => h.until_at) as &[Option<DateTime<Utc>>],
        &column!(w.hot, h => h.deadline_ms) as &[Option<i64>],
        &column!(w.hot, h => h.total_ms) as &[Option<i64>],
        &column!(w.hot, h => h.total_until) as &[Option<DateTime<Utc>>],
        &column!(w.hot, h => h.sources.clone()) as &[Option<Vec<u8>>],
        &column!(w.hot, h => h.resumed),
        &column!(w.claims, c => c.task.run.as_uuid()),
        &column!(w.claims, c => signed(c.task.n)),
        &column!(w.claims, c => signed(c.task.i)),
        &column!(w.claims, c => c.epoch),
        &column!(w.claims, c => c.lease.as_uuid()),
        &column!(w.claims, c => c.reg),
        &column!(w.claims, c => c.agent.as_uuid()),
        &column!(w.claims, c => c.lease_ms),
        &column!(w.claims, c => c.run_ms) as &[Option<i64>],
        &column!(w.ends, e => e.task.run.as_uuid()),
        &column!(w.ends, e => signed(e.task.n)),
        &column!(w.ends, e => signed(e.task.i)),
        &column!(w.ends, e => e.state),
        &column!(w.ends, e => e.epoch),
        &column!(w.ends, e => e.failures),
        &column!(w.ends, e => e.losses),
        &column!(w.ends, e => e.agent.map(AgentId::as_uuid)) as &[Option<Uuid>],
        &column!(w.ends, e => e.lease.map(LeaseId::as_uuid)) as &[Option<Uuid>],
        &column!(w.ends, e => e.body_hash) as &[Option<i64>],
        &column!(w.ends, e => e.cost.map(|(micro_usd, _)| micro_usd)) as &[Option<i64>],
        &column!(w.ends, e => e.cost.map(|(_, measured)| measured)) as &[Option<bool>],
        &column!(w.ends, e => e.sources.clone()) as &[Option<Vec<u8>>],
        &column!(w.ends, e => e.code.clone()) as &[Option<String>],
        &column!(w.ends, e => e.detail.clone()) as &[Option<String>],
        &column!(w.ends, e => e.output.as_ref().map(|bytes| bytes.to_vec())) as &[Option<Vec<u8>>],
        &column!(w.events, e => e.run.as_uuid()),
        &column!(w.events, e => e.fresh),
        &column!(w.events, e => e.last_seq),
        &column!(w.events, e => e.k),
        &column!(w.events, e => e.body.clone()),
        &column!(w.outbox, o => o.0.to_owned()),
        &column!(w.outbox, o => o.1.clone()),
        w.notify,
        &column!(w.changes, c => c.add.in_vain),
    )
    .fetch_one(conn)
    .await?;
    Ok(Written {
        at: row.at,
        started: row.started.into_iter().map(RunId::from_uuid).collect(),
    })
}

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
        task: TaskKey {
            run: RunId::from_uuid(row.run_id),
            n: unsigned(row.n),
            i: unsigned(row.i),
        },
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

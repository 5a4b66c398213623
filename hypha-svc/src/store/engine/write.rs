//! The last statement: everything that a transaction decided, at once.

use bytes::Bytes;
use cambium_kernel::{AgentId, LeaseId, RunId};
use cambium_service_kit::outbox::Row;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{TaskKey, signed};

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
    pub(crate) retain_days: Option<i16>,
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
    /// Its place among the ready; none: by the moment.
    pub(crate) turn: Option<i64>,
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
    pub(crate) ends: Vec<NewEnd>,
    pub(crate) events: Vec<NewEvents>,
    pub(crate) outbox: Vec<Row>,
    /// How many attempts of each agent are told as settled.
    pub(crate) settled: Vec<(AgentId, i64)>,
    /// Tell other replicas that work was left ready, in this replica's name.
    pub(crate) notify: Option<String>,
}

/// What came of a [`Write`].
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) at: DateTime<Utc>,
    /// Those of `runs` whose key was free, and not a withdrawn turn's.
    pub(crate) started: Vec<RunId>,
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
                                   started_at, input, open, total, seq, retain_days)
            SELECT u.run_id, u.workspace_id, u.request_key, u.body_hash, u.graph_hash, u.graph_name, u.graph_version,
                   t.at, u.input, u.open, u.open, u.seq, u.retain_days
            FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[], $5::bytea[], $6::text[], $7::int[], $8::bytea[],
                        $9::int[], $10::int[], $77::smallint[], $81::uuid[])
                 AS u (run_id, workspace_id, request_key, body_hash, graph_hash, graph_name, graph_version, input, open, seq,
                       retain_days, as_turn), t
            -- Not an anti-join, which might read all turns: one look by key for each run, and none without runs.
            WHERE (SELECT w.withdrawn FROM hypha.turn w WHERE w.workspace_id = u.workspace_id AND w.turn_id = u.as_turn)
                  IS NOT TRUE -- a withdrawn turn's key is spent
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
                        $27::int[], $28::int[], $29::int[], $30::int[], $31::int[], $76::int[])
                 AS u (run_id, state, paused, failing, open, seq, succeeded, failed, skipped, omitted, cancelled, total,
                       unhandled, gratitude, cost, unmeasured, chain_length, chain_breadth, total_handoffs,
                       consumed_outputs, total_outputs, in_vain), t
            WHERE r.run_id = u.run_id
        ), inserted AS (
            INSERT INTO hypha.hot (run_id, n, i, state, prio, queue, turn, epoch, failures, losses, lease_id, reg, agent_id,
                                   until, deadline, total_until, sources, resumed, leased_at)
            SELECT u.run_id, u.n, u.i, u.state, u.prio, u.queue,
                   coalesce(u.turn, (extract(epoch FROM t.at) * 1000000)::bigint + u.k - 1), u.epoch,
                   u.failures, u.losses, u.lease_id, u.reg, u.agent_id,
                   coalesce(u.until_at, t.at + u.until_ms * interval '1 ms'),
                   least(t.at + u.deadline_ms * interval '1 ms', u.total_until, t.at + u.total_ms * interval '1 ms'),
                   coalesce(u.total_until, t.at + u.total_ms * interval '1 ms'), u.sources, u.resumed,
                   CASE WHEN u.state = 1 THEN t.at END
            FROM unnest($32::uuid[], $33::int[], $34::int[], $35::bool[], $36::smallint[], $37::smallint[], $38::int[],
                        $39::int[], $40::smallint[], $41::smallint[], $42::uuid[], $43::int[], $44::uuid[], $45::bigint[],
                        $46::timestamptz[], $47::bigint[], $48::bigint[], $49::timestamptz[], $50::bytea[], $51::bool[],
                        $78::bigint[])
                 WITH ORDINALITY
                 AS u (run_id, n, i, fresh, state, prio, queue, epoch, failures, losses, lease_id, reg, agent_id, until_ms,
                       until_at, deadline_ms, total_ms, total_until, sources, resumed, turn, k), t
            WHERE NOT u.fresh OR u.run_id IN (SELECT run_id FROM new_run)
        ), ended AS (
            INSERT INTO hypha.task_end (run_id, n, i, state, epoch, failures, losses, agent_id, lease_id, body_hash, at,
                                        cost_micro_usd, measured, sources, code, detail, output)
            SELECT u.run_id, u.n, u.i, u.state, u.epoch, u.failures, u.losses, u.agent_id, u.lease_id, u.body_hash, t.at,
                   u.cost, u.measured, u.sources, u.code, u.detail, u.output
            FROM unnest($52::uuid[], $53::int[], $54::int[], $55::smallint[], $56::int[], $57::smallint[], $58::smallint[],
                        $59::uuid[], $60::uuid[], $61::bigint[], $62::bigint[], $63::bool[], $64::bytea[], $65::text[],
                        $66::text[], $67::bytea[])
                 AS u (run_id, n, i, state, epoch, failures, losses, agent_id, lease_id, body_hash, cost, measured, sources,
                       code, detail, output), t
        ), told AS (
            INSERT INTO hypha.event (run_id, seq, k, at, body)
            SELECT u.run_id, u.seq, u.k, t.at, u.body
            FROM unnest($68::uuid[], $69::bool[], $70::int[], $71::int[], $72::bytea[]) AS u (run_id, fresh, seq, k, body), t
            WHERE NOT u.fresh OR u.run_id IN (SELECT run_id FROM new_run)
        ), counted AS (
            INSERT INTO hypha.settled (agent_id, settled) SELECT * FROM unnest($79::uuid[], $80::bigint[])
        ), sent AS (
            INSERT INTO hypha.outbox (receiver, body)
            SELECT u.receiver, u.body FROM unnest($73::text[], $74::bytea[]) AS u (receiver, body)
        )
        SELECT t.at AS "at!", coalesce((SELECT array_agg(run_id) FROM new_run), '{}') AS "started!",
               CASE WHEN $75::text IS NOT NULL THEN pg_notify('hypha_ready', $75)::text END AS told
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
        &column!(w.runs, r => r.retain_days) as &[Option<i16>],
        &column!(w.hot, h => h.turn) as &[Option<i64>],
        &column!(w.settled, s => s.0.as_uuid()),
        &column!(w.settled, s => s.1),
        &column!(w.runs, r => Uuid::try_parse(&r.request_key).ok()) as &[Option<Uuid>],
    )
    .fetch_one(conn)
    .await?;
    Ok(Written {
        at: row.at,
        started: row.started.into_iter().map(RunId::from_uuid).collect(),
    })
}

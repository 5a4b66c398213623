//! Runs as people see them, and their locks.

use cambium_hypha::turn::Turn;
use cambium_hypha::{Mind, TurnId};
use cambium_kernel::{RunId, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::engine::{RunHead, TaskKey, signed};

/// What never changes about a run.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    pub(crate) workspace: String,
    pub(crate) graph_hash: Vec<u8>,
    pub(crate) input: Vec<u8>,
    /// Nodes taken over from another run, a bit each.
    pub(crate) reused: Option<Vec<u8>>,
    pub(crate) turn: Option<Turn>,
}

pub(crate) async fn fixed(
    conn: &mut PgConnection,
    run: RunId,
) -> Result<Option<Fixed>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT workspace_id, graph_hash, input, reused, turn_id, instance, parent_run_id
        FROM hypha.run WHERE run_id = $1
        "#,
        run.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Fixed {
        workspace: row.workspace_id,
        graph_hash: row.graph_hash,
        input: row.input,
        reused: row.reused,
        turn: turn(row.turn_id, row.instance.as_deref(), row.parent_run_id),
    }))
}

fn turn(id: Option<Uuid>, mind: Option<&str>, parent: Option<Uuid>) -> Option<Turn> {
    Some(Turn {
        id: TurnId::from_uuid(id?),
        mind: Mind::parse(mind?)?,
        is_root: parent.is_none(),
    })
}

/// A run in full, for the wire.
#[derive(Clone, Debug)]
pub(crate) struct Full {
    pub(crate) run: RunId,
    pub(crate) workspace: String,
    pub(crate) request_key: String,
    pub(crate) graph_hash: Vec<u8>,
    pub(crate) graph_name: String,
    pub(crate) graph_version: i32,
    pub(crate) graph_nodes: i32,
    pub(crate) graph_edges: i32,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) state: i16,
    pub(crate) paused: bool,
    pub(crate) seq: i32,
    pub(crate) succeeded: i32,
    pub(crate) failed: i32,
    pub(crate) skipped: i32,
    pub(crate) omitted: i32,
    pub(crate) cancelled: i32,
    pub(crate) total: i32,
    pub(crate) gratitude: i32,
    pub(crate) cost_micro_usd: i64,
    pub(crate) unmeasured: i32,
    pub(crate) ended_at: Option<DateTime<Utc>>,
    pub(crate) chain_length: Option<i32>,
    pub(crate) chain_breadth: Option<i32>,
    pub(crate) total_handoffs: Option<i32>,
    pub(crate) consumed_outputs: Option<i32>,
    pub(crate) total_outputs: Option<i32>,
    pub(crate) dead_ends: Option<i32>,
    /// The run and task that started it.
    pub(crate) parent: Option<TaskKey>,
    pub(crate) rerun_of: Option<RunId>,
    pub(crate) reused: i32,
    pub(crate) turn: Option<Turn>,
}

macro_rules! full {
    ($row:expr) => {{
        let row = $row;
        Full {
            run: RunId::from_uuid(row.run_id),
            workspace: row.workspace_id,
            request_key: row.request_key,
            graph_hash: row.graph_hash,
            graph_name: row.graph_name,
            graph_version: row.graph_version,
            graph_nodes: row.nodes,
            graph_edges: row.edges,
            started_at: row.started_at,
            state: row.state,
            paused: row.paused,
            seq: row.seq,
            succeeded: row.succeeded,
            failed: row.failed,
            skipped: row.skipped,
            omitted: row.omitted,
            cancelled: row.cancelled,
            total: row.total,
            gratitude: row.gratitude,
            cost_micro_usd: row.cost_micro_usd,
            unmeasured: row.unmeasured,
            ended_at: row.ended_at,
            chain_length: row.chain_length,
            chain_breadth: row.chain_breadth,
            total_handoffs: row.total_handoffs,
            consumed_outputs: row.consumed_outputs,
            total_outputs: row.total_outputs,
            dead_ends: row.dead_ends,
            parent: row.parent_run_id.map(|run| {
                TaskKey::of_row(run, row.parent_n.unwrap_or(0), row.parent_i.unwrap_or(0))
            }),
            rerun_of: row.rerun_of.map(RunId::from_uuid),
            reused: row.reused_count.unwrap_or(0),
            turn: turn(row.turn_id, row.instance.as_deref(), row.parent_run_id),
        }
    }};
}

pub(crate) async fn full(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    run: RunId,
) -> Result<Option<Full>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT r.run_id, r.workspace_id, r.request_key, r.graph_hash, r.graph_name, r.graph_version, g.nodes, g.edges,
               r.started_at, r.state, r.paused, r.seq, r.succeeded, r.failed, r.skipped, r.omitted, r.cancelled, r.total,
               r.gratitude, r.cost_micro_usd, r.unmeasured, r.ended_at, r.chain_length, r.chain_breadth, r.total_handoffs,
               r.consumed_outputs, r.total_outputs, r.dead_ends, r.parent_run_id, r.parent_n, r.parent_i, r.rerun_of,
               r.reused_count, r.turn_id, r.instance
        FROM hypha.run r
        JOIN hypha.graph g ON g.workspace_id = r.workspace_id AND g.name = r.graph_name AND g.version = r.graph_version
        WHERE r.run_id = $1 AND r.workspace_id = $2
        "#,
        run.as_uuid(),
        workspace.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| full!(row)))
}

/// Newest first, below `before`.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    before: Option<RunId>,
    state: Option<i16>,
    most: i64,
) -> Result<Vec<Full>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT r.run_id, r.workspace_id, r.request_key, r.graph_hash, r.graph_name, r.graph_version, g.nodes, g.edges,
               r.started_at, r.state, r.paused, r.seq, r.succeeded, r.failed, r.skipped, r.omitted, r.cancelled, r.total,
               r.gratitude, r.cost_micro_usd, r.unmeasured, r.ended_at, r.chain_length, r.chain_breadth, r.total_handoffs,
               r.consumed_outputs, r.total_outputs, r.dead_ends, r.parent_run_id, r.parent_n, r.parent_i, r.rerun_of,
               r.reused_count, r.turn_id, r.instance
        FROM hypha.run r
        JOIN hypha.graph g ON g.workspace_id = r.workspace_id AND g.name = r.graph_name AND g.version = r.graph_version
        WHERE r.workspace_id = $1 AND ($2::uuid IS NULL OR r.run_id < $2) AND ($3::smallint IS NULL OR r.state = $3)
        ORDER BY r.run_id DESC LIMIT $4
        "#,
        workspace.as_str(),
        before.map(RunId::as_uuid),
        state,
        most,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| full!(row)).collect())
}

/// The run under a key, with the hash of what it was started with.
pub(crate) async fn by_key(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    key: &str,
) -> Result<Option<(RunId, Vec<u8>)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT run_id, body_hash FROM hypha.run WHERE workspace_id = $1 AND request_key = $2"#,
        workspace.as_str(),
        key,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (RunId::from_uuid(row.run_id), row.body_hash)))
}

/// Locks one run.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    run: RunId,
) -> Result<Option<RunHead>, sqlx::Error> {
    let heads = lock_heads(conn, &[run.as_uuid()], false).await?;
    Ok(heads.into_iter().next().map(|(_, head)| head))
}

/// Locks those of the runs that nobody else holds.
pub(crate) async fn lock_free(
    conn: &mut PgConnection,
    runs: &[Uuid],
) -> Result<Vec<(RunId, RunHead)>, sqlx::Error> {
    lock_heads(conn, runs, true).await
}

async fn lock_heads(
    conn: &mut PgConnection,
    runs: &[Uuid],
    only_free: bool,
) -> Result<Vec<(RunId, RunHead)>, sqlx::Error> {
    macro_rules! heads {
        ($rows:expr) => {
            $rows
                .into_iter()
                .map(|row| {
                    let head = RunHead {
                        state: row.state,
                        paused: row.paused,
                        failing: row.failing,
                        open: row.open,
                        seq: row.seq,
                        unhandled: row.unhandled,
                        succeeded: row.succeeded,
                        total: row.total,
                        in_vain: row.in_vain,
                    };
                    (RunId::from_uuid(row.run_id), head)
                })
                .collect()
        };
    }
    if only_free {
        let rows = sqlx::query!(
            r#"
            SELECT run_id, state, paused, failing, open, seq, unhandled, succeeded, total, in_vain
            FROM hypha.run WHERE run_id = ANY ($1) ORDER BY run_id FOR NO KEY UPDATE SKIP LOCKED
            "#,
            runs,
        )
        .fetch_all(conn)
        .await?;
        Ok(heads!(rows))
    } else {
        let rows = sqlx::query!(
            r#"
            SELECT run_id, state, paused, failing, open, seq, unhandled, succeeded, total, in_vain
            FROM hypha.run WHERE run_id = ANY ($1) ORDER BY run_id FOR NO KEY UPDATE
            "#,
            runs,
        )
        .fetch_all(conn)
        .await?;
        Ok(heads!(rows))
    }
}

/// Writes the gift metrics of a run that ends in this transaction.
pub(crate) async fn set_gift(
    conn: &mut PgConnection,
    run: RunId,
    metrics: [i32; 5],
    dead_ends: u32,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        UPDATE hypha.run
        SET chain_length = $2, chain_breadth = $3, total_handoffs = $4, consumed_outputs = $5, total_outputs = $6,
            dead_ends = $7
        WHERE run_id = $1
        "#,
        run.as_uuid(),
        metrics[0],
        metrics[1],
        metrics[2],
        metrics[3],
        metrics[4],
        signed(dead_ends),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether the run is still there.
pub(crate) async fn exists(conn: &mut PgConnection, run: RunId) -> Result<bool, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT 1 AS one FROM hypha.run WHERE run_id = $1"#,
        run.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.is_some())
}

/// A run that starts in a transaction of its own: a task's child, a rerun, or both.
#[derive(Clone, Debug)]
pub(crate) struct Launched<'a> {
    pub(crate) run: RunId,
    pub(crate) workspace: &'a WorkspaceId,
    pub(crate) request_key: &'a str,
    pub(crate) body_hash: &'a [u8],
    pub(crate) graph_hash: &'a [u8],
    pub(crate) graph_name: &'a str,
    pub(crate) graph_version: i32,
    pub(crate) retain_days: Option<i16>,
    pub(crate) input: &'a [u8],
    pub(crate) parent: Option<TaskKey>,
    pub(crate) rerun_of: Option<RunId>,
    pub(crate) reused: Option<&'a [u8]>,
    pub(crate) turn: Option<&'a Turn>,
}

/// Inserts a run without any of its tasks, unless its key is taken. Answers whether it did. The row is locked with that.
pub(crate) async fn launch(
    conn: &mut PgConnection,
    new: &Launched<'_>,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        r#"
        INSERT INTO hypha.run (run_id, workspace_id, request_key, body_hash, graph_hash, graph_name, graph_version,
                               started_at, input, open, total, seq, retain_days, parent_run_id, parent_n, parent_i, rerun_of,
                               reused, turn_id, instance)
        VALUES ($1, $2, $3, $4, $5, $6, $7, hypha.now(), $8, 0, 0, 0, $9, $10, $11, $12, $13, $14, $15, $16)
        ON CONFLICT ON CONSTRAINT run_key_once DO NOTHING
        "#,
        new.run.as_uuid(),
        new.workspace.as_str(),
        new.request_key,
        new.body_hash,
        new.graph_hash,
        new.graph_name,
        new.graph_version,
        new.input,
        new.retain_days,
        new.parent.map(|task| task.run.as_uuid()),
        new.parent.map(|task| signed(task.n)),
        new.parent.map(|task| signed(task.i)),
        new.rerun_of.map(RunId::as_uuid),
        new.reused,
        new.turn.map(|turn| turn.id.as_uuid()),
        new.turn.map(|turn| turn.mind.as_str()),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Keeps a run from being deleted until the transaction ends. Answers whether it is still there, and then all of it is.
pub(crate) async fn hold(conn: &mut PgConnection, run: RunId) -> Result<bool, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT 1 AS one FROM hypha.run WHERE run_id = $1 FOR KEY SHARE"#,
        run.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.is_some())
}

/// What a rerun takes over, by how it ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TakenOver {
    pub(crate) tasks: i32,
    pub(crate) succeeded: i32,
    pub(crate) failed: i32,
    pub(crate) skipped: i32,
    pub(crate) omitted: i32,
}

/// Copies ended nodes of one run into another, with their fan-outs and members, and counts the tasks on it. A group is no
/// task: its members stand for it.
pub(crate) async fn take_over(
    conn: &mut PgConnection,
    from: RunId,
    to: RunId,
    nodes: &[i32],
) -> Result<TakenOver, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        WITH fans AS (
            INSERT INTO hypha.fan (run_id, n, total, ended, failed, cancelled)
            SELECT $2, n, total, ended, failed, cancelled FROM hypha.fan WHERE run_id = $1 AND n = ANY ($3)
        ), ends AS (
            INSERT INTO hypha.task_end (run_id, n, i, state, epoch, failures, losses, agent_id, lease_id, at, sources, code,
                                        detail, output)
            SELECT $2, n, i, state, epoch, failures, losses, agent_id, lease_id, at, sources, code, detail, output
            FROM hypha.task_end WHERE run_id = $1 AND n = ANY ($3)
            RETURNING n, i, state
        ), tasks AS (
            SELECT e.state FROM ends e
            WHERE e.i > 0 OR NOT EXISTS (SELECT FROM hypha.fan f WHERE f.run_id = $1 AND f.n = e.n)
        ), counted AS (
            SELECT count(*)::int AS tasks, (count(*) FILTER (WHERE state = 6))::int AS succeeded,
                   (count(*) FILTER (WHERE state = 7))::int AS failed, (count(*) FILTER (WHERE state = 8))::int AS skipped,
                   (count(*) FILTER (WHERE state = 9))::int AS omitted
            FROM tasks
        ), noted AS (
            UPDATE hypha.run r SET reused_count = c.tasks FROM counted c WHERE r.run_id = $2
        )
        SELECT tasks AS "tasks!", succeeded AS "succeeded!", failed AS "failed!", skipped AS "skipped!", omitted AS "omitted!"
        FROM counted
        "#,
        from.as_uuid(),
        to.as_uuid(),
        nodes,
    )
    .fetch_one(conn)
    .await?;
    Ok(TakenOver {
        tasks: row.tasks,
        succeeded: row.succeeded,
        failed: row.failed,
        skipped: row.skipped,
        omitted: row.omitted,
    })
}

//! What explanations read: a few rows, or many that the database counts. Nothing is loaded that grows with a run.

use cambium_kernel::RunId;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::engine::{TaskKey, signed, unsigned};
use super::tally::Fan;

/// Where a run stands.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) state: i16,
    pub(crate) paused: bool,
    pub(crate) failing: bool,
    pub(crate) rerun_of: Option<RunId>,
}

pub(crate) async fn standing(
    conn: &mut PgConnection,
    run: RunId,
) -> Result<Option<Standing>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT state, paused, failing, rerun_of FROM hypha.run WHERE run_id = $1"#,
        run.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Standing {
        state: row.state,
        paused: row.paused,
        failing: row.failing,
        rerun_of: row.rerun_of.map(RunId::from_uuid),
    }))
}

/// A task that is ready, leased or waiting for a moment, with the names of those concerned.
#[derive(Clone, Debug)]
pub(crate) struct Hot {
    pub(crate) state: i16,
    pub(crate) failures: i16,
    pub(crate) until: Option<DateTime<Utc>>,
    pub(crate) deadline: Option<DateTime<Utc>>,
    /// Told to stop, since nobody waits for it any more.
    pub(crate) stop: bool,
    pub(crate) agent: Option<String>,
    pub(crate) worker: Option<String>,
    /// What it has parked on.
    pub(crate) signal: Option<String>,
    /// Why its last failed attempt did.
    pub(crate) code: Option<String>,
}

pub(crate) async fn hot(
    conn: &mut PgConnection,
    task: TaskKey,
) -> Result<Option<Hot>, sqlx::Error> {
    sqlx::query_as!(
        Hot,
        r#"
        SELECT h.state, h.failures, h.until, h.deadline, h.stop, a.name AS "agent?", r.worker AS "worker?",
               p.signal AS "signal?",
               (SELECT t.code FROM hypha.attempt t
                WHERE t.run_id = h.run_id AND t.n = h.n AND t.i = h.i AND t.ended_as = 'failed'
                ORDER BY t.epoch DESC LIMIT 1) AS code
        FROM hypha.hot h
        LEFT JOIN hypha.agent a ON a.agent_id = h.agent_id
        LEFT JOIN hypha.registration r ON r.reg = h.reg
        LEFT JOIN hypha.park p ON h.state = 3 AND p.run_id = h.run_id AND p.n = h.n AND p.i = h.i
        WHERE h.run_id = $1 AND h.n = $2 AND h.i = $3
        "#,
        task.run.as_uuid(),
        signed(task.n),
        signed(task.i),
    )
    .fetch_optional(conn)
    .await
}

/// How many tasks of a run are in each state of hot rows; of one node's members alone, where one is named.
pub(crate) async fn states(
    conn: &mut PgConnection,
    run: RunId,
    members_of: Option<u32>,
) -> Result<Vec<(i16, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT state, count(*) AS "tasks!" FROM hypha.hot
        WHERE run_id = $1 AND ($2::int IS NULL OR n = $2 AND i > 0)
        GROUP BY state ORDER BY state
        "#,
        run.as_uuid(),
        members_of.map(signed),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.state, row.tasks)).collect())
}

/// Tasks of a run that are alike: ready in one queue, leased by one worker, parked on one signal, or only in one state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alike {
    pub(crate) tasks: i64,
    /// The one that is served first.
    pub(crate) first: TaskKey,
}

/// What of a run is ready, leased or waiting for a moment, up to `most` groups, in the order of their first tasks.
pub(crate) async fn alike(
    conn: &mut PgConnection,
    run: RunId,
    most: i64,
) -> Result<Vec<Alike>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT g.tasks AS "tasks!", g.first[3]::int AS "n!", g.first[4]::int AS "i!"
        FROM (
            SELECT h.state, count(*) AS tasks,
                   min(ARRAY[h.prio::bigint, h.turn, h.n::bigint, h.i::bigint]) AS first
            FROM hypha.hot h
            LEFT JOIN hypha.park p ON h.state = 3 AND p.run_id = h.run_id AND p.n = h.n AND p.i = h.i
            WHERE h.run_id = $1
            GROUP BY h.state, CASE h.state WHEN 0 THEN h.queue WHEN 1 THEN h.reg END, h.stop, p.signal
        ) g
        ORDER BY g.state <> 3, g.state, g.first -- what waits for a person comes first
        LIMIT $2
        "#,
        run.as_uuid(),
        most,
    )
    .fetch_all(conn)
    .await?;
    let alike = rows.into_iter().map(|row| Alike {
        tasks: row.tasks,
        first: TaskKey {
            run,
            n: unsigned(row.n),
            i: unsigned(row.i),
        },
    });
    Ok(alike.collect())
}

/// When the last leased task of a closing run is revoked.
pub(crate) async fn last_deadline(
    conn: &mut PgConnection,
    run: RunId,
) -> Result<Option<DateTime<Utc>>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT max(deadline) AS last FROM hypha.hot WHERE run_id = $1 AND state = 1"#,
        run.as_uuid(),
    )
    .fetch_one(conn)
    .await?;
    Ok(row.last)
}

/// A node that has not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unended {
    pub(crate) n: u32,
    /// Of its hot row, if it has one.
    pub(crate) state: Option<i16>,
    /// How many of its members have ended, and how many there are, if it has fanned out.
    pub(crate) members: Option<(u32, u32)>,
}

/// Up to `most` of the nodes that have not ended.
pub(crate) async fn unended(
    conn: &mut PgConnection,
    run: RunId,
    nodes: &[u32],
    most: i64,
) -> Result<Vec<Unended>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT o.n AS "n!", h.state AS "state?", f.ended AS "ended?", f.total AS "total?"
        FROM (
            SELECT u.n FROM unnest($2::int[]) AS u (n)
            LEFT JOIN LATERAL ( -- one look at a key each, until there are enough
                SELECT true AS ended FROM hypha.task_end e WHERE e.run_id = $1 AND e.n = u.n AND e.i = 0 LIMIT 1
            ) e ON true
            WHERE e.ended IS NULL
            LIMIT $3
        ) o
        LEFT JOIN hypha.hot h ON h.run_id = $1 AND h.n = o.n AND h.i = 0
        LEFT JOIN hypha.fan f ON f.run_id = $1 AND f.n = o.n
        ORDER BY o.n
        "#,
        run.as_uuid(),
        &nodes.iter().map(|n| signed(*n)).collect::<Vec<_>>(),
        most,
    )
    .fetch_all(conn)
    .await?;
    let unended = rows.into_iter().map(|row| Unended {
        n: unsigned(row.n),
        state: row.state,
        members: row
            .ended
            .zip(row.total)
            .map(|(ended, total)| (unsigned(ended), unsigned(total))),
    });
    Ok(unended.collect())
}

/// How many edges into a node have fired and died. A node with a single edge has no tally.
pub(crate) async fn tally(
    conn: &mut PgConnection,
    run: RunId,
    n: u32,
) -> Result<(u32, u32), sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT fired, dead FROM hypha.tally WHERE run_id = $1 AND n = $2"#,
        run.as_uuid(),
        signed(n),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map_or((0, 0), |row| (unsigned(row.fired), unsigned(row.dead))))
}

/// An edge, with what its upstream node may end as for it to fire: a bit for each end state, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched {
    pub(crate) edge: u32,
    pub(crate) from: u32,
    pub(crate) fires_on: i32,
}

/// Up to `most` of the edges whose upstream node ended as something else, with that end state.
pub(crate) async fn dead(
    conn: &mut PgConnection,
    run: RunId,
    edges: &[Watched],
    most: i64,
) -> Result<Vec<(u32, i16)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT u.edge AS "edge!", e.state AS "state!"
        FROM unnest($2::int[], $3::int[], $4::int[]) AS u (edge, n, fires_on)
        CROSS JOIN LATERAL (
            SELECT e.state FROM hypha.task_end e WHERE e.run_id = $1 AND e.n = u.n AND e.i = 0 LIMIT 1
        ) e
        WHERE (u.fires_on >> (e.state - 6)) & 1 = 0
        LIMIT $5
        "#,
        run.as_uuid(),
        &edges.iter().map(|e| signed(e.edge)).collect::<Vec<_>>(),
        &edges.iter().map(|e| signed(e.from)).collect::<Vec<_>>(),
        &edges.iter().map(|e| e.fires_on).collect::<Vec<_>>(),
        most,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (unsigned(row.edge), row.state))
        .collect())
}

/// Tasks that failed with the same code.
#[derive(Clone, Debug)]
pub(crate) struct Failures {
    pub(crate) tasks: i64,
    /// The one that failed first.
    pub(crate) first: TaskKey,
}

/// What failed in a run, up to `most` codes, first things first. A fan-out's own failure is not among them: its members' are.
pub(crate) async fn failures(
    conn: &mut PgConnection,
    run: RunId,
    most: i64,
) -> Result<Vec<Failures>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT g.tasks AS "tasks!", g.n AS "n!", g.i AS "i!"
        FROM (
            SELECT count(*) AS tasks, min(at) AS at, (array_agg(n ORDER BY at, n, i))[1] AS n,
                   (array_agg(i ORDER BY at, n, i))[1] AS i
            FROM hypha.task_end WHERE run_id = $1 AND state = 7 AND code IS NOT NULL
            GROUP BY code
        ) g
        ORDER BY g.at, g.n, g.i LIMIT $2
        "#,
        run.as_uuid(),
        most,
    )
    .fetch_all(conn)
    .await?;
    let failures = rows.into_iter().map(|row| Failures {
        tasks: row.tasks,
        first: TaskKey {
            run,
            n: unsigned(row.n),
            i: unsigned(row.i),
        },
    });
    Ok(failures.collect())
}

/// The first nodes of a run that failed, with their codes.
pub(crate) async fn failed_nodes(
    conn: &mut PgConnection,
    run: RunId,
    most: i64,
) -> Result<Vec<(u32, Option<String>)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT n, code FROM hypha.task_end WHERE run_id = $1 AND state = 7 AND i = 0 ORDER BY at, n LIMIT $2"#,
        run.as_uuid(),
        most,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (unsigned(row.n), row.code))
        .collect())
}

/// The first members of a fan-out that failed.
pub(crate) async fn failed_members(
    conn: &mut PgConnection,
    group: TaskKey,
    most: i64,
) -> Result<Vec<u32>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT i FROM hypha.task_end WHERE run_id = $1 AND n = $2 AND i > 0 AND state = 7 ORDER BY i LIMIT $3"#,
        group.run.as_uuid(),
        signed(group.n),
        most,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| unsigned(row.i)).collect())
}

/// The fan-out of one node, if it has fanned out.
pub(crate) async fn fan(
    conn: &mut PgConnection,
    run: RunId,
    n: u32,
) -> Result<Option<Fan>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT total, ended, failed, cancelled FROM hypha.fan WHERE run_id = $1 AND n = $2"#,
        run.as_uuid(),
        signed(n),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Fan {
        run,
        n,
        total: unsigned(row.total),
        ended: unsigned(row.ended),
        failed: unsigned(row.failed),
        cancelled: unsigned(row.cancelled),
    }))
}

//! Ready, leased and waiting work, outside the two statements of the hot path.

use cambium_kernel::{AgentId, LeaseId, RunId};
use sqlx::PgConnection;

use super::engine::{TaskKey, signed, unsigned};

/// A hot row that a sweep or an explanation looks at.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) task: TaskKey,
    pub(crate) state: i16,
    pub(crate) epoch: i32,
    pub(crate) failures: i16,
    pub(crate) losses: i16,
    pub(crate) lease: Option<LeaseId>,
    pub(crate) agent: Option<AgentId>,
    pub(crate) sources: Option<Vec<u8>>,
    pub(crate) overdue: bool,
}

macro_rules! seen {
    ($rows:expr) => {
        $rows
            .into_iter()
            .map(|row| Seen {
                task: TaskKey::of_row(row.run_id, row.n, row.i),
                state: row.state,
                epoch: row.epoch,
                failures: row.failures,
                losses: row.losses,
                lease: row.lease_id.map(LeaseId::from_uuid),
                agent: row.agent_id.map(AgentId::from_uuid),
                sources: row.sources,
                overdue: row.overdue,
            })
            .collect()
    };
}

/// Rows whose moment has passed: expired leases, ended back-offs and parks, timeouts.
pub(crate) async fn due(conn: &mut PgConnection, most: i64) -> Result<Vec<Seen>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        (SELECT run_id AS "run_id!", n AS "n!", i AS "i!", state AS "state!", epoch AS "epoch!", failures AS "failures!",
                losses AS "losses!", lease_id, agent_id, sources, false AS "overdue!"
         FROM hypha.hot WHERE state > 0 AND state < 4 AND until <= (SELECT hypha.now()) LIMIT $1)
        UNION ALL
        (SELECT run_id, n, i, state, epoch, failures, losses, lease_id, agent_id, sources, true
         FROM hypha.hot WHERE deadline <= (SELECT hypha.now()) ORDER BY deadline LIMIT $1)
        "#,
        most,
    )
    .fetch_all(conn)
    .await?;
    Ok(seen!(rows))
}

/// Decisions that nobody brought to an end in time. They are this caller's for another while.
pub(crate) async fn take_decisions(
    conn: &mut PgConnection,
    term_ms: i64,
    most: i64,
) -> Result<Vec<Seen>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        UPDATE hypha.hot h SET until = hypha.now() + $1::bigint * interval '1 ms'
        FROM (
            SELECT run_id, n, i FROM hypha.hot WHERE state = 4 AND until <= (SELECT hypha.now())
            LIMIT $2 FOR UPDATE SKIP LOCKED
        ) late
        WHERE h.run_id = late.run_id AND h.n = late.n AND h.i = late.i
        RETURNING h.run_id, h.n, h.i, h.state, h.epoch, h.failures, h.losses, h.lease_id, h.agent_id, h.sources,
                  false AS "overdue!"
        "#,
        term_ms,
        most,
    )
    .fetch_all(conn)
    .await?;
    Ok(seen!(rows))
}

/// The hot rows of one run.
pub(crate) async fn of_run(conn: &mut PgConnection, run: RunId) -> Result<Vec<Seen>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT run_id, n, i, state, epoch, failures, losses, lease_id, agent_id, sources,
               coalesce(deadline <= hypha.now(), false) AS "overdue!"
        FROM hypha.hot WHERE run_id = $1 ORDER BY n, i
        "#,
        run.as_uuid(),
    )
    .fetch_all(conn)
    .await?;
    Ok(seen!(rows))
}

/// One hot row.
pub(crate) async fn one(
    conn: &mut PgConnection,
    task: TaskKey,
) -> Result<Option<Seen>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT run_id, n, i, state, epoch, failures, losses, lease_id, agent_id, sources,
               coalesce(deadline <= hypha.now(), false) AS "overdue!"
        FROM hypha.hot WHERE run_id = $1 AND n = $2 AND i = $3
        "#,
        task.run.as_uuid(),
        signed(task.n),
        signed(task.i),
    )
    .fetch_all(conn)
    .await?;
    let rows: Vec<Seen> = seen!(rows);
    Ok(rows.into_iter().next())
}

/// The registration that holds this lease of a task, if anybody does.
pub(crate) async fn holder(
    conn: &mut PgConnection,
    task: TaskKey,
    lease: LeaseId,
) -> Result<Option<i32>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT reg AS "reg!" FROM hypha.hot
        WHERE run_id = $1 AND n = $2 AND i = $3 AND lease_id = $4 AND reg IS NOT NULL
        "#,
        task.run.as_uuid(),
        signed(task.n),
        signed(task.i),
        lease.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| row.reg))
}

/// Who holds a lease that is alive: the registration, and the agent it was leased for.
pub(crate) async fn live(
    conn: &mut PgConnection,
    task: TaskKey,
    lease: LeaseId,
    epoch: i32,
) -> Result<Option<(i32, AgentId)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT reg AS "reg!", agent_id AS "agent_id!" FROM hypha.hot
        WHERE run_id = $1 AND n = $2 AND i = $3 AND state = 1 AND lease_id = $4 AND epoch = $5 AND until > hypha.now()
          AND reg IS NOT NULL AND agent_id IS NOT NULL
        "#,
        task.run.as_uuid(),
        signed(task.n),
        signed(task.i),
        lease.as_uuid(),
        epoch,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (row.reg, AgentId::from_uuid(row.agent_id))))
}

/// Whether an attempt is still leased. The caller holds the run's lock.
pub(crate) async fn is_leased(
    conn: &mut PgConnection,
    task: TaskKey,
    epoch: i32,
) -> Result<bool, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT EXISTS (
            SELECT FROM hypha.hot
            WHERE run_id = $1 AND n = $2 AND i = $3 AND state = 1 AND epoch = $4 AND until > hypha.now()
        ) AS "leased!"
        "#,
        task.run.as_uuid(),
        signed(task.n),
        signed(task.i),
        epoch,
    )
    .fetch_one(conn)
    .await?;
    Ok(row.leased)
}

/// Which of these nodes have begun: those with a task that is ready, leased or waiting for a moment, that have fanned out
/// or ended.
pub(crate) async fn begun(
    conn: &mut PgConnection,
    run: RunId,
    nodes: &[u32],
) -> Result<Vec<(u32, bool)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT u.n AS "n!", EXISTS (SELECT FROM hypha.task_end e WHERE e.run_id = $1 AND e.n = u.n AND e.i = 0) AS "ended!",
               EXISTS (SELECT FROM hypha.hot h WHERE h.run_id = $1 AND h.n = u.n)
               OR EXISTS (SELECT FROM hypha.fan f WHERE f.run_id = $1 AND f.n = u.n) AS "begun!"
        FROM unnest($2::int[]) AS u (n)
        "#,
        run.as_uuid(),
        &nodes.iter().map(|n| signed(*n)).collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await?;
    let begun = rows.into_iter().filter(|row| row.ended || row.begun);
    Ok(begun.map(|row| (unsigned(row.n), row.ended)).collect())
}

/// Takes out tasks of these nodes that are not leased.
pub(crate) async fn take_unleased_of(
    conn: &mut PgConnection,
    run: RunId,
    nodes: &[u32],
) -> Result<Vec<(TaskKey, i32, i16, i16)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        DELETE FROM hypha.hot WHERE run_id = $1 AND n = ANY ($2) AND state <> 1
        RETURNING n, i, epoch, failures, losses
        "#,
        run.as_uuid(),
        &nodes.iter().map(|n| signed(*n)).collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await?;
    let taken = rows.into_iter().map(|row| {
        let task = TaskKey {
            run,
            n: unsigned(row.n),
            i: unsigned(row.i),
        };
        (task, row.epoch, row.failures, row.losses)
    });
    Ok(taken.collect())
}

/// Tells the workers of these nodes to stop, by their next heartbeat; their leases end at the latest after `grace_ms`.
/// Answers which attempts these are.
pub(crate) async fn stop_leased(
    conn: &mut PgConnection,
    run: RunId,
    nodes: &[u32],
    grace_ms: i64,
) -> Result<Vec<(TaskKey, i32)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        UPDATE hypha.hot SET stop = true, deadline = least(deadline, hypha.now() + $3::bigint * interval '1 ms')
        WHERE run_id = $1 AND n = ANY ($2) AND state = 1 AND NOT stop
        RETURNING n, i, epoch
        "#,
        run.as_uuid(),
        &nodes.iter().map(|n| signed(*n)).collect::<Vec<_>>(),
        grace_ms,
    )
    .fetch_all(conn)
    .await?;
    let stopped = rows.into_iter().map(|row| {
        let task = TaskKey {
            run,
            n: unsigned(row.n),
            i: unsigned(row.i),
        };
        (task, row.epoch)
    });
    Ok(stopped.collect())
}

/// Takes out everything of a run that is not leased, for its closing.
pub(crate) async fn take_unleased(
    conn: &mut PgConnection,
    run: RunId,
) -> Result<Vec<(TaskKey, i32, i16, i16)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"DELETE FROM hypha.hot WHERE run_id = $1 AND state <> 1 RETURNING n, i, epoch, failures, losses"#,
        run.as_uuid(),
    )
    .fetch_all(conn)
    .await?;
    let taken = rows.into_iter().map(|row| {
        let task = TaskKey {
            run,
            n: unsigned(row.n),
            i: unsigned(row.i),
        };
        (task, row.epoch, row.failures, row.losses)
    });
    Ok(taken.collect())
}

/// Nodes and members of a run that are leased; their leases end at the latest after `grace_ms`.
pub(crate) async fn limit_leased(
    conn: &mut PgConnection,
    run: RunId,
    grace_ms: i64,
) -> Result<Vec<TaskKey>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        UPDATE hypha.hot SET deadline = least(deadline, hypha.now() + $2::bigint * interval '1 ms')
        WHERE run_id = $1 AND state = 1 RETURNING n, i
        "#,
        run.as_uuid(),
        grace_ms,
    )
    .fetch_all(conn)
    .await?;
    let leased = rows.into_iter().map(|row| TaskKey {
        run,
        n: unsigned(row.n),
        i: unsigned(row.i),
    });
    Ok(leased.collect())
}

/// Ready work of a run steps aside while the run is paused.
pub(crate) async fn hold(conn: &mut PgConnection, run: RunId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        // A pause is nobody's queue: what waits for a worker no longer runs out of time for one.
        r#"UPDATE hypha.hot SET state = 5, deadline = total_until WHERE run_id = $1 AND state = 0"#,
        run.as_uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Held work queues again, behind what waits already. Returns the queues and priorities it went to.
pub(crate) async fn unhold(
    conn: &mut PgConnection,
    run: RunId,
) -> Result<Vec<(i32, i16)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        WITH back AS (
            UPDATE hypha.hot SET state = 0, turn = (extract(epoch FROM hypha.now()) * 1000000)::bigint
            WHERE run_id = $1 AND state = 5 RETURNING queue, prio
        )
        SELECT DISTINCT queue AS "queue!", prio AS "prio!" FROM back
        "#,
        run.as_uuid(),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.queue, row.prio)).collect())
}

/// One lease to renew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beat {
    pub(crate) task: TaskKey,
    pub(crate) lease: LeaseId,
    pub(crate) epoch: i32,
}

/// Renews the leases that still hold. Returns which (by index) and whether the worker shall stop.
pub(crate) async fn renew(
    conn: &mut PgConnection,
    reg: i32,
    lease_ms: i64,
    beats: &[Beat],
) -> Result<Vec<(usize, bool)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        WITH held AS MATERIALIZED (
            SELECT u.k, h.run_id, h.n, h.i
            FROM unnest($1::uuid[], $2::int[], $3::int[], $4::int[], $5::uuid[])
                 WITH ORDINALITY AS u (run_id, n, i, epoch, lease_id, k)
            JOIN hypha.hot h ON h.run_id = u.run_id AND h.n = u.n AND h.i = u.i AND h.epoch = u.epoch
                            AND h.lease_id = u.lease_id
            WHERE h.state = 1 AND h.until > hypha.now() AND h.reg = $6
            ORDER BY h.run_id, h.n, h.i
            FOR UPDATE OF h
        ), renewed AS (
            UPDATE hypha.hot h SET until = hypha.now() + $7::bigint * interval '1 ms'
            FROM held WHERE h.run_id = held.run_id AND h.n = held.n AND h.i = held.i
            RETURNING held.k, held.run_id, h.stop
        )
        SELECT renewed.k AS "k!", (r.state <> 1 OR r.failing OR renewed.stop) AS "closing!"
        FROM renewed JOIN hypha.run r ON r.run_id = renewed.run_id
        "#,
        &beats.iter().map(|b| b.task.run.as_uuid()).collect::<Vec<_>>(),
        &beats.iter().map(|b| signed(b.task.n)).collect::<Vec<_>>(),
        &beats.iter().map(|b| signed(b.task.i)).collect::<Vec<_>>(),
        &beats.iter().map(|b| b.epoch).collect::<Vec<_>>(),
        &beats.iter().map(|b| b.lease.as_uuid()).collect::<Vec<_>>(),
        reg,
        lease_ms,
    )
    .fetch_all(conn)
    .await?;
    let renewed = rows.into_iter().map(|row| {
        (
            usize::try_from(row.k - 1).unwrap_or(usize::MAX),
            row.closing,
        )
    });
    Ok(renewed.collect())
}

/// How many ready rows of the same queue are served before this one; 1,000 stands for all that is more.
pub(crate) async fn place(conn: &mut PgConnection, task: TaskKey) -> Result<i64, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT count(*) AS "before!"
        FROM hypha.hot me
        CROSS JOIN LATERAL (
            SELECT 1 FROM hypha.hot h
            WHERE h.state = 0 AND h.queue = me.queue
              AND (h.prio, h.turn, h.run_id, h.n, h.i) < (me.prio, me.turn, me.run_id, me.n, me.i)
            LIMIT 1000
        ) ahead
        WHERE me.run_id = $1 AND me.n = $2 AND me.i = $3
        "#,
        task.run.as_uuid(),
        signed(task.n),
        signed(task.i),
    )
    .fetch_one(conn)
    .await?;
    Ok(row.before)
}

/// Parked rows of a run that wait for a signal, longest first.
pub(crate) async fn parked_on(
    conn: &mut PgConnection,
    run: RunId,
    signal: &str,
) -> Result<Option<(TaskKey, i32)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT h.n, h.i, h.epoch
        FROM hypha.park p JOIN hypha.hot h ON h.run_id = p.run_id AND h.n = p.n AND h.i = p.i
        WHERE p.run_id = $1 AND p.signal = $2 AND h.state = 3 AND p.payload IS NULL AND NOT p.timed_out
        ORDER BY h.turn, h.n, h.i LIMIT 1
        "#,
        run.as_uuid(),
        signal,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| {
        let task = TaskKey {
            run,
            n: unsigned(row.n),
            i: unsigned(row.i),
        };
        (task, row.epoch)
    }))
}

//! How tasks ended.

use bytes::Bytes;
use cambium_kernel::{AgentId, LeaseId, RunId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::engine::{TaskKey, signed, unsigned};

/// An ended task without its output.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) task: TaskKey,
    pub(crate) state: i16,
    pub(crate) epoch: i32,
    pub(crate) failures: i16,
    pub(crate) losses: i16,
    pub(crate) agent: Option<AgentId>,
    pub(crate) sources: Option<Vec<u8>>,
    pub(crate) at: DateTime<Utc>,
    pub(crate) cost: Option<(i64, bool)>,
    pub(crate) code: Option<String>,
    pub(crate) detail: Option<String>,
}

/// Ended tasks of a run, by node and member, after a place.
pub(crate) async fn ends(
    conn: &mut PgConnection,
    run: RunId,
    after: Option<(u32, u32)>,
    most: i64,
) -> Result<Vec<End>, sqlx::Error> {
    let (after_n, after_i) = after.map_or((-1, -1), |(n, i)| (signed(n), signed(i)));
    let rows = sqlx::query!(
        r#"
        SELECT n, i, state, epoch, failures, losses, agent_id, sources, at, cost_micro_usd, measured, code, detail
        FROM hypha.task_end WHERE run_id = $1 AND (n, i) > ($2, $3) ORDER BY n, i LIMIT $4
        "#,
        run.as_uuid(),
        after_n,
        after_i,
        most,
    )
    .fetch_all(conn)
    .await?;
    let ends = rows.into_iter().map(|row| End {
        task: TaskKey {
            run,
            n: unsigned(row.n),
            i: unsigned(row.i),
        },
        state: row.state,
        epoch: row.epoch,
        failures: row.failures,
        losses: row.losses,
        agent: row.agent_id.map(AgentId::from_uuid),
        sources: row.sources,
        at: row.at,
        cost: row.cost_micro_usd.zip(row.measured),
        code: row.code,
        detail: row.detail,
    });
    Ok(ends.collect())
}

/// One ended task, if it has ended.
pub(crate) async fn end(
    conn: &mut PgConnection,
    task: TaskKey,
) -> Result<Option<End>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT state, epoch, failures, losses, agent_id, sources, at, cost_micro_usd, measured, code, detail
        FROM hypha.task_end WHERE run_id = $1 AND n = $2 AND i = $3
        "#,
        task.run.as_uuid(),
        signed(task.n),
        signed(task.i),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| End {
        task,
        state: row.state,
        epoch: row.epoch,
        failures: row.failures,
        losses: row.losses,
        agent: row.agent_id.map(AgentId::from_uuid),
        sources: row.sources,
        at: row.at,
        cost: row.cost_micro_usd.zip(row.measured),
        code: row.code,
        detail: row.detail,
    }))
}

/// End states of nodes of a run that have ended.
pub(crate) async fn states(
    conn: &mut PgConnection,
    run: RunId,
    nodes: &[u32],
) -> Result<Vec<(u32, i16)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT n, state FROM hypha.task_end WHERE run_id = $1 AND i = 0 AND n = ANY ($2)"#,
        run.as_uuid(),
        &nodes.iter().map(|n| signed(*n)).collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (unsigned(row.n), row.state))
        .collect())
}

/// All nodes of a run that have ended.
pub(crate) async fn ended_nodes(
    conn: &mut PgConnection,
    run: RunId,
) -> Result<Vec<u32>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT n FROM hypha.task_end WHERE run_id = $1 AND i = 0"#,
        run.as_uuid(),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| unsigned(row.n)).collect())
}

/// How all nodes of a run ended, with the code of those that say why.
pub(crate) async fn node_ends(
    conn: &mut PgConnection,
    run: RunId,
) -> Result<Vec<(u32, i16, Option<String>)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT n, state, code FROM hypha.task_end WHERE run_id = $1 AND i = 0 ORDER BY n"#,
        run.as_uuid(),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (unsigned(row.n), row.state, row.code))
        .collect())
}

/// Outputs of tasks that succeeded: a node's own, or those of all its members, in order.
pub(crate) async fn outputs(
    conn: &mut PgConnection,
    nodes: &[(RunId, u32)],
) -> Result<Vec<(TaskKey, Bytes)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT e.run_id, e.n, e.i, coalesce(e.output, '') AS "output!"
        FROM unnest($1::uuid[], $2::int[]) AS u (run_id, n)
        JOIN hypha.task_end e ON e.run_id = u.run_id AND e.n = u.n
        WHERE e.state = 6
        ORDER BY e.run_id, e.n, e.i
        "#,
        &nodes
            .iter()
            .map(|(run, _)| run.as_uuid())
            .collect::<Vec<_>>(),
        &nodes.iter().map(|(_, n)| signed(*n)).collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await?;
    let outputs = rows.into_iter().map(|row| {
        let task = TaskKey::of_row(row.run_id, row.n, row.i);
        (task, Bytes::from(row.output))
    });
    Ok(outputs.collect())
}

/// The ended attempt under a lease: the state its task went to, and a hash of the body that ended it.
pub(crate) async fn receipt(
    conn: &mut PgConnection,
    task: TaskKey,
    epoch: i32,
    lease: LeaseId,
) -> Result<Option<(i16, Option<i64>)>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT state AS "went!", body_hash FROM hypha.task_end
        WHERE run_id = $1 AND n = $2 AND i = $3 AND epoch = $4 AND lease_id = $5
        UNION ALL
        SELECT went, body_hash FROM hypha.attempt
        WHERE run_id = $1 AND n = $2 AND i = $3 AND epoch = $4 AND lease_id = $5
        "#,
        task.run.as_uuid(),
        signed(task.n),
        signed(task.i),
        epoch,
        lease.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (row.went, row.body_hash)))
}

/// Whose attempt it was that ended because its lease ran out or was revoked.
pub(crate) async fn lost_by(
    conn: &mut PgConnection,
    task: TaskKey,
    epoch: i32,
    lease: LeaseId,
) -> Result<Option<AgentId>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT agent_id FROM hypha.attempt
        WHERE run_id = $1 AND n = $2 AND i = $3 AND epoch = $4 AND lease_id = $5 AND ended_as IN ('lost', 'revoked')
        "#,
        task.run.as_uuid(),
        signed(task.n),
        signed(task.i),
        epoch,
        lease.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| AgentId::from_uuid(row.agent_id)))
}

/// An attempt that ended without an output.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) task: TaskKey,
    pub(crate) epoch: i32,
    pub(crate) lease: LeaseId,
    pub(crate) agent: AgentId,
    pub(crate) ended_as: &'static str,
    pub(crate) went: i16,
    pub(crate) body_hash: Option<i64>,
    pub(crate) consumed: bool,
    pub(crate) code: Option<String>,
    pub(crate) detail: Option<String>,
}

pub(crate) async fn insert_attempts(
    conn: &mut PgConnection,
    attempts: &[Attempt],
) -> Result<(), sqlx::Error> {
    macro_rules! column {
        ($row:ident => $value:expr) => {
            attempts.iter().map(|$row| $value).collect::<Vec<_>>()
        };
    }
    sqlx::query!(
        r#"
        INSERT INTO hypha.attempt (run_id, n, i, epoch, lease_id, agent_id, ended_as, went, body_hash, consumed, at, code, detail)
        SELECT u.run_id, u.n, u.i, u.epoch, u.lease_id, u.agent_id, u.ended_as, u.went, u.body_hash, u.consumed, hypha.now(),
               u.code, u.detail
        FROM unnest($1::uuid[], $2::int[], $3::int[], $4::int[], $5::uuid[], $6::uuid[], $7::text[], $8::smallint[],
                    $9::bigint[], $10::bool[], $11::text[], $12::text[])
             AS u (run_id, n, i, epoch, lease_id, agent_id, ended_as, went, body_hash, consumed, code, detail)
        "#,
        &column!(a => a.task.run.as_uuid()),
        &column!(a => signed(a.task.n)),
        &column!(a => signed(a.task.i)),
        &column!(a => a.epoch),
        &column!(a => a.lease.as_uuid()),
        &column!(a => a.agent.as_uuid()),
        &column!(a => a.ended_as.to_owned()),
        &column!(a => a.went),
        &column!(a => a.body_hash) as &[Option<i64>],
        &column!(a => a.consumed),
        &column!(a => a.code.clone()) as &[Option<String>],
        &column!(a => a.detail.clone()) as &[Option<String>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Agents whose attempts in a run consumed something but ended without an output.
pub(crate) async fn consumers(
    conn: &mut PgConnection,
    run: RunId,
) -> Result<Vec<(TaskKey, AgentId)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT n, i, agent_id FROM hypha.attempt WHERE run_id = $1 AND consumed"#,
        run.as_uuid(),
    )
    .fetch_all(conn)
    .await?;
    let consumers = rows.into_iter().map(|row| {
        let task = TaskKey {
            run,
            n: unsigned(row.n),
            i: unsigned(row.i),
        };
        (task, AgentId::from_uuid(row.agent_id))
    });
    Ok(consumers.collect())
}

/// Who made the outputs of these nodes: the node's own task, or all its members, where they succeeded.
pub(crate) async fn givers(
    conn: &mut PgConnection,
    nodes: &[(RunId, u32)],
) -> Result<Vec<(TaskKey, Option<AgentId>)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT e.run_id, e.n, e.i, e.agent_id
        FROM unnest($1::uuid[], $2::int[]) AS u (run_id, n)
        JOIN hypha.task_end e ON e.run_id = u.run_id AND e.n = u.n
        WHERE e.state = 6 AND (e.i > 0 OR e.lease_id IS NOT NULL) -- a group's own row is no task
        "#,
        &nodes
            .iter()
            .map(|(run, _)| run.as_uuid())
            .collect::<Vec<_>>(),
        &nodes.iter().map(|(_, n)| signed(*n)).collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await?;
    let givers = rows.into_iter().map(|row| {
        let task = TaskKey::of_row(row.run_id, row.n, row.i);
        (task, row.agent_id.map(AgentId::from_uuid))
    });
    Ok(givers.collect())
}

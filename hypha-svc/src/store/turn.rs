//! Turns: what runs under them cost together, whether anything may start under them, and who holds what.

use cambium_hypha::TurnId;
use cambium_hypha::turn::{Bill, Turn};
use cambium_kernel::{AgentId, RunId, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::engine::{TaskKey, signed};

/// Opens a turn with its own run, unless there is one already. Answers whether it did. The row is locked with that.
pub(crate) async fn open(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: &Turn,
    run: RunId,
    cap_micro_usd: i64,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        r#"
        INSERT INTO hypha.turn (workspace_id, turn_id, root_run_id, instance, cap_micro_usd, open_runs)
        VALUES ($1, $2, $3, $4, $5, 1)
        ON CONFLICT ON CONSTRAINT turn_pk DO NOTHING
        "#,
        workspace.as_str(),
        turn.id.as_uuid(),
        run.as_uuid(),
        turn.mind.as_str(),
        cap_micro_usd,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Counts another run under a turn, unless it is over or withdrawn. Answers whether it did. The row is locked with that.
pub(crate) async fn join(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: TurnId,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        r#"
        UPDATE hypha.turn SET open_runs = open_runs + 1
        WHERE workspace_id = $1 AND turn_id = $2 AND ended_at IS NULL AND NOT withdrawn
        "#,
        workspace.as_str(),
        turn.as_uuid(),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Counts a run that a mind starts in its turn, unless the turn was withdrawn, or its own run has ended. A turn whose body is not here
/// has none: it is made by its first run, and goes on with each.
pub(crate) async fn enter(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: TurnId,
) -> Result<bool, sqlx::Error> {
    let done = sqlx::query!(
        r#"
        INSERT INTO hypha.turn AS t (workspace_id, turn_id, open_runs) VALUES ($1, $2, 1)
        ON CONFLICT ON CONSTRAINT turn_pk DO UPDATE
        SET open_runs = t.open_runs + 1, ended_at = NULL
        WHERE NOT t.withdrawn AND (t.ended_at IS NULL OR t.root_run_id IS NULL)
        "#,
        workspace.as_str(),
        turn.as_uuid(),
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Whether a key is that of a turn that was withdrawn: it starts nothing any more.
pub(crate) async fn is_spent_key(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    key: &str,
) -> Result<bool, sqlx::Error> {
    let Ok(turn) = key.parse::<TurnId>() else {
        return Ok(false);
    };
    let row = sqlx::query!(
        r#"SELECT withdrawn FROM hypha.turn WHERE workspace_id = $1 AND turn_id = $2"#,
        workspace.as_str(),
        turn.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.is_some_and(|row| row.withdrawn))
}

/// What a transaction brings to one turn.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) workspace: WorkspaceId,
    pub(crate) turn: TurnId,
    pub(crate) bill: Bill,
    /// Runs under it that end.
    pub(crate) ended: u32,
    /// How its root run ends, if it is one of them.
    pub(crate) outcome: Option<i16>,
}

impl Share {
    pub(crate) fn none(workspace: WorkspaceId, turn: TurnId) -> Self {
        Self {
            workspace,
            turn,
            bill: Bill::default(),
            ended: 0,
            outcome: None,
        }
    }
}

/// A turn after its share.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) at: DateTime<Utc>,
    pub(crate) turn: TurnId,
    pub(crate) root: Option<RunId>,
    pub(crate) bill: Bill,
    pub(crate) outcome: Option<i16>,
    /// Its last run has ended with this share.
    pub(crate) is_over: bool,
    /// It has cost as much as it may, and what goes on under it is to stop.
    pub(crate) is_spent: bool,
}

/// Adds shares, one a turn. A turn whose cap is reached is marked: what goes on under it is to stop within `grace_ms`.
pub(crate) async fn add(
    conn: &mut PgConnection,
    shares: &[Share],
    grace_ms: i64,
) -> Result<Vec<Told>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        WITH due AS MATERIALIZED (
            SELECT u.* FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::int[], $7::smallint[])
                 AS u (workspace_id, turn_id, metered, declared, unmeasured, ended, outcome)
            JOIN hypha.turn t ON t.workspace_id = u.workspace_id AND t.turn_id = u.turn_id
            ORDER BY u.workspace_id, u.turn_id -- two transactions never wait for each other crosswise
            FOR NO KEY UPDATE OF t
        )
        UPDATE hypha.turn t
        SET metered_micro_usd = t.metered_micro_usd + u.metered, declared_micro_usd = t.declared_micro_usd + u.declared,
            unmeasured = t.unmeasured + u.unmeasured, open_runs = t.open_runs - u.ended,
            outcome = coalesce(t.outcome, u.outcome),
            ended_at = CASE WHEN t.open_runs = u.ended THEN hypha.now() END,
            stop_grace_ms = CASE WHEN t.metered_micro_usd + u.metered >= t.cap_micro_usd
                                 THEN coalesce(t.stop_grace_ms, $8) ELSE t.stop_grace_ms END,
            stop_reason = CASE WHEN t.metered_micro_usd + u.metered >= t.cap_micro_usd AND t.stop_grace_ms IS NULL
                               THEN 'BUDGET' ELSE t.stop_reason END
        FROM due u WHERE t.workspace_id = u.workspace_id AND t.turn_id = u.turn_id
        RETURNING hypha.now() AS "at!", t.turn_id, t.root_run_id, t.metered_micro_usd, t.declared_micro_usd, t.unmeasured,
                  t.outcome, t.ended_at IS NOT NULL AS "is_over!",
                  t.stop_grace_ms IS NOT NULL AND NOT t.withdrawn AS "is_spent!"
        "#,
        &column!(shares, s => s.workspace.to_string()),
        &column!(shares, s => s.turn.as_uuid()),
        &column!(shares, s => s.bill.metered_micro_usd),
        &column!(shares, s => s.bill.declared_micro_usd),
        &column!(shares, s => s.bill.unmeasured),
        &column!(shares, s => signed(s.ended)),
        &column!(shares, s => s.outcome) as &[Option<i16>],
        grace_ms,
    )
    .fetch_all(conn)
    .await?;
    let told = rows.into_iter().map(|row| Told {
        at: row.at,
        turn: TurnId::from_uuid(row.turn_id),
        root: row.root_run_id.map(RunId::from_uuid),
        bill: Bill {
            metered_micro_usd: row.metered_micro_usd,
            declared_micro_usd: row.declared_micro_usd,
            unmeasured: row.unmeasured,
        },
        outcome: row.outcome,
        is_over: row.is_over,
        is_spent: row.is_spent,
    });
    Ok(told.collect())
}

/// Withdraws a turn, known or not: from this commit on nothing starts under it, and what goes on is to stop.
pub(crate) async fn withdraw(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: TurnId,
    grace_ms: i64,
    reason: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        INSERT INTO hypha.turn AS t (workspace_id, turn_id, withdrawn, stop_grace_ms, stop_reason, ended_at)
        VALUES ($1, $2, true, $3, $4, hypha.now())
        ON CONFLICT ON CONSTRAINT turn_pk DO UPDATE
        SET withdrawn = true, stop_grace_ms = excluded.stop_grace_ms, stop_reason = excluded.stop_reason
        WHERE NOT t.withdrawn
        "#,
        workspace.as_str(),
        turn.as_uuid(),
        grace_ms,
        reason,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How what goes on under a turn is to stop.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) grace_ms: i64,
    pub(crate) reason: String,
    /// Because it has cost as much as it may, and not because it was withdrawn.
    pub(crate) is_spent: bool,
}

/// How a turn is to stop, if it is.
pub(crate) async fn stop(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: TurnId,
) -> Result<Option<Stop>, sqlx::Error> {
    sqlx::query_as!(
        Stop,
        r#"
        SELECT stop_grace_ms AS "grace_ms!", stop_reason AS reason, NOT withdrawn AS "is_spent!"
        FROM hypha.turn WHERE workspace_id = $1 AND turn_id = $2 AND stop_grace_ms IS NOT NULL
        "#,
        workspace.as_str(),
        turn.as_uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// Up to `most` runs under turns that are to stop, or under this one, that have not been told.
pub(crate) async fn to_stop(
    conn: &mut PgConnection,
    only: Option<(&WorkspaceId, TurnId)>,
    most: i64,
) -> Result<Vec<RunId>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT r.run_id FROM hypha.turn t
        JOIN hypha.run r ON r.workspace_id = t.workspace_id AND r.turn_id = t.turn_id AND r.turn_id IS NOT NULL
        WHERE t.stop_grace_ms IS NOT NULL AND t.ended_at IS NULL AND r.state = 1
          AND ($1::text IS NULL OR t.workspace_id = $1) AND ($2::uuid IS NULL OR t.turn_id = $2)
        ORDER BY r.run_id LIMIT $3
        "#,
        only.map(|(workspace, _)| workspace.as_str()),
        only.map(|(_, turn)| turn.as_uuid()),
        most,
    )
    .fetch_all(conn)
    .await?;
    let runs = rows.into_iter().map(|row| RunId::from_uuid(row.run_id));
    Ok(runs.collect())
}

/// How far a turn has come, for whoever withdraws it.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    /// How its root run stands; none: it has none.
    pub(crate) state: Option<i16>,
    /// Whether any run has come under it.
    pub(crate) ran: bool,
    pub(crate) bill: Bill,
    pub(crate) is_over: bool,
}

pub(crate) async fn standing(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: TurnId,
) -> Result<Option<Standing>, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT coalesce(r.state, t.outcome) AS state, t.metered_micro_usd, t.declared_micro_usd, t.unmeasured,
               t.ended_at IS NOT NULL AS "is_over!",
               EXISTS (SELECT FROM hypha.run u WHERE u.workspace_id = t.workspace_id AND u.turn_id = t.turn_id) AS "ran!"
        FROM hypha.turn t LEFT JOIN hypha.run r ON r.run_id = t.root_run_id
        WHERE t.workspace_id = $1 AND t.turn_id = $2
        "#,
        workspace.as_str(),
        turn.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Standing {
        state: row.state,
        ran: row.ran,
        bill: Bill {
            metered_micro_usd: row.metered_micro_usd,
            declared_micro_usd: row.declared_micro_usd,
            unmeasured: row.unmeasured,
        },
        is_over: row.is_over,
    }))
}

/// A run as far as it has come, with the turn that it is under.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    pub(crate) request_key: String,
    pub(crate) run: Uuid,
    pub(crate) state: i16,
    /// The turn's, or the run's own if it is under none.
    pub(crate) has_ended: bool,
    pub(crate) cost_micro_usd: Option<i64>,
}

/// The runs under these keys, of those that are known.
pub(crate) async fn progress(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    keys: &[String],
) -> Result<Vec<Progress>, sqlx::Error> {
    sqlx::query_as!(
        Progress,
        r#"
        SELECT r.request_key, r.run_id AS run, r.state,
               CASE WHEN t.turn_id IS NULL THEN r.ended_at IS NOT NULL ELSE t.ended_at IS NOT NULL END AS "has_ended!",
               CASE WHEN t.turn_id IS NULL AND r.unmeasured = 0 THEN r.cost_micro_usd
                    WHEN t.unmeasured = 0 THEN t.metered_micro_usd END AS cost_micro_usd
        FROM hypha.run r
        LEFT JOIN hypha.turn t ON t.workspace_id = r.workspace_id AND t.turn_id = r.turn_id
        WHERE r.workspace_id = $1 AND r.request_key = ANY ($2)
        ORDER BY r.request_key
        "#,
        workspace.as_str(),
        keys,
    )
    .fetch_all(conn)
    .await
}

/// A lease that is held under a turn.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) task: TaskKey,
    pub(crate) serves_mind: bool,
}

/// The live leases under a turn that a worker holds, by the principal that registered for them.
pub(crate) async fn held_by(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: TurnId,
    owner: &str,
) -> Result<Vec<Held>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT h.run_id, h.n, h.i, coalesce(a.serves_minds && ARRAY[r.instance, '*'], false) AS "serves_mind!"
        FROM hypha.run r
        JOIN hypha.hot h ON h.run_id = r.run_id AND h.state = 1 AND h.until > hypha.now()
        JOIN hypha.registration g ON g.reg = h.reg AND g.workspace_id = r.workspace_id AND g.owner = $3
        LEFT JOIN hypha.agent a ON a.agent_id = h.agent_id AND a.workspace_id = r.workspace_id
        WHERE r.workspace_id = $1 AND r.turn_id = $2 AND r.ended_at IS NULL
        "#,
        workspace.as_str(),
        turn.as_uuid(),
        owner,
    )
    .fetch_all(conn)
    .await?;
    let held = rows.into_iter().map(|row| Held {
        task: TaskKey::of_row(row.run_id, row.n, row.i),
        serves_mind: row.serves_mind,
    });
    Ok(held.collect())
}

/// Whether an agent holds a live lease under any turn.
pub(crate) async fn binds(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    agent: AgentId,
) -> Result<bool, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        SELECT EXISTS (
            SELECT FROM hypha.turn t
            JOIN hypha.run r ON r.workspace_id = t.workspace_id AND r.turn_id = t.turn_id AND r.turn_id IS NOT NULL
            JOIN hypha.hot h ON h.run_id = r.run_id
            WHERE t.workspace_id = $1 AND t.ended_at IS NULL AND r.ended_at IS NULL
              AND h.state = 1 AND h.agent_id = $2 AND h.until > hypha.now()
        ) AS "binds!"
        "#,
        workspace.as_str(),
        agent.as_uuid(),
    )
    .fetch_one(conn)
    .await?;
    Ok(row.binds)
}

/// Deletes up to `most` turns that ended 90 days ago: long before, everything that could start under them has run out.
pub(crate) async fn forget(conn: &mut PgConnection, most: i64) -> Result<u64, sqlx::Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM hypha.turn WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM hypha.turn WHERE ended_at < hypha.now() - interval '90 days' LIMIT $1 FOR UPDATE SKIP LOCKED
        ))
        "#,
        most,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

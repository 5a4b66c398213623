//! Work that nobody can do, and what came of asking for an agent that can.

use cambium_hypha::turn::serves;
use cambium_kernel::{AgentId, RunId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::agent::Agent;
use super::engine::{signed, unsigned};

/// A node whose tasks are ready, in a workspace without any agent that may do them.
#[derive(Clone, Debug)]
pub(crate) struct Stranded {
    pub(crate) run: RunId,
    pub(crate) n: u32,
    pub(crate) workspace: String,
    pub(crate) requires: Vec<String>,
    /// Whose turn it is; empty: nobody's.
    pub(crate) mind: String,
}

/// These runs' graphs let agents be spawned.
pub(crate) async fn allow(conn: &mut PgConnection, runs: &[Uuid]) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"INSERT INTO hypha.spawning (run_id) SELECT run_id FROM unnest($1::uuid[]) AS u (run_id)"#,
        runs,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Leaves out the runs that have ended.
pub(crate) async fn forget_ended(conn: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query!(
        r#"
        DELETE FROM hypha.spawning s
        WHERE NOT EXISTS (SELECT FROM hypha.run r WHERE r.run_id = s.run_id AND r.ended_at IS NULL)
        "#,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Up to `most` nodes of which tasks are stranded and nobody has been asked for yet, or not of late.
pub(crate) async fn stranded(
    conn: &mut PgConnection,
    most: i64,
) -> Result<Vec<Stranded>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"
        SELECT DISTINCT h.run_id, h.n, q.workspace_id, q.requires, q.mind
        FROM hypha.spawning s
        JOIN hypha.hot h ON h.run_id = s.run_id AND h.state = 0
        JOIN hypha.queue q ON q.queue = h.queue
        LEFT JOIN hypha.spawn_ask k ON k.run_id = h.run_id AND k.n = h.n
        WHERE coalesce(k.next_at <= hypha.now(), true) AND NOT EXISTS (
            SELECT FROM hypha.agent a LEFT JOIN hypha.standing t USING (agent_id)
            WHERE a.workspace_id = q.workspace_id AND a.capabilities @> q.requires
              AND (q.mind = '' OR a.serves_minds && ARRAY[q.mind, '*'])
              AND coalesce(t.leaving, 0) = 0 AND NOT coalesce(t.quarantined, false)
        )
        ORDER BY h.run_id, h.n LIMIT $1
        "#,
        most,
    )
    .fetch_all(conn)
    .await?;
    let rows = rows.into_iter().map(|row| Stranded {
        run: RunId::from_uuid(row.run_id),
        n: unsigned(row.n),
        workspace: row.workspace_id,
        requires: row.requires,
        mind: row.mind,
    });
    Ok(rows.collect())
}

impl Stranded {
    /// Whether that agent can do it.
    pub(crate) fn is_for(&self, agent: &Agent) -> bool {
        let can = |need: &String| agent.capabilities.contains(need);
        agent.workspace == self.workspace
            && self.requires.iter().all(can)
            && serves(&agent.serves_minds, &self.mind)
    }
}

/// Why there is no agent: a reason for programs, a sentence for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: String,
    pub(crate) detail: String,
}

impl Refusal {
    pub(crate) fn new(code: &str, detail: &str) -> Self {
        Self {
            code: code.to_owned(),
            detail: detail.to_owned(),
        }
    }
}

/// What came of asking.
#[derive(Clone, Debug)]
pub(crate) enum Came {
    Agent(AgentId),
    Refused(Refusal),
    /// It is not time yet.
    NotYet,
}

/// Of one node: whether it is time to ask. Seen for the first time, it waits for `after_ms`; asked, for `again_ms`.
pub(crate) async fn is_due(
    conn: &mut PgConnection,
    run: RunId,
    n: u32,
    after_ms: i64,
    again_ms: i64,
) -> Result<bool, sqlx::Error> {
    let asked = sqlx::query!(
        r#"
        INSERT INTO hypha.spawn_ask AS s (run_id, n, next_at) VALUES ($1, $2, hypha.now() + $3::bigint * interval '1 ms')
        ON CONFLICT (run_id, n) DO UPDATE SET next_at = hypha.now() + $4::bigint * interval '1 ms'
        WHERE s.next_at <= hypha.now()
        RETURNING xmax <> 0 AS "again!"
        "#,
        run.as_uuid(),
        signed(n),
        after_ms,
        again_ms,
    )
    .fetch_optional(conn)
    .await?;
    Ok(asked.is_some_and(|row| row.again))
}

/// What came of asking.
pub(crate) async fn note(
    conn: &mut PgConnection,
    run: RunId,
    n: u32,
    came: &Result<Agent, Refusal>,
) -> Result<(), sqlx::Error> {
    let (agent, refusal) = match came {
        Ok(agent) => (Some(agent.id.as_uuid()), Refusal::default()),
        Err(refusal) => (None, refusal.clone()),
    };
    sqlx::query!(
        r#"UPDATE hypha.spawn_ask SET agent_id = $3, code = $4, detail = $5 WHERE run_id = $1 AND n = $2"#,
        run.as_uuid(),
        signed(n),
        agent,
        refusal.code,
        refusal.detail,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What came of asking for this node, if it was asked.
pub(crate) async fn of(
    conn: &mut PgConnection,
    run: RunId,
    n: u32,
) -> Result<Option<Came>, sqlx::Error> {
    let row = sqlx::query!(
        r#"SELECT agent_id, code, detail FROM hypha.spawn_ask WHERE run_id = $1 AND n = $2"#,
        run.as_uuid(),
        signed(n),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| match (row.agent_id, row.detail.as_str()) {
        (Some(agent), _) => Came::Agent(AgentId::from_uuid(agent)),
        (None, "") => Came::NotYet,
        (None, _) => Came::Refused(Refusal {
            code: row.code,
            detail: row.detail,
        }),
    }))
}

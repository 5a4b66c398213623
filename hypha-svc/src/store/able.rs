//! Who could do a task: agents by their capabilities and by the minds they serve, and the workers that are registered for them.

use cambium_kernel::WorkspaceId;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

/// An agent that has all that is needed.
#[derive(Clone, Debug)]
pub(crate) struct Able {
    pub(crate) name: String,
    pub(crate) quarantined: bool,
    pub(crate) quarantine_until: Option<DateTime<Utc>>,
}

/// Up to `most` agents that have all that is needed and do not leave, those that may work first.
pub(crate) async fn agents(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    needs: &[String],
    mind: &str,
    most: i64,
) -> Result<Vec<Able>, sqlx::Error> {
    sqlx::query_as!(
        Able,
        r#"
        SELECT a.name, coalesce(s.quarantined, false) AS "quarantined!", s.quarantine_until
        FROM hypha.agent a LEFT JOIN hypha.standing s USING (agent_id)
        WHERE a.workspace_id = $1 AND a.capabilities @> $2 AND coalesce(s.leaving, 0) = 0
          AND ($4 = '' OR a.serves_minds && ARRAY[$4, '*'])
        ORDER BY coalesce(s.quarantined, false), a.name LIMIT $3
        "#,
        workspace.as_str(),
        needs,
        most,
        mind,
    )
    .fetch_all(conn)
    .await
}

/// An agent, and what it lacks.
#[derive(Clone, Debug)]
pub(crate) struct Nearest {
    pub(crate) name: String,
    pub(crate) missing: Vec<String>,
}

/// The agent that lacks least of what is needed, if there is any agent.
pub(crate) async fn nearest(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    needs: &[String],
    mind: &str,
) -> Result<Option<Nearest>, sqlx::Error> {
    sqlx::query_as!(
        Nearest,
        r#"
        SELECT a.name, m.missing AS "missing!"
        FROM hypha.agent a
        CROSS JOIN LATERAL (
            SELECT ARRAY(SELECT need FROM unnest($2::text[]) AS u (need) WHERE need <> ALL (a.capabilities))
                   || CASE WHEN $3 = '' OR a.serves_minds && ARRAY[$3, '*'] THEN '{}' ELSE ARRAY['mind ' || $3] END AS missing
        ) m
        WHERE a.workspace_id = $1
        ORDER BY cardinality(m.missing), a.name LIMIT 1
        "#,
        workspace.as_str(),
        needs,
        mind,
    )
    .fetch_optional(conn)
    .await
}

/// A registered worker, and how many of its slots are taken.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) name: String,
    pub(crate) slots: i32,
    pub(crate) busy: i64,
}

impl Worker {
    pub(crate) fn is_full(&self) -> bool {
        self.busy >= i64::from(self.slots)
    }
}

/// Up to `most` workers that are not being drained and serve an agent that has all that is needed, the newest first.
pub(crate) async fn workers(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    needs: &[String],
    mind: &str,
    most: i64,
) -> Result<Vec<Worker>, sqlx::Error> {
    sqlx::query_as!(
        Worker,
        r#"
        WITH able AS MATERIALIZED (
            SELECT r.reg, r.worker, r.slots FROM hypha.registration r
            WHERE r.workspace_id = $1 AND NOT r.draining
              AND (r.capabilities = '{}' OR r.capabilities @> $2) -- a worker may offer less than its agents can do
              AND EXISTS (SELECT FROM hypha.agent a
                          WHERE a.agent_id = ANY (r.agent_ids) AND a.workspace_id = $1 AND a.capabilities @> $2
                            AND ($4 = '' OR a.serves_minds && ARRAY[$4, '*']))
            ORDER BY r.reg DESC LIMIT $3
        ), held AS (
            SELECT h.reg, count(*) AS busy FROM hypha.hot h
            WHERE h.state = 1 AND h.reg IN (SELECT reg FROM able) GROUP BY h.reg
        )
        SELECT able.worker AS "name!", able.slots AS "slots!", coalesce(held.busy, 0) AS "busy!"
        FROM able LEFT JOIN held USING (reg) ORDER BY able.reg DESC
        "#,
        workspace.as_str(),
        needs,
        most,
        mind,
    )
    .fetch_all(conn)
    .await
}

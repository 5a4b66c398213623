//! Table `genesis.spawn`: every wish for an agent that was within the limits, and what became of it.

use cambium_genesis::{Capabilities, SpawnId, TemplateName};
use cambium_kernel::{AgentId, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Pending,
    Spawned,
    Denied,
}

impl State {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Spawned => "spawned",
            Self::Denied => "denied",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Pending, Self::Spawned, Self::Denied]
            .into_iter()
            .find(|state| state.as_str() == text)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Spawn {
    pub(crate) id: SpawnId,
    pub(crate) template: TemplateName,
    /// Whether the request named the template, rather than only what it was to offer.
    pub(crate) named: bool,
    pub(crate) requires: Capabilities,
    pub(crate) parent: Option<AgentId>,
    pub(crate) reason: String,
    pub(crate) requested_by: String,
    pub(crate) request_id: Uuid,
    pub(crate) state: State,
    pub(crate) agent: Option<AgentId>,
    pub(crate) requested_at: DateTime<Utc>,
    pub(crate) decision: Option<Decision>,
}

/// An operator's.
#[derive(Clone, Debug)]
pub(crate) struct Decision {
    pub(crate) at: DateTime<Utc>,
    pub(crate) by: String,
    pub(crate) reason: String,
}

#[derive(Debug)]
struct Row {
    spawn_id: Uuid,
    template: String,
    named: bool,
    requires: Vec<String>,
    parent_id: Option<Uuid>,
    reason: String,
    requested_by: String,
    request_id: Uuid,
    state: String,
    agent_id: Option<Uuid>,
    requested_at: DateTime<Utc>,
    decided_at: Option<DateTime<Utc>>,
    decided_by: String,
    decision_reason: String,
}

impl TryFrom<Row> for Spawn {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let broken = |why: String| Error::Broken {
            what: format!("spawn {}", row.spawn_id),
            why,
        };
        let decision = row.decided_at.map(|at| Decision {
            at,
            by: row.decided_by,
            reason: row.decision_reason,
        });
        Ok(Self {
            id: SpawnId::from_uuid(row.spawn_id),
            template: TemplateName::parse(&row.template).map_err(|why| broken(why.to_string()))?,
            named: row.named,
            requires: Capabilities::parse(&row.requires).map_err(|why| broken(why.to_string()))?,
            parent: row.parent_id.map(AgentId::from_uuid),
            reason: row.reason,
            requested_by: row.requested_by,
            request_id: row.request_id,
            state: State::parse(&row.state)
                .ok_or_else(|| broken(format!("state `{}`", row.state)))?,
            agent: row.agent_id.map(AgentId::from_uuid),
            requested_at: row.requested_at,
            decision,
        })
    }
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    spawn: &Spawn,
) -> Result<(), Error> {
    let requires: Vec<String> = spawn.requires.iter().map(str::to_owned).collect();
    sqlx::query!(
        r#"
        INSERT INTO genesis.spawn (
            workspace_id, spawn_id, template, named, requires, parent_id, reason, requested_by,
            request_id, state, agent_id, requested_at
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        "#,
        workspace.as_str(),
        spawn.id.as_uuid(),
        spawn.template.as_str(),
        spawn.named,
        &requires,
        spawn.parent.map(AgentId::as_uuid),
        spawn.reason,
        spawn.requested_by,
        spawn.request_id,
        spawn.state.as_str(),
        spawn.agent.map(AgentId::as_uuid),
        spawn.requested_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What became of a request, if it was made before.
pub(crate) async fn by_request(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    requested_by: &str,
    request_id: Uuid,
) -> Result<Option<Spawn>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT spawn_id, template, named, requires, parent_id, reason, requested_by, request_id, state, agent_id,
               requested_at, decided_at, decided_by, decision_reason
        FROM genesis.spawn
        WHERE workspace_id = $1 AND requested_by = $2 AND request_id = $3
        "#,
        workspace.as_str(),
        requested_by,
        request_id,
    )
    .fetch_optional(conn)
    .await?;
    row.map(Spawn::try_from).transpose()
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: SpawnId,
) -> Result<Spawn, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT spawn_id, template, named, requires, parent_id, reason, requested_by, request_id, state, agent_id,
               requested_at, decided_at, decided_by, decision_reason
        FROM genesis.spawn
        WHERE workspace_id = $1 AND spawn_id = $2
        "#,
        workspace.as_str(),
        id.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    row.ok_or(Error::NoSpawn(id))?.try_into()
}

pub(crate) async fn decide(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    spawn: &Spawn,
    decision: &Decision,
) -> Result<(), Error> {
    sqlx::query!(
        r#"
        UPDATE genesis.spawn
        SET state = $3, agent_id = $4, decided_at = $5, decided_by = $6, decision_reason = $7
        WHERE workspace_id = $1 AND spawn_id = $2
        "#,
        workspace.as_str(),
        spawn.id.as_uuid(),
        spawn.state.as_str(),
        spawn.agent.map(AgentId::as_uuid),
        decision.at,
        decision.by,
        decision.reason,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How many spawns there were after a moment, and the first of them.
pub(crate) async fn within(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    after: DateTime<Utc>,
) -> Result<(u32, Option<DateTime<Utc>>), Error> {
    let row = sqlx::query!(
        r#"
        SELECT count(*) AS "count!", min(requested_at) AS oldest
        FROM genesis.spawn
        WHERE workspace_id = $1 AND requested_at > $2
        "#,
        workspace.as_str(),
        after,
    )
    .fetch_one(conn)
    .await?;
    Ok((u32::try_from(row.count).unwrap_or(u32::MAX), row.oldest))
}

/// At most `limit` spawns before one, the newest first.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    state: Option<State>,
    before: Option<SpawnId>,
    limit: i64,
) -> Result<Vec<Spawn>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT spawn_id, template, named, requires, parent_id, reason, requested_by, request_id, state, agent_id,
               requested_at, decided_at, decided_by, decision_reason
        FROM genesis.spawn
        WHERE workspace_id = $1
          AND ($2::text IS NULL OR state = $2)
          AND ($3::uuid IS NULL OR spawn_id < $3)
        ORDER BY spawn_id DESC
        LIMIT $4
        "#,
        workspace.as_str(),
        state.map(State::as_str),
        before.map(SpawnId::as_uuid),
        limit,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Spawn::try_from).collect()
}

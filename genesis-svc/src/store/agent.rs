//! Table `genesis.agent`.

use cambium_genesis::{Agent, AgentName, Capabilities, State};
use cambium_kernel::{AgentId, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::convert::Enrollment;
use crate::error::Error;

struct Row {
    workspace_id: String,
    agent_id: Uuid,
    name: String,
    capabilities: Vec<String>,
    state: String,
    enrolled_at: DateTime<Utc>,
}

impl TryFrom<Row> for Agent {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let id = AgentId::from_uuid(row.agent_id);
        let broken = |why: String| Error::Broken { id, why };
        let agent = Self::from_outside(
            id,
            WorkspaceId::parse(&row.workspace_id).map_err(|why| broken(why.to_string()))?,
            AgentName::parse(&row.name).map_err(|why| broken(why.to_string()))?,
            Capabilities::parse(&row.capabilities).map_err(|why| broken(why.to_string()))?,
            row.enrolled_at,
        );
        Ok(Self {
            state: state(&row.state).ok_or_else(|| broken(format!("state `{}`", row.state)))?,
            ..agent
        })
    }
}

fn state(text: &str) -> Option<State> {
    match text {
        "active" => Some(State::Active),
        "draining" => Some(State::Draining),
        "retired" => Some(State::Retired),
        _ => None,
    }
}

const fn word(state: State) -> &'static str {
    match state {
        State::Active => "active",
        State::Draining => "draining",
        State::Retired => "retired",
    }
}

/// Adds an agent, unless its name is in use: then waits until that is sure, and adds nothing.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    id: AgentId,
    wish: &Enrollment,
) -> Result<Option<Agent>, Error> {
    let capabilities: Vec<String> = wish.capabilities.iter().map(str::to_owned).collect();
    let row = sqlx::query_as!(
        Row,
        r#"
        INSERT INTO genesis.agent (workspace_id, agent_id, name, capabilities, state, enrolled_at)
        VALUES ($1, $2, $3, $4, $5, genesis.now())
        ON CONFLICT ON CONSTRAINT agent_name_unique DO NOTHING
        RETURNING workspace_id, agent_id, name, capabilities, state, enrolled_at
        "#,
        wish.workspace.as_str(),
        id.as_uuid(),
        wish.name.as_str(),
        &capabilities,
        word(State::Active),
    )
    .fetch_optional(conn)
    .await?;
    row.map(Agent::try_from).transpose()
}

pub(crate) async fn by_id(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: AgentId,
) -> Result<Option<Agent>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT workspace_id, agent_id, name, capabilities, state, enrolled_at
        FROM genesis.agent
        WHERE workspace_id = $1 AND agent_id = $2
        "#,
        workspace.as_str(),
        id.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    row.map(Agent::try_from).transpose()
}

pub(crate) async fn by_name(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &AgentName,
) -> Result<Option<Agent>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT workspace_id, agent_id, name, capabilities, state, enrolled_at
        FROM genesis.agent
        WHERE workspace_id = $1 AND name = $2
        "#,
        workspace.as_str(),
        name.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    row.map(Agent::try_from).transpose()
}

/// At most `limit` agents, by name, from the first one after `after`.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    after: Option<&AgentName>,
    limit: i64,
) -> Result<Vec<Agent>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT workspace_id, agent_id, name, capabilities, state, enrolled_at
        FROM genesis.agent
        WHERE workspace_id = $1 AND name > $2 -- no name is empty, so the empty text is before them all
        ORDER BY name
        LIMIT $3
        "#,
        workspace.as_str(),
        after.map_or("", AgentName::as_str),
        limit,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Agent::try_from).collect()
}

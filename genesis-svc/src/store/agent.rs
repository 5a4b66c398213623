//! Table `genesis.agent`: who there is. How a life ends is in [`life`], what watchers read in [`changes`].

pub(crate) mod changes;
pub(crate) mod life;

use cambium_genesis::{Agent, AgentName, Capabilities, Origin, State, TemplateName};
use cambium_kernel::{AgentId, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::convert::Inheritance;
use crate::error::Error;

#[derive(Debug)]
struct Row {
    workspace_id: String,
    agent_id: Uuid,
    name: String,
    capabilities: Vec<String>,
    serves_minds: Vec<String>,
    state: String,
    enrolled_at: DateTime<Utc>,
    template: Option<String>,
    template_version: Option<i32>,
    parent_id: Option<Uuid>,
    root_id: Uuid,
    generation: i32,
}

impl TryFrom<Row> for Agent {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let broken = |why: String| Error::Broken {
            what: format!("agent {}", row.agent_id),
            why,
        };
        let template = row.template.as_deref().map(TemplateName::parse).transpose();
        let template = template.map_err(|why| broken(why.to_string()))?;
        let origin = template
            .zip(row.template_version)
            .map(|(template, version)| Origin { template, version });
        Ok(Self {
            id: AgentId::from_uuid(row.agent_id),
            workspace: WorkspaceId::parse(&row.workspace_id)
                .map_err(|why| broken(why.to_string()))?,
            name: AgentName::parse(&row.name).map_err(|why| broken(why.to_string()))?,
            capabilities: Capabilities::parse(&row.capabilities)
                .map_err(|why| broken(why.to_string()))?,
            serves_minds: row.serves_minds.into_iter().collect(),
            state: state(&row.state).ok_or_else(|| broken(format!("state `{}`", row.state)))?,
            enrolled_at: row.enrolled_at,
            origin,
            parent: row.parent_id.map(AgentId::from_uuid),
            root: AgentId::from_uuid(row.root_id),
            generation: u32::try_from(row.generation).map_err(|why| broken(why.to_string()))?,
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

/// Adds an agent, unless its name is in use: then waits until that is sure, and says no.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    agent: &Agent,
    inheritance: &Inheritance,
) -> Result<bool, Error> {
    let capabilities: Vec<String> = agent.capabilities.iter().map(str::to_owned).collect();
    let minds: Vec<String> = agent.serves_minds.iter().cloned().collect();
    let origin = agent.origin.as_ref();
    let done = sqlx::query!(
        r#"
        INSERT INTO genesis.agent (
            workspace_id, agent_id, name, capabilities, state, enrolled_at,
            template, template_version, parent_id, root_id, generation,
            inherited, inherited_hash, inherited_ids, held_out_ids, serves_minds, changed_in
        )
        VALUES (
            $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
            pg_current_xact_id()::text::bigint
        )
        ON CONFLICT ON CONSTRAINT agent_name_unique DO NOTHING
        "#,
        agent.workspace.as_str(),
        agent.id.as_uuid(),
        agent.name.as_str(),
        &capabilities,
        word(agent.state),
        agent.enrolled_at,
        origin.map(|origin| origin.template.as_str()),
        origin.map(|origin| origin.version),
        agent.parent.map(AgentId::as_uuid),
        agent.root.as_uuid(),
        i32::try_from(agent.generation).unwrap_or(i32::MAX),
        inheritance.text,
        &inheritance.hash[..],
        &inheritance.ids,
        &inheritance.held_out,
        &minds,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

pub(crate) async fn by_id(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: AgentId,
) -> Result<Option<Agent>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT workspace_id, agent_id, name, capabilities, serves_minds, state, enrolled_at,
               template, template_version, parent_id, root_id, generation
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
        SELECT workspace_id, agent_id, name, capabilities, serves_minds, state, enrolled_at,
               template, template_version, parent_id, root_id, generation
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
    after: &str,
    limit: i64,
) -> Result<Vec<Agent>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT workspace_id, agent_id, name, capabilities, serves_minds, state, enrolled_at,
               template, template_version, parent_id, root_id, generation
        FROM genesis.agent
        WHERE workspace_id = $1 AND name > $2 -- no name is empty, so the empty text is before them all
        ORDER BY name
        LIMIT $3
        "#,
        workspace.as_str(),
        after,
        limit,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Agent::try_from).collect()
}

/// The line of an agent, from its root to itself; empty if there is no such agent.
pub(crate) async fn line(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: AgentId,
) -> Result<Vec<Agent>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        WITH RECURSIVE line AS (
            SELECT * FROM genesis.agent WHERE workspace_id = $1 AND agent_id = $2
            UNION ALL
            SELECT a.*
            FROM genesis.agent a
            JOIN line ON a.workspace_id = line.workspace_id AND a.agent_id = line.parent_id
        )
        SELECT workspace_id AS "workspace_id!", agent_id AS "agent_id!", name AS "name!",
               capabilities AS "capabilities!", serves_minds AS "serves_minds!", state AS "state!",
               enrolled_at AS "enrolled_at!",
               template, template_version, parent_id, root_id AS "root_id!", generation AS "generation!"
        FROM line
        ORDER BY generation
        "#,
        workspace.as_str(),
        id.as_uuid(),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Agent::try_from).collect()
}

/// Those that an agent spawned, the oldest first.
pub(crate) async fn children(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    parent: AgentId,
) -> Result<Vec<Agent>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT workspace_id, agent_id, name, capabilities, serves_minds, state, enrolled_at,
               template, template_version, parent_id, root_id, generation
        FROM genesis.agent
        WHERE workspace_id = $1 AND parent_id = $2
        ORDER BY enrolled_at, agent_id
        LIMIT 1000 -- more nobody has
        "#,
        workspace.as_str(),
        parent.as_uuid(),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Agent::try_from).collect()
}

/// What an agent was spawned with.
pub(crate) async fn inheritance(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    id: AgentId,
) -> Result<Option<Inheritance>, Error> {
    let row = sqlx::query!(
        r#"
        SELECT inherited, inherited_hash, inherited_ids, held_out_ids
        FROM genesis.agent
        WHERE workspace_id = $1 AND agent_id = $2
        "#,
        workspace.as_str(),
        id.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Inheritance {
        text: row.inherited,
        hash: row.inherited_hash.unwrap_or_default(),
        ids: row.inherited_ids,
        held_out: row.held_out_ids,
    }))
}

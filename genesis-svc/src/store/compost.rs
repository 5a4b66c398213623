//! Table `genesis.compost`: what each life came to. Written once, never changed.

use cambium_genesis::{AgentName, Origin, TemplateName};
use cambium_kernel::{AgentId, Score, WorkspaceId};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;
use crate::store::evidence::Evidence;

#[derive(Clone, Debug)]
pub(crate) struct Compost {
    pub(crate) agent: AgentId,
    pub(crate) agent_name: AgentName,
    pub(crate) origin: Option<Origin>,
    pub(crate) root: AgentId,
    /// Counts the composts of the template; 0 without one.
    pub(crate) number: i64,
    pub(crate) success: Score,
    pub(crate) evidence: Evidence,
    pub(crate) inherited: Vec<Uuid>,
    pub(crate) held_out: Vec<Uuid>,
    pub(crate) enrolled_at: DateTime<Utc>,
    pub(crate) composted_at: DateTime<Utc>,
    pub(crate) match_version: i32,
    pub(crate) match_threshold: Score,
    /// Not all of its settlements were known.
    pub(crate) is_incomplete: bool,
}

#[derive(Debug)]
struct Row {
    agent_id: Uuid,
    agent_name: String,
    template: Option<String>,
    template_version: Option<i32>,
    root_id: Uuid,
    number: i64,
    success_rate: i32,
    succeeded: i64,
    ended: i64,
    inherited_ids: Vec<Uuid>,
    held_out_ids: Vec<Uuid>,
    enrolled_at: DateTime<Utc>,
    composted_at: DateTime<Utc>,
    match_version: i32,
    match_threshold: i32,
    is_incomplete: bool,
}

impl TryFrom<Row> for Compost {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let broken = |why: String| Error::Broken {
            what: format!("the compost of agent {}", row.agent_id),
            why,
        };
        let template = row.template.as_deref().map(TemplateName::parse).transpose();
        let template = template.map_err(|why| broken(why.to_string()))?;
        let score = |millionths: i32| {
            Score::from_millionths(millionths).map_err(|why| broken(why.to_string()))
        };
        Ok(Self {
            agent: AgentId::from_uuid(row.agent_id),
            agent_name: AgentName::parse(&row.agent_name).map_err(|why| broken(why.to_string()))?,
            origin: template
                .zip(row.template_version)
                .map(|(template, version)| Origin { template, version }),
            root: AgentId::from_uuid(row.root_id),
            number: row.number,
            success: score(row.success_rate)?,
            evidence: Evidence {
                settled: row.ended,
                ended: row.ended,
                succeeded: row.succeeded,
            },
            match_threshold: score(row.match_threshold)?,
            inherited: row.inherited_ids,
            held_out: row.held_out_ids,
            enrolled_at: row.enrolled_at,
            composted_at: row.composted_at,
            match_version: row.match_version,
            is_incomplete: row.is_incomplete,
        })
    }
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    compost: &Compost,
) -> Result<(), Error> {
    let origin = compost.origin.as_ref();
    sqlx::query!(
        r#"
        INSERT INTO genesis.compost (
            workspace_id, agent_id, agent_name, template, template_version, root_id, number,
            success_rate, succeeded, ended, inherited_ids, held_out_ids, enrolled_at, composted_at,
            match_version, match_threshold, is_incomplete
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
        "#,
        workspace.as_str(),
        compost.agent.as_uuid(),
        compost.agent_name.as_str(),
        origin.map(|origin| origin.template.as_str()),
        origin.map(|origin| origin.version),
        compost.root.as_uuid(),
        compost.number,
        compost.success.as_millionths(),
        compost.evidence.succeeded,
        compost.evidence.ended,
        &compost.inherited,
        &compost.held_out,
        compost.enrolled_at,
        compost.composted_at,
        compost.match_version,
        compost.match_threshold.as_millionths(),
        compost.is_incomplete,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    agent: AgentId,
) -> Result<Option<Compost>, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT agent_id, agent_name, template, template_version, root_id, number, success_rate,
               succeeded, ended, inherited_ids, held_out_ids, enrolled_at, composted_at,
               match_version, match_threshold, is_incomplete
        FROM genesis.compost
        WHERE workspace_id = $1 AND agent_id = $2
        "#,
        workspace.as_str(),
        agent.as_uuid(),
    )
    .fetch_optional(conn)
    .await?;
    row.map(Compost::try_from).transpose()
}

/// At most `limit` records before a place in their order, the newest first; of one template, or of all.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    template: Option<&TemplateName>,
    before: Option<(DateTime<Utc>, AgentId)>,
    limit: i64,
) -> Result<Vec<Compost>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT agent_id, agent_name, template, template_version, root_id, number, success_rate,
               succeeded, ended, inherited_ids, held_out_ids, enrolled_at, composted_at,
               match_version, match_threshold, is_incomplete
        FROM genesis.compost
        WHERE workspace_id = $1
          AND ($2::text IS NULL OR template = $2)
          AND ($3::timestamptz IS NULL OR (composted_at, agent_id) < ($3, $4))
        ORDER BY composted_at DESC, agent_id DESC
        LIMIT $5
        "#,
        workspace.as_str(),
        template.map(TemplateName::as_str),
        before.map(|(at, _)| at),
        before.map(|(_, agent)| agent.as_uuid()),
        limit,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Compost::try_from).collect()
}

/// When the first of these agents was composted.
pub(crate) async fn first(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    agents: &[Uuid],
) -> Result<Option<DateTime<Utc>>, Error> {
    let first = sqlx::query_scalar!(
        "SELECT min(composted_at) FROM genesis.compost WHERE workspace_id = $1 AND agent_id = ANY($2)",
        workspace.as_str(),
        agents,
    );
    Ok(first.fetch_one(conn).await?)
}

/// How many agents have fared how, in millionths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fared {
    pub(crate) agents: i64,
    pub(crate) success_sum: i64,
}

/// How agents fared that were spawned with a learning, and those it was held out of.
pub(crate) async fn fared(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    template: &TemplateName,
    learning: Uuid,
) -> Result<(Fared, Fared), Error> {
    let row = sqlx::query!(
        r#"
        SELECT count(*) FILTER (WHERE $3 = ANY(inherited_ids)) AS "with_agents!",
               coalesce(sum(success_rate) FILTER (WHERE $3 = ANY(inherited_ids)), 0) AS "with_sum!",
               count(*) FILTER (WHERE $3 = ANY(held_out_ids)) AS "without_agents!",
               coalesce(sum(success_rate) FILTER (WHERE $3 = ANY(held_out_ids)), 0) AS "without_sum!"
        FROM genesis.compost
        WHERE workspace_id = $1 AND template = $2
          AND ended > 0 -- whoever had no work fared neither well nor badly
        "#,
        workspace.as_str(),
        template.as_str(),
        learning,
    )
    .fetch_one(conn)
    .await?;
    let with = Fared {
        agents: row.with_agents,
        success_sum: row.with_sum,
    };
    let without = Fared {
        agents: row.without_agents,
        success_sum: row.without_sum,
    };
    Ok((with, without))
}

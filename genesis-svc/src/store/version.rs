//! Table `genesis.template_version`: what each version of a template says. Never changed, never deleted.

use cambium_genesis::template::{Caps, Spec};
use cambium_genesis::{Capabilities, TemplateName};
use cambium_kernel::{Score, WorkspaceId};
use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;

use crate::error::Error;

/// One version of a template.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) name: TemplateName,
    pub(crate) version: i32,
    pub(crate) spec: Spec,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) created_by: String,
}

#[derive(Debug)]
struct Row {
    name: String,
    version: i32,
    role: String,
    instructions: String,
    capabilities: Vec<String>,
    config: String,
    max_generation: i32,
    max_live_children: i32,
    max_live_agents: i32,
    serves_minds: Vec<String>,
    requires_approval: bool,
    match_threshold: i32,
    holdout_share: i32,
    created_at: DateTime<Utc>,
    created_by: String,
}

impl TryFrom<Row> for Version {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let broken = |why: String| Error::Broken {
            what: format!("template `{}` version {}", row.name, row.version),
            why,
        };
        let config = match serde_json::from_str(&row.config) {
            Ok(Value::Object(parts)) => parts,
            Ok(_) => return Err(broken("a config that is no object".to_owned())),
            Err(why) => return Err(broken(why.to_string())),
        };
        let count = |number: i32| u32::try_from(number).unwrap_or_default();
        let spec = Spec {
            role: row.role,
            instructions: row.instructions,
            capabilities: Capabilities::parse(&row.capabilities)
                .map_err(|why| broken(why.to_string()))?,
            config,
            caps: Caps {
                generation: count(row.max_generation),
                live_children: count(row.max_live_children),
                live_agents: count(row.max_live_agents),
            },
            serves_minds: row.serves_minds.into_iter().collect(),
            requires_approval: row.requires_approval,
            match_threshold: Score::from_millionths(row.match_threshold)
                .map_err(|why| broken(why.to_string()))?,
            holdout_share: Score::from_millionths(row.holdout_share)
                .map_err(|why| broken(why.to_string()))?,
        };
        Ok(Self {
            name: TemplateName::parse(&row.name).map_err(|why| broken(why.to_string()))?,
            version: row.version,
            spec,
            created_at: row.created_at,
            created_by: row.created_by,
        })
    }
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    version: &Version,
) -> Result<(), Error> {
    let spec = &version.spec;
    let capabilities: Vec<String> = spec.capabilities.iter().map(str::to_owned).collect();
    let minds: Vec<String> = spec.serves_minds.iter().cloned().collect();
    let count = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    sqlx::query!(
        r#"
        INSERT INTO genesis.template_version (
            workspace_id, name, version, role, instructions, capabilities, config,
            max_generation, max_live_children, max_live_agents, serves_minds,
            requires_approval, match_threshold, holdout_share, created_at, created_by
        )
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
        "#,
        workspace.as_str(),
        version.name.as_str(),
        version.version,
        spec.role,
        spec.instructions,
        &capabilities,
        Value::Object(spec.config.clone()).to_string(),
        count(spec.caps.generation),
        count(spec.caps.live_children),
        count(spec.caps.live_agents),
        &minds,
        spec.requires_approval,
        spec.match_threshold.as_millionths(),
        spec.holdout_share.as_millionths(),
        version.created_at,
        version.created_by,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &TemplateName,
    version: i32,
) -> Result<Version, Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT name, version, role, instructions, capabilities, config,
               max_generation, max_live_children, max_live_agents, serves_minds,
               requires_approval, match_threshold, holdout_share, created_at, created_by
        FROM genesis.template_version
        WHERE workspace_id = $1 AND name = $2 AND version = $3
        "#,
        workspace.as_str(),
        name.as_str(),
        version,
    )
    .fetch_optional(conn)
    .await?;
    let row = row.ok_or_else(|| Error::NoVersion {
        name: name.clone(),
        version,
    })?;
    row.try_into()
}

/// At most `limit` templates in their current version, by name, from the first one after `after`.
pub(crate) async fn current(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    after: &str,
    limit: i64,
) -> Result<Vec<Version>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT v.name, v.version, v.role, v.instructions, v.capabilities, v.config,
               v.max_generation, v.max_live_children, v.max_live_agents, v.serves_minds,
               v.requires_approval, v.match_threshold, v.holdout_share, v.created_at, v.created_by
        FROM genesis.template t
        JOIN genesis.template_version v
          ON v.workspace_id = t.workspace_id AND v.name = t.name AND v.version = t.version
        WHERE t.workspace_id = $1 AND t.name > $2
        ORDER BY t.name
        LIMIT $3
        "#,
        workspace.as_str(),
        after,
        limit,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Version::try_from).collect()
}

/// At most `limit` versions of a template below `before`, the newest first.
pub(crate) async fn of(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    name: &TemplateName,
    before: i32,
    limit: i64,
) -> Result<Vec<Version>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT name, version, role, instructions, capabilities, config,
               max_generation, max_live_children, max_live_agents, serves_minds,
               requires_approval, match_threshold, holdout_share, created_at, created_by
        FROM genesis.template_version
        WHERE workspace_id = $1 AND name = $2 AND version < $3
        ORDER BY version DESC
        LIMIT $4
        "#,
        workspace.as_str(),
        name.as_str(),
        before,
        limit,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Version::try_from).collect()
}

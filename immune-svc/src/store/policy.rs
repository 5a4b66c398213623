//! Table `immune.policy`: the numbers of each workspace, every version of them.

use std::collections::BTreeMap;

use cambium_immune::Policy;
use cambium_kernel::WorkspaceId;
use sqlx::PgConnection;

use super::score;
use crate::error::Error;

struct Row {
    workspace_id: String,
    version: i64,
    contribution_bonus: i32,
    consumption_penalty: i32,
    knowledge_share_bonus: i32,
    hoarding_threshold: i32,
    overextension_check: bool,
    pair_daily_cap: i32,
    share_daily_cap: i32,
}

fn cap(stored: i32) -> Result<u32, Error> {
    u32::try_from(stored).map_err(|why| Error::broken("a cap", why))
}

impl TryFrom<Row> for Policy {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        Ok(Self {
            version: row.version,
            contribution_bonus: score(row.contribution_bonus)?,
            consumption_penalty: score(row.consumption_penalty)?,
            knowledge_share_bonus: score(row.knowledge_share_bonus)?,
            hoarding_threshold: score(row.hoarding_threshold)?,
            overextension_check: row.overextension_check,
            pair_daily_cap: cap(row.pair_daily_cap)?,
            share_daily_cap: cap(row.share_daily_cap)?,
        })
    }
}

/// The policy in force; the defaults where nobody has put one.
pub(crate) async fn of(conn: &mut PgConnection, workspace: &WorkspaceId) -> Result<Policy, Error> {
    let mut all = of_each(conn, &[workspace.to_string()]).await?;
    Ok(all.remove(workspace.as_str()).unwrap_or_default())
}

/// The policies in force, as far as somebody has put one.
pub(crate) async fn of_each(
    conn: &mut PgConnection,
    workspaces: &[String],
) -> Result<BTreeMap<String, Policy>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        SELECT p.workspace_id, p.version, p.contribution_bonus, p.consumption_penalty, p.knowledge_share_bonus,
               p.hoarding_threshold, p.overextension_check, p.pair_daily_cap, p.share_daily_cap
        FROM unnest($1::text[]) AS asked (workspace_id)
        CROSS JOIN LATERAL (
            SELECT * FROM immune.policy p WHERE p.workspace_id = asked.workspace_id ORDER BY p.version DESC LIMIT 1
        ) p
        "#,
        workspaces,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| Ok((row.workspace_id.clone(), Policy::try_from(row)?)))
        .collect()
}

/// Puts a version. One that is there already is a conflict.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    policy: &Policy,
    put_by: &str,
) -> Result<(), Error> {
    let cap = |cap: u32| i32::try_from(cap).unwrap_or(i32::MAX);
    sqlx::query!(
        r#"
        INSERT INTO immune.policy (
            workspace_id, version, contribution_bonus, consumption_penalty, knowledge_share_bonus, hoarding_threshold,
            overextension_check, pair_daily_cap, share_daily_cap, put_by, put_at
        ) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, immune.now())
        "#,
        workspace.as_str(),
        policy.version,
        policy.contribution_bonus.as_millionths(),
        policy.consumption_penalty.as_millionths(),
        policy.knowledge_share_bonus.as_millionths(),
        policy.hoarding_threshold.as_millionths(),
        policy.overextension_check,
        cap(policy.pair_daily_cap),
        cap(policy.share_daily_cap),
        put_by,
    )
    .execute(conn)
    .await?;
    Ok(())
}

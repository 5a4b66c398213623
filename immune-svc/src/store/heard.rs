//! Table `immune.heard`: signals that rules count, kept for people and for dry runs.

use std::collections::HashSet;

use cambium_kernel::{AgentId, Score};
use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::{Key, cause_key, columns, score};
use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) key: Key,
    pub(crate) signal_type: String,
    pub(crate) cause: String,
    pub(crate) intensity: Score,
    pub(crate) occurred_at: DateTime<Utc>,
}

/// Whose, of which type, and the key of its cause.
pub(crate) type Asked = (Key, &'static str, Uuid);

/// Those of these that were heard before.
pub(crate) async fn known(
    conn: &mut PgConnection,
    asked: &[Asked],
) -> Result<HashSet<Asked>, Error> {
    let (workspaces, agents) = columns(asked.iter().map(|(key, ..)| key));
    let types: Vec<String> = asked
        .iter()
        .map(|(_, kind, _)| (*kind).to_owned())
        .collect();
    let causes: Vec<Uuid> = asked.iter().map(|(.., cause)| *cause).collect();
    let rows = sqlx::query_file!(
        "src/store/heard_known.sql",
        &workspaces,
        &agents,
        &types,
        &causes,
    )
    .fetch_all(conn)
    .await?;
    let places = rows
        .into_iter()
        .filter_map(|row| usize::try_from(row.place - 1).ok());
    Ok(places
        .filter_map(|place| asked.get(place).cloned())
        .collect())
}

pub(crate) async fn insert(
    conn: &mut PgConnection,
    heard: &[Heard],
    now: DateTime<Utc>,
) -> Result<(), Error> {
    let (workspaces, agents) = columns(heard.iter().map(|heard| &heard.key));
    let types: Vec<&str> = heard
        .iter()
        .map(|heard| heard.signal_type.as_str())
        .collect();
    let causes: Vec<&str> = heard.iter().map(|heard| heard.cause.as_str()).collect();
    let keys: Vec<Uuid> = heard.iter().map(|heard| cause_key(&heard.cause)).collect();
    let intensities: Vec<i32> = heard
        .iter()
        .map(|heard| heard.intensity.as_millionths())
        .collect();
    let times: Vec<DateTime<Utc>> = heard.iter().map(|heard| heard.occurred_at).collect();
    sqlx::query!(
        r#"
        INSERT INTO immune.heard (
            workspace_id, agent_id, signal_type, cause_key, cause_id, intensity, occurred_at, recorded_at
        )
        SELECT workspace_id, agent_id, signal_type, cause_key, cause_id, intensity, occurred_at, $8
        FROM unnest($1::text[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::integer[], $7::timestamptz[])
             AS new (workspace_id, agent_id, signal_type, cause_key, cause_id, intensity, occurred_at)
        ON CONFLICT DO NOTHING
        "#,
        &workspaces,
        &agents,
        &types as &[&str],
        &keys,
        &causes as &[&str],
        &intensities,
        &times,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Signals of a type since then, each agent's in the order in which they happened; at most so many.
pub(crate) async fn since(
    conn: &mut PgConnection,
    workspace: &str,
    signal_type: &str,
    since: DateTime<Utc>,
    most: i64,
) -> Result<Vec<(AgentId, Score, DateTime<Utc>)>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT agent_id, intensity, occurred_at FROM immune.heard
        WHERE workspace_id = $1 AND signal_type = $2 AND occurred_at >= $3
        ORDER BY occurred_at, agent_id
        LIMIT $4
        "#,
        workspace,
        signal_type,
        since,
        most,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok((
                AgentId::from_uuid(row.agent_id),
                score(row.intensity)?,
                row.occurred_at,
            ))
        })
        .collect()
}

/// Forgets up to `limit` signals that were heard over thirty days ago; tells how many.
pub(crate) async fn forget(pool: &PgPool, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        DELETE FROM immune.heard h
        USING (
            SELECT workspace_id, agent_id, signal_type, cause_key FROM immune.heard
            WHERE recorded_at < immune.now() - interval '30 days'
            ORDER BY recorded_at
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be forgetting too
        ) old
        WHERE (h.workspace_id, h.agent_id, h.signal_type, h.cause_key)
            = (old.workspace_id, old.agent_id, old.signal_type, old.cause_key)
        "#,
        limit,
    )
    .execute(pool)
    .await?;
    Ok(done.rows_affected())
}

//! The database of immune: schema `immune` alone. Decides nothing; callers own the transactions.

pub(crate) mod agent;
pub(crate) mod alert;
pub(crate) mod anomaly;
pub(crate) mod daily;
pub(crate) mod heard;
pub(crate) mod inbox;
pub(crate) mod ledger;
pub(crate) mod policy;
pub(crate) mod quarantine;
pub(crate) mod receipt;
pub(crate) mod rule;
pub(crate) mod standing;
pub(crate) mod tally;

use cambium_kernel::{AgentId, Score, WorkspaceId};
use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};
use sqlx::PgConnection;
use sqlx::migrate::Migrator;
use uuid::Uuid;

use crate::error::Error;

/// Everything that makes the schema, in order.
pub static MIGRATOR: Migrator = sqlx::migrate!();

pub(crate) const SCHEMA: &str = "immune";

/// Told with a workspace's name once something in it has changed.
pub(crate) const CHANNEL: &str = "immune";

/// An agent in its workspace. Rows are locked in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) workspace: WorkspaceId,
    pub(crate) agent: AgentId,
}

impl Key {
    fn from_row(workspace: &str, agent: Uuid) -> Result<Self, Error> {
        let workspace = WorkspaceId::parse(workspace)
            .map_err(|why| Error::broken(format!("agent {agent}"), why))?;
        Ok(Self {
            workspace,
            agent: AgentId::from_uuid(agent),
        })
    }
}

/// The keys' columns, for `unnest`.
fn columns<'a>(keys: impl IntoIterator<Item = &'a Key>) -> (Vec<String>, Vec<Uuid>) {
    keys.into_iter()
        .map(|key| (key.workspace.to_string(), key.agent.as_uuid()))
        .unzip()
}

fn score(millionths: i32) -> Result<Score, Error> {
    Score::from_millionths(millionths).map_err(|why| Error::broken("a score", why))
}

/// What stands for a cause in an index: causes may be long.
pub(crate) fn cause_key(cause: &str) -> Uuid {
    let hash = Sha256::digest(cause);
    Uuid::from_bytes(std::array::from_fn(|n| hash[n]))
}

/// The time, by the service's only clock.
pub(crate) async fn now(conn: &mut PgConnection) -> Result<DateTime<Utc>, Error> {
    let row = sqlx::query!(r#"SELECT immune.now() AS "now!""#)
        .fetch_one(conn)
        .await?;
    Ok(row.now)
}

/// Whoever judges by the whole of a workspace, or counts its alerts, does so alone until its transaction ends.
/// Taken after the rows of agents, never before.
pub(crate) async fn lock_workspaces(
    conn: &mut PgConnection,
    workspaces: &[String],
) -> Result<(), Error> {
    sqlx::query!(
        r#"
        SELECT pg_advisory_xact_lock(hashtextextended('immune:' || workspace, 0))
        FROM unnest($1::text[]) AS asked (workspace)
        "#,
        workspaces,
    )
    .fetch_all(conn)
    .await?;
    Ok(())
}

/// Wakes watchers of these workspaces, on every replica, once the transaction has committed.
pub(crate) async fn notify(conn: &mut PgConnection, workspaces: &[String]) -> Result<(), Error> {
    sqlx::query!(
        r#"SELECT pg_notify($1, workspace) FROM unnest($2::text[]) AS changed (workspace)"#,
        CHANNEL,
        workspaces,
    )
    .fetch_all(conn)
    .await?;
    Ok(())
}

//! How merits count in each workspace that has said so.

use cambium_hypha::matching::{Shares, Weights};
use cambium_kernel::{Score, WorkspaceId};
use sqlx::PgConnection;

/// Weights with the version they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    pub(crate) weights: Weights,
    pub(crate) version: i64,
}

struct Row {
    workspace_id: String,
    version: i64,
    capability: i32,
    trust: i32,
    health: i32,
    load: i32,
    generosity: i32,
    explore_every: i32,
}

impl Row {
    fn read(self) -> (String, Version) {
        let score = |millionths| Score::from_millionths(millionths).unwrap_or_default();
        let shares = Shares {
            capability: score(self.capability),
            trust: score(self.trust),
            health: score(self.health),
            load: score(self.load),
            generosity: score(self.generosity),
        };
        let explore_every = u32::try_from(self.explore_every).unwrap_or(0);
        // The table's check says that they sum to one.
        let weights = Weights::new(shares, explore_every).unwrap_or_default();
        let version = self.version;
        (self.workspace_id, Version { weights, version })
    }
}

pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Option<Version>, sqlx::Error> {
    let row = sqlx::query_as!(
        Row,
        r#"
        SELECT workspace_id, version, capability, trust, health, load, generosity, explore_every
        FROM hypha.weights WHERE workspace_id = $1
        "#,
        workspace.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| row.read().1))
}

/// Of all workspaces that have any.
pub(crate) async fn all(conn: &mut PgConnection) -> Result<Vec<(String, Weights)>, sqlx::Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT workspace_id, version, capability, trust, health, load, generosity, explore_every FROM hypha.weights"#
    )
    .fetch_all(conn)
    .await?;
    let all = rows.into_iter().map(|row| {
        let (workspace, version) = row.read();
        (workspace, version.weights)
    });
    Ok(all.collect())
}

/// Puts the version after `replaced`. Answers whether `replaced` was the latest.
pub(crate) async fn put(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    weights: &Weights,
    replaced: i64,
) -> Result<bool, sqlx::Error> {
    let shares = weights.shares();
    let put = sqlx::query!(
        r#"
        INSERT INTO hypha.weights AS w (workspace_id, version, capability, trust, health, load, generosity, explore_every)
        SELECT $1, $2::bigint + 1, $3, $4, $5, $6, $7, $8
        WHERE $2::bigint = 0 OR EXISTS (SELECT FROM hypha.weights WHERE workspace_id = $1)
        ON CONFLICT (workspace_id) DO UPDATE
        SET version = excluded.version, capability = excluded.capability, trust = excluded.trust, health = excluded.health,
            load = excluded.load, generosity = excluded.generosity, explore_every = excluded.explore_every
        WHERE w.version = $2::bigint
        "#,
        workspace.as_str(),
        replaced,
        shares.capability.as_millionths(),
        shares.trust.as_millionths(),
        shares.health.as_millionths(),
        shares.load.as_millionths(),
        shares.generosity.as_millionths(),
        i32::try_from(weights.explore_every()).unwrap_or(i32::MAX),
    )
    .execute(conn)
    .await?;
    Ok(put.rows_affected() == 1)
}

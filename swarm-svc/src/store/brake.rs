//! Table `swarm.brake`: whom an operator holds, since when and why. No row holds as well.

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

/// A mind's brake as it stands.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub(crate) instance: Instance,
    pub(crate) is_released: bool,
    pub(crate) reason: String,
    /// None where nobody ever set it: it holds.
    pub(crate) by: Option<(String, DateTime<Utc>)>,
}

/// Those of these minds, or of all that are open, by name.
pub(crate) async fn list(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    minds: Option<&[Instance]>,
) -> Result<Vec<Set>, Error> {
    let names = minds.map(names);
    let rows = sqlx::query!(
        r#"
        SELECT
            m.instance, coalesce(b.released, false) AS "released!", coalesce(b.reason, '') AS "reason!",
            b.set_at AS "set_at?", b.set_by AS "set_by?"
        FROM swarm.mind m
        LEFT JOIN swarm.brake b ON b.workspace_id = m.workspace_id AND b.instance = m.instance
        WHERE m.workspace_id = $1 AND m.state = 'open' AND ($2::text[] IS NULL OR m.instance = ANY($2))
        ORDER BY m.instance
        "#,
        workspace.as_str(),
        names.as_deref(),
    );
    let rows = rows.fetch_all(conn).await?.into_iter();
    let sets = rows.map(|row| {
        Ok(Set {
            instance: store::instance(&row.instance)?,
            is_released: row.released,
            reason: row.reason,
            by: row.set_by.zip(row.set_at),
        })
    });
    sets.collect()
}

/// Holds these minds, and tells how many were not held. A brake that holds keeps its instant and its reason: whatever waits for a
/// held mind counts from there.
pub(crate) async fn hold(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    minds: &[Instance],
    reason: &str,
    by: &str,
) -> Result<u64, Error> {
    let hold = sqlx::query!(
        r#"
        INSERT INTO swarm.brake (workspace_id, instance, released, reason, set_at, set_by)
        SELECT $1, instance, false, $3, swarm.now(), $4
        FROM unnest($2::text[]) AS held (instance)
        ON CONFLICT (workspace_id, instance) DO UPDATE
        SET released = false, reason = excluded.reason, set_at = excluded.set_at, set_by = excluded.set_by
        WHERE brake.released
        "#,
        workspace.as_str(),
        &names(minds),
        reason,
        by,
    );
    Ok(hold.execute(conn).await?.rows_affected())
}

/// Lets a mind go. A released brake stays as it is.
pub(crate) async fn release(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    by: &str,
) -> Result<(), Error> {
    let release = sqlx::query!(
        r#"
        INSERT INTO swarm.brake (workspace_id, instance, released, reason, set_at, set_by)
        VALUES ($1, $2, true, '', swarm.now(), $3)
        ON CONFLICT (workspace_id, instance) DO UPDATE
        SET released = true, reason = excluded.reason, set_at = excluded.set_at, set_by = excluded.set_by
        WHERE NOT brake.released
        "#,
        workspace.as_str(),
        mind.as_str(),
        by,
    );
    release.execute(conn).await?;
    Ok(())
}

/// The minds that are open, by name.
pub(crate) async fn open_minds(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Vec<Instance>, Error> {
    let open = sqlx::query_scalar!(
        "SELECT instance FROM swarm.mind WHERE workspace_id = $1 AND state = 'open' ORDER BY instance",
        workspace.as_str(),
    );
    let open = open.fetch_all(conn).await?;
    open.iter().map(|name| store::instance(name)).collect()
}

fn names(minds: &[Instance]) -> Vec<String> {
    minds.iter().map(|mind| mind.as_str().to_owned()).collect()
}

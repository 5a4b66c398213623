//! Table `swarm.launch`: what is remembered of a mind's launches, and when its place on the timeline is looked at again.

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::launch::Launch;
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::Error;
use crate::store;

/// Whether a touch brings the mind a reason to wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Work, an offer, an answer or an operator's ruling came.
    Came,
    None,
}

/// Says that these minds' places may have changed: it comes first in every transaction that changes whether one is a member, or its
/// share, haste or loans. The rows stay locked, by name; the clock is read once they are.
pub(crate) async fn touch(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    minds: &[&Instance],
    reason: Reason,
) -> Result<(), Error> {
    let mut names: Vec<String> = minds.iter().map(|mind| mind.as_str().to_owned()).collect();
    names.sort_unstable();
    let lock = sqlx::query!(
        r#"
        SELECT instance
        FROM swarm.launch
        WHERE workspace_id = $1 AND instance = ANY($2)
        ORDER BY instance
        FOR UPDATE
        "#,
        workspace.as_str(),
        &names,
    );
    lock.fetch_all(&mut *conn).await?;
    let update = sqlx::query!(
        r#"
        UPDATE swarm.launch
        SET due_at = swarm.now(),
            -- A reason that comes within the microsecond of a launch counts as later.
            reason_at = CASE WHEN $3 THEN greatest(swarm.now(), launched_at + interval '1 microsecond') ELSE reason_at END
        WHERE workspace_id = $1 AND instance = ANY($2)
        "#,
        workspace.as_str(),
        &names,
        reason == Reason::Came,
    );
    update.execute(conn).await?;
    Ok(())
}

/// Gives a new mind its row, due at once.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<(), Error> {
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.launch (workspace_id, instance, due_at)
        VALUES ($1, $2, swarm.now())
        ON CONFLICT (workspace_id, instance) DO UPDATE SET due_at = swarm.now()
        "#,
        workspace.as_str(),
        mind.as_str(),
    );
    insert.execute(conn).await?;
    Ok(())
}

/// Locks a mind's row and reads it.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
) -> Result<Launch, Error> {
    let row = sqlx::query!(
        r#"
        SELECT epoch, launched_at, last_run_at, reason_at, retry_at, fails
        FROM swarm.launch
        WHERE workspace_id = $1 AND instance = $2
        FOR UPDATE
        "#,
        workspace.as_str(),
        mind.as_str(),
    )
    .fetch_optional(conn)
    .await?;
    let row = row.ok_or_else(|| Error::broken(format!("mind `{mind}`"), "it has no launch row"))?;
    Ok(Launch {
        epoch: row.epoch,
        last_run_at: row.last_run_at,
        launched_at: row.launched_at,
        reason_at: row.reason_at,
        retry_at: row.retry_at,
        fails: u32::try_from(row.fails).unwrap_or(0),
    })
}

/// Writes a mind's row, due at once: its place may have changed.
pub(crate) async fn update(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    mind: &Instance,
    launch: &Launch,
) -> Result<(), Error> {
    let update = sqlx::query!(
        r#"
        UPDATE swarm.launch
        SET epoch = $3, launched_at = $4, last_run_at = $5, reason_at = $6, retry_at = $7, fails = $8,
            due_at = swarm.now()
        WHERE workspace_id = $1 AND instance = $2
        "#,
        workspace.as_str(),
        mind.as_str(),
        launch.epoch,
        launch.launched_at,
        launch.last_run_at,
        launch.reason_at,
        launch.retry_at,
        i32::try_from(launch.fails).unwrap_or(i32::MAX),
    );
    update.execute(conn).await?;
    Ok(())
}

/// The minds whose places are to be looked at, by name, locked.
pub(crate) async fn lock_due(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    now: DateTime<Utc>,
) -> Result<Vec<Instance>, Error> {
    let names = sqlx::query_scalar!(
        r#"
        SELECT instance
        FROM swarm.launch
        WHERE workspace_id = $1 AND due_at <= $2
        ORDER BY instance
        FOR UPDATE
        "#,
        workspace.as_str(),
        now,
    )
    .fetch_all(conn)
    .await?;
    names.iter().map(|name| store::instance(name)).collect()
}

/// Says when each of these is to be looked at again.
pub(crate) async fn set_due(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    minds: &[(Instance, Option<DateTime<Utc>>)],
) -> Result<(), Error> {
    let (names, dues): (Vec<String>, Vec<Option<DateTime<Utc>>>) = minds
        .iter()
        .map(|(mind, due)| (mind.as_str().to_owned(), *due))
        .unzip();
    let update = sqlx::query!(
        r#"
        UPDATE swarm.launch l
        SET due_at = new.due_at
        FROM unnest($2::text[], $3::timestamptz[]) AS new (instance, due_at)
        WHERE l.workspace_id = $1 AND l.instance = new.instance
        "#,
        workspace.as_str(),
        &names,
        &dues as &[Option<DateTime<Utc>>],
    );
    update.execute(conn).await?;
    Ok(())
}

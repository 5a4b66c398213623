//! Tables `swarm.bucket` and `swarm.bucket_event`: what the pace allows, and each change of it.
//! The row's lock is held by every scheduler, every settlement, and whoever turns the dial.

use cambium_kernel::{Usd, WorkspaceId};
use cambium_swarm::TurnId;
use cambium_swarm::bucket::Bucket;
use sqlx::PgConnection;

use crate::error::Error;

/// Why a bucket changed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Launch,
    Settle,
    Dial,
    /// Its row was lost.
    Lost,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Settle => "settle",
            Self::Dial => "dial",
            Self::Lost => "lost",
        }
    }
}

/// Waits for the row and reads it; none where no dial has made it, or it was lost. Whoever finds none holds nothing: it makes the
/// row, or locks that of somebody who was faster.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Option<Bucket>, Error> {
    let row = sqlx::query!(
        r#"
        SELECT bucket, refill_rem, refilled_at
        FROM swarm.bucket
        WHERE workspace_id = $1
        FOR UPDATE
        "#,
        workspace.as_str(),
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| Bucket {
        level: Usd::from_micros(row.bucket),
        remainder: row.refill_rem,
        refilled_at: row.refilled_at,
    }))
}

/// As [`lock`], without waiting and without a lock.
pub(crate) async fn find(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
) -> Result<Option<Bucket>, Error> {
    let row = sqlx::query!(
        "SELECT bucket, refill_rem, refilled_at FROM swarm.bucket WHERE workspace_id = $1",
        workspace.as_str(),
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| Bucket {
        level: Usd::from_micros(row.bucket),
        remainder: row.refill_rem,
        refilled_at: row.refilled_at,
    }))
}

/// Makes the row unless somebody has made one meanwhile; tells whether it did.
pub(crate) async fn make(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    bucket: &Bucket,
) -> Result<bool, Error> {
    let make = sqlx::query!(
        r#"
        INSERT INTO swarm.bucket (workspace_id, bucket, refill_rem, refilled_at)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT DO NOTHING
        "#,
        workspace.as_str(),
        bucket.level.as_micros(),
        bucket.remainder,
        bucket.refilled_at,
    );
    Ok(make.execute(conn).await?.rows_affected() > 0)
}

/// Writes the row, new or changed.
pub(crate) async fn put(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    bucket: &Bucket,
) -> Result<(), Error> {
    let put = sqlx::query!(
        r#"
        INSERT INTO swarm.bucket (workspace_id, bucket, refill_rem, refilled_at)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (workspace_id) DO UPDATE
        SET bucket = excluded.bucket, refill_rem = excluded.refill_rem, refilled_at = excluded.refilled_at
        "#,
        workspace.as_str(),
        bucket.level.as_micros(),
        bucket.remainder,
        bucket.refilled_at,
    );
    put.execute(conn).await?;
    Ok(())
}

/// Writes down what became of it.
pub(crate) async fn log(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    kind: Kind,
    (before, after): (Usd, Usd),
    turn: Option<TurnId>,
) -> Result<(), Error> {
    let insert = sqlx::query!(
        r#"
        INSERT INTO swarm.bucket_event (workspace_id, seq, kind, before, after, at, turn_id)
        VALUES ($1, swarm.next_seq($1, 'bucket'), $2, $3, $4, swarm.now(), $5)
        "#,
        workspace.as_str(),
        kind.as_str(),
        before.as_micros(),
        after.as_micros(),
        turn.map(TurnId::as_uuid),
    );
    insert.execute(conn).await?;
    Ok(())
}

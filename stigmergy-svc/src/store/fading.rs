//! The end of marks: that they have fallen silent is noticed once, and told; an hour later they are gone.

use cambium_kernel::WorkspaceId;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::Error;

/// At most `limit` marks that are silent without anybody having noticed.
pub(crate) async fn due(conn: &mut PgConnection, limit: i64) -> Result<Vec<(String, Uuid)>, Error> {
    let rows = sqlx::query!(
        r#"
        SELECT workspace_id, marker_id FROM stigmergy.marker
        WHERE expires_at <= (SELECT stigmergy.now()) AND faded_at IS NULL
        ORDER BY expires_at
        LIMIT $1
        "#,
        limit,
    )
    .fetch_all(conn)
    .await?;
    let due = rows
        .into_iter()
        .map(|row| (row.workspace_id, row.marker_id));
    Ok(due.collect())
}

/// Notes that these marks are silent, as far as they are, and numbers an event for each; tells how many there were. The
/// workspace's lock is the caller's: a mark that was reinforced before it was taken is not silent.
pub(crate) async fn fade(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    markers: &[Uuid],
) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        WITH clock AS MATERIALIZED (
            SELECT stigmergy.now() AS now
        ), faded AS (
            UPDATE stigmergy.marker m SET faded_at = clock.now
            FROM clock
            WHERE m.workspace_id = $1 AND m.marker_id = ANY ($2) AND m.faded_at IS NULL AND m.expires_at <= clock.now
            RETURNING m.marker_id, m.region, m.type, m.transformation_depth, m.expires_at, clock.now,
                      round(stigmergy.decayed(m.intensity, m.half_life_s, clock.now - m.refreshed_at))::int AS loudness
        ), ordered AS (
            SELECT *, row_number() OVER (ORDER BY expires_at, marker_id) AS n FROM faded
        ), numbered AS (
            INSERT INTO stigmergy.workspace AS w (workspace_id, last_seq)
            SELECT $1, count(*) FROM faded HAVING count(*) > 0
            ON CONFLICT ON CONSTRAINT workspace_pk DO UPDATE SET last_seq = w.last_seq + excluded.last_seq
            RETURNING last_seq
        )
        INSERT INTO stigmergy.marker_event
            (workspace_id, seq, kind, marker_id, region, type, intensity_before, intensity_after, transformation_depth, at)
        SELECT $1, w.last_seq - (SELECT count(*) FROM faded) + f.n, 4, f.marker_id, f.region, f.type, f.loudness, 0,
               f.transformation_depth, f.now
        FROM ordered f CROSS JOIN numbered w
        "#,
        workspace.as_str(),
        markers,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes up to `limit` marks that have been silent for an hour, with all that they ever carried; tells how many.
pub(crate) async fn purge(conn: &mut PgConnection, limit: i64) -> Result<u64, Error> {
    let done = sqlx::query!(
        r#"
        WITH old AS MATERIALIZED (
            SELECT workspace_id, marker_id FROM stigmergy.marker
            WHERE faded_at <= (SELECT stigmergy.now()) - interval '1 hour'
            ORDER BY faded_at
            LIMIT $1
            FOR UPDATE SKIP LOCKED -- another replica may be at it
        ), payloads AS (
            DELETE FROM stigmergy.payload_version v USING old
            WHERE v.workspace_id = old.workspace_id AND v.marker_id = old.marker_id
        )
        DELETE FROM stigmergy.marker m USING old
        WHERE m.workspace_id = old.workspace_id AND m.marker_id = old.marker_id
        "#,
        limit,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

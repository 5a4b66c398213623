//! When any sweeper last listened, and the gaps in that.

use sqlx::PgConnection;

/// Notes that we listen. After a gap of over `deaf_ms` it first records the gap, and gives every open lease a full term
/// from now, once. Answers whether there was one.
pub(crate) async fn beat(
    conn: &mut PgConnection,
    deaf_ms: i64,
    lease_ms: i64,
) -> Result<bool, sqlx::Error> {
    let row = sqlx::query!(
        r#"
        WITH last AS MATERIALIZED (
            SELECT heard_at, heard_at < hypha.now() - $1::bigint * interval '1 ms' AS deaf FROM hypha.pulse FOR UPDATE
        ), beat AS (
            UPDATE hypha.pulse SET heard_at = hypha.now() FROM last
        ), noted AS (
            INSERT INTO hypha.outage (from_at, to_at) SELECT heard_at, hypha.now() FROM last WHERE deaf
        ), open AS MATERIALIZED (
            SELECT run_id, n, i FROM hypha.hot WHERE state = 1 AND (SELECT deaf FROM last)
            ORDER BY run_id, n, i FOR UPDATE
        ), given AS (
            UPDATE hypha.hot h SET until = hypha.now() + $2::bigint * interval '1 ms'
            FROM open WHERE h.run_id = open.run_id AND h.n = open.n AND h.i = open.i
        )
        SELECT deaf AS "deaf!" FROM last
        "#,
        deaf_ms,
        lease_ms,
    )
    .fetch_one(conn)
    .await?;
    Ok(row.deaf)
}

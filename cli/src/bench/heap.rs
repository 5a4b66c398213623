//! Marks put straight into a bench's own database: more dead and foreign ones than any load could leave in the time. Writes
//! into no database but that.

use sqlx::PgPool;

/// The regions of the live ones lie under it.
pub(super) const PREFIX: &str = "heap";
pub(super) const LIVE: u32 = 1_000;
/// Marks of one statement: a pool lets none of them take longer than 5 s.
const STEP: usize = 20_000;

/// A thousand live marks in ten regions.
pub(super) async fn live(pool: &PgPool, workspace: &str) -> anyhow::Result<()> {
    let marks = "INSERT INTO stigmergy.marker
        (workspace_id, marker_id, region, type, category, placed_by, intensity, half_life_s, placed_at, refreshed_at,
         expires_at, version, payload, canonical, written_at)
        SELECT $1, gen_random_uuid(), 'heap/r' || n % 10, 'knowledge.pattern', 'knowledge', 'operator:bench', 500000,
               86400, at, at, at + interval '7 days', 1, '{\"n\":1}', '{\"n\":1}', at
        FROM generate_series(1, $2) AS n, stigmergy.now() AS at";
    let count = i32::try_from(LIVE)?;
    let marks = sqlx::query(marks).bind(workspace).bind(count);
    marks.execute(pool).await?;
    let regions = "INSERT INTO stigmergy.region (workspace_id, region, live_until)
        SELECT $1, 'heap/r' || n, stigmergy.now() + interval '7 days' FROM generate_series(0, 9) AS n";
    sqlx::query(regions).bind(workspace).execute(pool).await?;
    settle(pool).await
}

/// Of `count` marks a quarter fell silent unnoticed in the same regions, a quarter was noticed there, and the rest lives
/// elsewhere: half of that in other regions, half in another workspace.
pub(super) async fn dead(pool: &PgPool, workspace: &str, count: u32) -> anyhow::Result<()> {
    let marks = "INSERT INTO stigmergy.marker
        (workspace_id, marker_id, region, type, category, placed_by, intensity, half_life_s, placed_at, refreshed_at,
         expires_at, version, written_at, faded_at)
        SELECT CASE n % 4 WHEN 3 THEN $1 || '-2' ELSE $1 END,
               gen_random_uuid(),
               CASE n % 4 WHEN 2 THEN 'elsewhere/r' ELSE 'heap/r' END || n / 4 % 10,
               'knowledge.pattern', 'knowledge', 'operator:bench', 500000, 60,
               now - interval '2 days', now - interval '1 day',
               CASE WHEN n % 4 < 2 THEN now - interval '1 hour' ELSE now + interval '1 day' END,
               1, now, CASE n % 4 WHEN 1 THEN now END
        FROM generate_series($2, $3) AS n, stigmergy.now() AS now";
    let count = i32::try_from(count)?;
    for from in (1..=count).step_by(STEP) {
        let to = count.min(from.saturating_add(i32::try_from(STEP)? - 1));
        let marks = sqlx::query(marks).bind(workspace).bind(from).bind(to);
        marks.execute(pool).await?;
    }
    settle(pool).await
}

/// What autovacuum would have done by the time that so many are there.
async fn settle(pool: &PgPool) -> anyhow::Result<()> {
    sqlx::query("VACUUM (ANALYZE) stigmergy.marker")
        .execute(pool)
        .await?;
    sqlx::query("CHECKPOINT").execute(pool).await?;
    Ok(())
}

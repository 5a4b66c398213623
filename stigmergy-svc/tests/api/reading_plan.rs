//! What a look costs: the live marks of its regions, whatever else there is. Told by the plan, not by the time.

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::fixture;

const SENSE: &str = include_str!("../../src/store/sense.sql");
const GRADIENT: &str = include_str!("../../src/store/gradient.sql");

/// As the service sets its sessions up.
const SESSION: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
                       SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/// 1,000 live marks in ten regions below `a/b`; 20,000 silent ones in the same regions, 20,000 live ones elsewhere.
const MARKS: &str = "
    INSERT INTO stigmergy.marker (workspace_id, marker_id, region, type, category, placed_by, placer, intensity,
                                  half_life_s, placed_at, refreshed_at, expires_at, version, written_at)
    SELECT 'default', gen_random_uuid(), m.region, 'danger.x', 'danger', a.id::text, a.id, 500000, 600,
           now(), now(), now() + m.left, 1, now()
    FROM (
        SELECT 'a/b/' || n % 10 AS region, interval '5000 s' AS left FROM generate_series(1, 1000) n
        UNION ALL SELECT 'a/b/' || n % 10, interval '-1 s' FROM generate_series(1, 20000) n
        UNION ALL SELECT (ARRAY['a', 'a/bb', 'a/b-', 'c'])[n % 4 + 1] || '/' || n % 100, interval '5000 s'
                  FROM generate_series(1, 20000) n
    ) m CROSS JOIN (SELECT gen_random_uuid() AS id) a;
    INSERT INTO stigmergy.region SELECT DISTINCT 'default', region, now() + interval '5000 s' FROM stigmergy.marker;
    ANALYZE stigmergy.marker; ANALYZE stigmergy.region";

/// The statement with types instead of sqlx's notes, and run once.
async fn explained(conn: &mut PgConnection, sql: &str, types: &str, values: &str) -> Value {
    let sql: String = sql
        .split('"')
        .enumerate()
        .map(|(place, part)| match place % 2 {
            0 => part.to_owned(),
            _ => format!("\"{}\"", part.trim_end_matches(['!', '?'])),
        })
        .collect();
    let prepare = format!("DEALLOCATE ALL; PREPARE looked ({types}) AS {sql}");
    sqlx::raw_sql(AssertSqlSafe(prepare))
        .execute(&mut *conn)
        .await
        .unwrap();
    let explain =
        format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE looked ({values})");
    let rows = sqlx::raw_sql(AssertSqlSafe(explain))
        .fetch_all(&mut *conn)
        .await
        .unwrap();
    let text: String = rows[0].try_get_unchecked(0).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()[0]["Plan"].clone()
}

/// Every node that reads this table: how it does, and how many rows it read in all.
fn reads(plan: &Value, table: &str, found: &mut Vec<(String, f64, f64)>) {
    if plan["Relation Name"] == table {
        let loops = plan["Actual Loops"].as_f64().unwrap();
        let number = |key: &str| plan[key].as_f64().unwrap_or_default() * loops;
        let how = format!("{} {}", plan["Node Type"], plan["Index Name"]);
        let removed = number("Rows Removed by Filter") + number("Rows Removed by Index Recheck");
        found.push((how.replace('"', ""), number("Actual Rows"), removed));
    }
    for child in plan["Plans"].as_array().into_iter().flatten() {
        reads(child, table, found);
    }
}

async fn assert_reads_only_what_is_live(sql: &str, types: &str, values: &str) {
    let fixture = fixture::start().await;
    // Nobody sweeps here while we look: its sessions would only add noise.
    let mut conn = PgConnection::connect(&fixture.database.superuser_url())
        .await
        .unwrap();
    sqlx::raw_sql(MARKS).execute(&mut conn).await.unwrap();
    sqlx::raw_sql(SESSION).execute(&mut conn).await.unwrap();

    let plan = explained(&mut conn, sql, types, values).await;

    let mut found = Vec::new();
    reads(&plan, "marker", &mut found);
    // Ten ranges, a thousand rows, and not one that was read in vain.
    let expected = ("Index Scan marker_by_region".to_owned(), 1_000.0, 0.0);
    assert_eq!(found, [expected], "{plan:#}");
    let mut regions = Vec::new();
    reads(&plan, "region", &mut regions);
    assert_eq!(regions.len(), 1);
    assert_eq!(regions[0].1, 10.0, "{plan:#}");
    // A few hundred pages, where 41,000 rows and their entries have well over a thousand.
    let pages =
        plan["Shared Hit Blocks"].as_f64().unwrap() + plan["Shared Read Blocks"].as_f64().unwrap();
    assert!(pages < 500.0, "{pages} pages: {plan:#}");
}

#[tokio::test]
async fn sensing_reads_the_live_marks_of_its_regions_and_no_others() {
    assert_reads_only_what_is_live(
        SENSE,
        "text, text, text, text, text[], text[], int, text, boolean, boolean, bigint, timestamptz",
        "'default', 'a/b', 'a/b0', 'a/b/', '{}', '{}', 50000, NULL, false, false, 51, now()",
    )
    .await;
}

#[tokio::test]
async fn a_gradient_reads_the_live_marks_of_its_regions_and_no_others() {
    assert_reads_only_what_is_live(
        GRADIENT,
        "text, text, text, text, int, boolean, timestamptz",
        "'default', 'a/b', 'a/b0', 'a/b/', 5, false, now()",
    )
    .await;
}

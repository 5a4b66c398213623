//! How what was heard before is found: by its cause, also by a plan that was made while there was nothing. Told by the plan, not
//! by the time.

use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _};

use crate::fixture;

/// As the service sets its sessions up.
const SESSION: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
                       SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/// The conditions by which a statement's plan enters each of its indexes.
async fn conditions(sql: &str, types: &str, values: &str) -> Vec<String> {
    let fixture = fixture::start().await;
    let mut conn = PgConnection::connect(&fixture.database.superuser_url())
        .await
        .unwrap();
    let sql = sql.replace("place!", "place");
    let explain = format!(
        "{SESSION}; PREPARE looked ({types}) AS {sql}; EXPLAIN (FORMAT JSON) EXECUTE looked ({values})"
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(explain))
        .fetch_all(&mut conn)
        .await
        .unwrap();
    let text: String = rows[0].try_get_unchecked(0).unwrap();
    let plan: Value = serde_json::from_str(&text).unwrap();
    let mut found = Vec::new();
    gather(&plan[0]["Plan"], &mut found);
    found
}

fn gather(plan: &Value, found: &mut Vec<String>) {
    if let Some(condition) = plan["Index Cond"].as_str() {
        found.push(condition.to_owned());
    }
    for child in plan["Plans"].as_array().into_iter().flatten() {
        gather(child, found);
    }
}

#[tokio::test]
async fn what_the_ledger_has_is_found_by_its_cause() {
    let found = conditions(
        include_str!("../../src/store/ledger_known.sql"),
        "text[], uuid[], smallint[], uuid[]",
        "'{}', '{}', '{}', '{}'",
    )
    .await;

    let [condition] = found.as_slice() else {
        panic!("one index is entered: {found:?}");
    };
    assert!(condition.contains("cause_key"), "{condition}");
}

#[tokio::test]
async fn what_was_heard_is_found_by_its_cause() {
    let found = conditions(
        include_str!("../../src/store/heard_known.sql"),
        "text[], uuid[], text[], uuid[]",
        "'{}', '{}', '{}', '{}'",
    )
    .await;

    let [condition] = found.as_slice() else {
        panic!("one index is entered: {found:?}");
    };
    assert!(condition.contains("cause_key"), "{condition}");
}

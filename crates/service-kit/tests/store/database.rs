use cambium_service_kit::config::Secret;
use cambium_service_kit::database::{self, Fault, PoolOptions};
use cambium_testkit::free_port;
use chrono::TimeDelta;
use sqlx::PgPool;

use crate::{MIGRATOR, SCHEMA};

async fn fault_of(pool: &PgPool, statement: &'static str) -> Fault {
    database::classify(&sqlx::raw_sql(statement).execute(pool).await.unwrap_err())
}

#[tokio::test]
async fn a_database_that_is_away_is_unavailable_and_ends_nothing() {
    let url = Secret::new(format!("postgres://ada@127.0.0.1:{}/x", free_port()));
    let pool = database::connect(
        &url,
        PoolOptions {
            max: 1,
            service: "ledger",
        },
    )
    .unwrap();

    let fault = fault_of(&pool, "SELECT 1").await;

    assert_eq!(fault, Fault::Unavailable);
}

#[tokio::test]
async fn a_pool_says_whose_it_is_and_limits_its_statements() {
    let database = cambium_testkit::database(SCHEMA, &MIGRATOR).await;

    let shown =
        "SELECT current_setting('application_name') || ' ' || current_setting('statement_timeout')
                 || ' ' || current_setting('lock_timeout') || ' ' || current_user";
    let shown: String = sqlx::query_scalar(shown)
        .fetch_one(&database.pool)
        .await
        .unwrap();

    assert_eq!(shown, "ledger 5s 2s ledger");
}

#[tokio::test]
async fn a_service_may_neither_migrate_nor_use_public() {
    let database = cambium_testkit::database(SCHEMA, &MIGRATOR).await;

    for refused in [
        "CREATE TABLE public.t ()",
        "CREATE TABLE ledger.t ()",
        "TRUNCATE ledger.entry",
    ] {
        let error = sqlx::raw_sql(refused)
            .execute(&database.pool)
            .await
            .unwrap_err();
        assert_eq!(
            error.as_database_error().unwrap().code().unwrap(),
            "42501",
            "{refused}"
        );
    }
}

#[tokio::test]
async fn the_clock_of_one_test_is_not_the_clock_of_another() {
    let (moved, other) = tokio::join!(
        cambium_testkit::database(SCHEMA, &MIGRATOR),
        cambium_testkit::database(SCHEMA, &MIGRATOR),
    );
    let ahead = "SELECT extract(epoch FROM ledger.now() - clock_timestamp())::bigint";
    let ahead = async |pool| {
        sqlx::query_scalar::<_, i64>(ahead)
            .fetch_one(pool)
            .await
            .unwrap()
    };
    assert_eq!(ahead(&moved.pool).await, 0);

    moved.advance(TimeDelta::seconds(100)).await;
    moved.advance(TimeDelta::seconds(20)).await;

    assert_eq!(ahead(&moved.pool).await, 120);
    assert_eq!(ahead(&other.pool).await, 0);
}

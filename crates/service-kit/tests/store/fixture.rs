use cambium_proto::signal::v1::Signal;
use cambium_testkit::Database;
use uuid::Uuid;

use crate::{MIGRATOR, SCHEMA};

pub(crate) async fn database() -> Database {
    cambium_testkit::database(SCHEMA, &MIGRATOR).await
}

pub(crate) fn signal(kind: &str) -> Signal {
    Signal {
        signal_id: Uuid::now_v7().to_string(),
        r#type: kind.to_owned(),
        intensity: 0.5,
        workspace_id: "default".to_owned(),
        source: "ledger".to_owned(),
        ..Signal::default()
    }
}

pub(crate) async fn count(database: &Database, table: &str) -> i64 {
    let count = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM ledger.{table}"));
    sqlx::query_scalar(count)
        .fetch_one(&database.owner)
        .await
        .unwrap()
}

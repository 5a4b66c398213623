//! SQL, one statement a function, qualified by schema. Rows never leave their file; no rule stands here.

/// One column of many rows, for `unnest`.
macro_rules! column {
    ($rows:expr, $row:ident => $value:expr) => {
        $rows.iter().map(|$row| $value).collect::<Vec<_>>()
    };
}

pub(crate) mod able;
pub(crate) mod agent;
pub(crate) mod engine;
pub(crate) mod event;
pub(crate) mod graph;
pub(crate) mod hot;
pub(crate) mod inbox;
pub(crate) mod orphan;
pub(crate) mod park;
pub(crate) mod pulse;
pub(crate) mod queue;
pub(crate) mod receipt;
pub(crate) mod registration;
pub(crate) mod retention;
pub(crate) mod run;
pub(crate) mod signal;
pub(crate) mod spawn;
pub(crate) mod standing;
pub(crate) mod tally;
pub(crate) mod task;
pub(crate) mod turn;
pub(crate) mod weights;
pub(crate) mod why;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

pub(crate) const SCHEMA: &str = "hypha";

/// The service's only clock for whatever is stored.
pub(crate) async fn now(conn: &mut PgConnection) -> Result<DateTime<Utc>, sqlx::Error> {
    let row = sqlx::query!(r#"SELECT hypha.now() AS "now!""#)
        .fetch_one(conn)
        .await?;
    Ok(row.now)
}

/// Packs node indices for a `bytea` column, 4 bytes each: arrays of arrays do not pass `unnest`.
pub(crate) fn pack(nodes: &[u32]) -> Vec<u8> {
    nodes.iter().flat_map(|node| node.to_le_bytes()).collect()
}

/// The reverse of [`pack`].
pub(crate) fn unpack(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]))
        .collect()
}

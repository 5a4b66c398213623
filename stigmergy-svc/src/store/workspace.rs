//! The lock of a workspace, and the last number given out there.
//!
//! Whatever changes marks, numbers events or copies a quarantine takes this lock first and then reads: so rates are exact,
//! transforms are not lost, numbers have no gaps, and after a quarantine nothing of its agent is stored, on any number of
//! replicas. Other rows are locked after it and in the order of their keys, so nobody waits in a circle. Readers take none.

use std::collections::BTreeSet;

use cambium_kernel::WorkspaceId;
use sha2::{Digest as _, Sha256};
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres, Transaction};

use crate::error::Error;

/// How many dead connections a transaction may meet before it finds a live one: as many as the pool can hold.
const DEAD: u32 = 8;

/// Begins a transaction that has these workspaces to itself. One round trip.
pub(crate) async fn begin<'a>(
    pool: &PgPool,
    workspaces: impl IntoIterator<Item = &'a WorkspaceId>,
) -> Result<Transaction<'static, Postgres>, Error> {
    let mut begin = "BEGIN".to_owned();
    for key in keys(workspaces) {
        // Numbers of our own making: nothing that a caller wrote.
        begin.push_str(&format!("; SELECT pg_advisory_xact_lock({key})"));
    }
    for _ in 0..DEAD {
        match pool.begin_with(AssertSqlSafe(begin.clone())).await {
            // It had died unnoticed, and nothing was done on it yet.
            Err(sqlx::Error::Io(_)) => {}
            begun => return Ok(begun?),
        }
    }
    Ok(pool.begin_with(AssertSqlSafe(begin)).await?)
}

/// Takes these workspaces' locks in a transaction that has begun already.
pub(crate) async fn lock<'a>(
    conn: &mut PgConnection,
    workspaces: impl IntoIterator<Item = &'a WorkspaceId>,
) -> Result<(), Error> {
    for key in keys(workspaces) {
        sqlx::query!("SELECT pg_advisory_xact_lock($1)", key)
            .execute(&mut *conn)
            .await?;
    }
    Ok(())
}

/// The locks' numbers, in the order in which everybody takes them. Two workspaces may share one: they wait for each other.
fn keys<'a>(workspaces: impl IntoIterator<Item = &'a WorkspaceId>) -> BTreeSet<i64> {
    workspaces.into_iter().map(key).collect()
}

fn key(workspace: &WorkspaceId) -> i64 {
    let digest = Sha256::new()
        .chain_update("stigmergy.workspace\n")
        .chain_update(workspace.as_str())
        .finalize();
    i64::from_le_bytes(std::array::from_fn(|n| digest[n]))
}

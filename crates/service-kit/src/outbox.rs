//! Facts on their way to other services: written where they become true, delivered soon after, at least once.
//! Promises no order, and waits for no receiver inside a transaction.
//!
//! Works on a table that the service's migrations make: `outbox(id bigint identity, receiver text, body bytea,
//! created_at timestamptz, attempts int, next_at timestamptz)`, found by receiver and `next_at`.

mod delivery;
mod queue;
mod relay;
mod routes;

use cambium_proto::signal::v1::{DeliverRequest, Signal};
use prost::Message;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::database;

pub use crate::peer::Credentials;
pub use relay::{Relay, Wake};
pub use routes::Routes;

/// A row that grew past this is followed by another: one must fit into a request with room to spare.
const ROW_BYTES: usize = 256 * 1024;

/// A receiver, and the encoded request it should get.
pub type Row = (&'static str, Vec<u8>);

/// Packs a batch's signals: one row for each receiver, in the order of the signals.
#[must_use]
pub fn rows(routes: &Routes, signals: Vec<Signal>) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for signal in signals {
        let receivers = routes.receivers(&signal.r#type);
        // Encoded requests that stand behind one another are one request with all their signals.
        let body = DeliverRequest {
            signals: vec![signal],
        }
        .encode_to_vec();
        for receiver in receivers {
            let open = rows.iter_mut().rev().find(|(name, _)| name == receiver);
            match open {
                Some((_, row)) if row.len() + body.len() <= ROW_BYTES => {
                    row.extend_from_slice(&body)
                }
                Some(_) | None => rows.push((receiver, body.clone())),
            }
        }
    }
    rows
}

/// Writes the rows in the caller's transaction.
pub async fn insert(
    conn: &mut PgConnection,
    schema: &'static str,
    rows: &[Row],
) -> Result<(), database::Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let insert = format!(
        "INSERT INTO {schema}.outbox (receiver, body, created_at, attempts, next_at)
         SELECT receiver, body, {schema}.now(), 0, {schema}.now()
         FROM unnest($1::text[], $2::bytea[]) AS new (receiver, body)"
    );
    let (receivers, bodies): (Vec<&str>, Vec<&[u8]>) = rows
        .iter()
        .map(|(name, body)| (*name, body.as_slice()))
        .unzip();
    sqlx::query(AssertSqlSafe(insert))
        .bind(receivers)
        .bind(bodies)
        .execute(conn)
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests;

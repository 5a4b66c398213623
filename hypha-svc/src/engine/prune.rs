//! Keeps the events of a run from growing for ever: the oldest go in the transaction that adds the newest.

use cambium_hypha::retention::stale_up_to;
use sqlx::PgConnection;

use crate::store;
use crate::store::engine::{NewEvents, unsigned};
use crate::store::event::Stale;

/// Deletes what is past the newest `limit` events, of runs that these have made grow enough for it.
pub(crate) async fn prune(
    conn: &mut PgConnection,
    limit: u32,
    added: &[NewEvents],
) -> Result<(), sqlx::Error> {
    let stale = added.iter().filter_map(|new| {
        let before = unsigned(new.last_seq - new.k);
        let up_to = stale_up_to(before, unsigned(new.last_seq), limit)?;
        Some(Stale {
            run: new.run,
            up_to,
        })
    });
    let stale: Vec<Stale> = stale.collect();
    if stale.is_empty() {
        return Ok(());
    }
    store::event::delete_stale(conn, &stale).await
}

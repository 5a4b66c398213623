//! Keeps runs in flight: starts one whenever there is room, from as few calls at once as that takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cambium_client::Connection;

use super::site::{CALLS_PER_CONNECTION, Site, Stored};
use super::tally::Tally;
use super::{Workers, beside};

/// More would not be faster, and with the callers they would be more than a service works on at once.
const MOST: u32 = 100;

#[derive(Clone, Debug)]
struct Starter {
    connection: Connection,
    stored: Stored,
    tally: Arc<Tally>,
    left: Arc<AtomicU64>,
}

/// Starters of at most `runs` runs, `at_once` at a time.
pub(super) fn start(
    site: &Site<'_>,
    stored: &Stored,
    tally: &Arc<Tally>,
    (runs, at_once): (u64, u32),
) -> anyhow::Result<Workers> {
    let mut starters = Workers::new();
    let left = Arc::new(AtomicU64::new(runs));
    let count = at_once.min(MOST) as usize;
    let mut connection = site.operator_connection()?;
    for number in 0..count {
        if number > 0 && number.is_multiple_of(CALLS_PER_CONNECTION) {
            connection = site.operator_connection()?;
        }
        let starter = Starter {
            connection: connection.clone(),
            stored: stored.clone(),
            tally: tally.clone(),
            left: left.clone(),
        };
        starters.spawn(starter.run());
    }
    Ok(starters)
}

/// Runs so many to their end, while somebody else does their tasks.
pub(super) async fn run(
    site: &Site<'_>,
    stored: &Stored,
    tally: &Arc<Tally>,
    (runs, at_once): (u32, u32),
) -> anyhow::Result<()> {
    let end = tally.started_so_far() + u64::from(runs);
    let mut starters = start(site, stored, tally, (runs.into(), at_once))?;
    let ended = async {
        tally.until_ended(end).await;
        Ok(())
    };
    beside(&mut starters, ended).await
}

impl Starter {
    async fn run(self) -> anyhow::Result<()> {
        while self.takes_one() {
            match self.tally.room.acquire().await {
                // It comes back when the run has ended.
                Ok(room) => room.forget(),
                // The load is closing.
                Err(_) => return Ok(()),
            }
            let at = Instant::now();
            let run = self.stored.start(&self.connection).await?;
            self.tally.started(run, self.stored.tasks, at);
        }
        Ok(())
    }

    fn takes_one(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        let order = Ordering::Relaxed;
        self.left.fetch_update(order, order, less).is_ok()
    }
}

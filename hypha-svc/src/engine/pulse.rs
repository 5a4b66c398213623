//! Our own ears. Workers renew leases by calls that we hear; while no replica listens, a lease that runs out is our loss and
//! not theirs (design: hypha, section 3).
//!
//! Each replica notes about every second that it listens. Whoever finds the last note too old gives every open lease a full term
//! before anybody judges one. Holds no truth: the note is in the store, and this only remembers when it was fresh.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Engine, commit};
use crate::error::Error;
use crate::store;

/// How long nobody may have listened before leases are forgiven, at most.
const LONGEST_GAP: Duration = Duration::from_secs(3);

/// How long nobody may have listened before leases are forgiven: workers renew a lease at a third of it, so that with less
/// than that they are heard in time.
fn gap(lease: Duration) -> Duration {
    LONGEST_GAP.min(lease * 3 / 10)
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// How often each replica notes that it listens: three times within a gap.
pub(crate) fn every(lease: Duration) -> Duration {
    gap(lease) / 3
}

/// How long a note of ours is known to be fresh: with another one missed it is still younger than a gap.
fn fresh(lease: Duration) -> Duration {
    gap(lease) * 6 / 10
}

#[derive(Debug, Default)]
pub(crate) struct Pulse {
    noted: Mutex<Option<Instant>>,
    noting: tokio::sync::Mutex<()>,
}

impl Pulse {
    fn is_fresh(&self, lease: Duration) -> bool {
        let noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.is_some_and(|at| at.elapsed() < fresh(lease))
    }

    /// A note counts from when it was sent.
    fn note(&self, sent: Instant) {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        *noted = Some(sent);
    }
}

impl Engine {
    /// Makes sure that no gap lies behind us before leases are judged. Costs nothing while the notes go on.
    pub(crate) async fn listen(&self) -> Result<(), Error> {
        if self.pulse.is_fresh(self.settings.lease) {
            return Ok(());
        }
        let _alone = self.pulse.noting.lock().await;
        if self.pulse.is_fresh(self.settings.lease) {
            return Ok(());
        }
        self.note_pulse().await
    }

    /// Notes that we listen.
    pub(crate) async fn note_pulse(&self) -> Result<(), Error> {
        let sent = Instant::now();
        let mut tx = commit::begin(&self.pool).await?;
        let lease = self.settings.lease;
        let was_deaf = store::pulse::beat(&mut tx, millis(gap(lease)), millis(lease)).await?;
        tx.commit().await?;
        if was_deaf {
            tracing::warn!("nobody listened for a while: every open lease got a full term");
        }
        self.pulse.note(sent);
        Ok(())
    }
}

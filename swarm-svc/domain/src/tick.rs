//! The scheduler's decision: whether anything may start now, in which slot, and of which mind.
//! Launches nothing when it is not sure, and at most one turn (design: swarm, section 6, `tick`).

use cambium_kernel::Usd;
use chrono::{DateTime, Utc};

use crate::bucket::Bucket;
use crate::dial::{Dial, Reserve};
use crate::member::Standing;
use crate::wallet::Limit;
use crate::{Error, Why};

/// All that a tick reads before it looks at a mind, under the lock of the bucket.
#[derive(Clone, Debug)]
pub struct Round {
    pub now: DateTime<Utc>,
    /// None where it is absent, unreadable or out of bounds.
    pub dial: Option<Dial>,
    /// Refilled.
    pub bucket: Bucket,
    /// The sum of the open reservations.
    pub reserved: Usd,
    pub limit: Limit,
    /// The slots of the live turns.
    pub taken: Vec<u32>,
    /// The latest end of an open session that preempts.
    pub preempted_until: Option<DateTime<Utc>>,
}

impl Round {
    /// The dial by which a turn may start, or the first gate that is closed.
    pub fn gate(&self) -> Result<Dial, Why> {
        let dial = self.dial.ok_or(Why::Dial)?;
        if self.preempted_until.is_some_and(|until| self.now < until) {
            return Err(Why::Preempt);
        }
        if self.taken.len() >= dial.k() as usize {
            return Err(Why::Slots);
        }
        if self.bucket.level < self.held(&dial) {
            return Err(Why::Bucket);
        }
        if !self.limit.admits(dial.cap()) {
            return Err(Why::Wallet);
        }
        Ok(dial)
    }

    /// What the bucket must hold for turns that are alive.
    #[must_use]
    pub fn held(&self, dial: &Dial) -> Usd {
        match dial.reserve() {
            Reserve::Cap => self.reserved,
            Reserve::None => Usd::from_micros(0),
        }
    }

    /// The lowest slot that no live turn has.
    #[must_use]
    pub fn slot(&self) -> u32 {
        let mut slot = 0;
        while self.taken.contains(&slot) {
            slot += 1;
        }
        slot
    }
}

/// Whether this mind may be launched now, whatever its place in the order; else the gate that is closed.
pub fn may_launch(round: &Round, mind: &Standing) -> Result<(), Error> {
    round.gate().map_err(Error::Closed)?;
    match mind.hindrance(round.now) {
        Some(why) => Err(Error::Closed(why)),
        None if mind.has_unreadable_persona => Err(Error::Closed(Why::Persona)),
        None if mind.is_live => Err(Error::Closed(Why::Live)),
        None => Ok(()),
    }
}

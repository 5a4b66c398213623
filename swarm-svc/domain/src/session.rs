//! An operator's own work with a mind: not charged, no slot, no bucket; its mind is off the timeline meanwhile.
//! Stops no live turn (design: swarm, section 6).

#[cfg(test)]
mod tests;

use chrono::{DateTime, TimeDelta, Utc};

use crate::error::bounded;
use crate::mind::State;
use crate::time::after;
use crate::{Error, Instance, SessionId};

/// A session that was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    pub instance: Instance,
    /// No new turn of any mind starts while it is open.
    pub is_preempting: bool,
    pub opened_at: DateTime<Utc>,
    pub until: DateTime<Utc>,
    pub closed_at: Option<DateTime<Utc>>,
}

/// The longest session, in seconds.
const MOST_S: i64 = 43_200;

impl Session {
    /// Opens one, for 4 hours unless told: an open mind has at most one.
    pub fn open(
        id: SessionId,
        mind: (&Instance, State),
        is_preempting: bool,
        ttl_s: Option<i64>,
        now: DateTime<Utc>,
    ) -> Result<Self, Error> {
        mind.1.writable()?;
        let ttl_s = bounded("ttl_s", ttl_s.unwrap_or(14_400), 1..=MOST_S)?;
        Ok(Self {
            id,
            instance: mind.0.clone(),
            is_preempting,
            opened_at: now,
            until: after(now, TimeDelta::seconds(ttl_s)),
            closed_at: None,
        })
    }

    #[must_use]
    pub fn is_open(&self, now: DateTime<Utc>) -> bool {
        self.closed_at.is_none() && now < self.until
    }

    /// As its closing leaves it: now, or when it ended by itself. A closed one stays as it is.
    #[must_use]
    pub fn closed(self, now: DateTime<Utc>) -> Self {
        Self {
            closed_at: self.closed_at.or(Some(now.min(self.until))),
            ..self
        }
    }

    /// Lets it go on for so long from now, 12 hours from its opening at most.
    pub fn extended(self, ttl_s: i64, now: DateTime<Utc>) -> Result<Self, Error> {
        if !self.is_open(now) {
            return Err(Error::TurnLost);
        }
        let ttl_s = bounded("ttl_s", ttl_s, 1..=MOST_S)?;
        let wanted = after(now, TimeDelta::seconds(ttl_s));
        let last = after(self.opened_at, TimeDelta::seconds(MOST_S));
        Ok(Self {
            until: self.until.max(wanted.min(last)),
            ..self
        })
    }
}

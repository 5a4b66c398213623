//! How often somebody may leave, renew or build on marks in one region. Exact: a window slides, it does not reset.

use chrono::{DateTime, TimeDelta, Utc};

/// So many accepted operations of one author in one region ..
pub const MOST: usize = 10;

/// .. within this time. Two that are exactly so far apart are not within it.
pub const WINDOW: TimeDelta = TimeDelta::seconds(60);

/// The last accepted operations of one author in one region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    // INVARIANT: at most `MOST`, oldest first.
    times: Vec<DateTime<Utc>>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    Admitted,
    /// Ten are within the window; after exactly this wait the oldest of them is not.
    Refused {
        wait: TimeDelta,
    },
}

impl Accepted {
    /// From what was stored, in whatever order. Only the last ten can matter.
    #[must_use]
    pub fn from_times(mut times: Vec<DateTime<Utc>>) -> Self {
        times.sort_unstable();
        times.drain(..times.len().saturating_sub(MOST));
        Self { times }
    }

    /// Oldest first.
    #[must_use]
    pub fn times(&self) -> &[DateTime<Utc>] {
        &self.times
    }

    /// Moves what a clock that was set back has left in the future to the present: it happened, so it cannot be later.
    /// Otherwise an author would have to wait for the clock to come back. Tells whether anything moved.
    pub fn settle(&mut self, now: DateTime<Utc>) -> bool {
        let mut has_moved = false;
        for time in self.times.iter_mut().filter(|time| **time > now) {
            *time = now;
            has_moved = true;
        }
        has_moved
    }

    /// Accepts an operation now, or says how long to wait. Whoever is refused counts for nothing.
    pub fn admit(&mut self, now: DateTime<Utc>) -> Admission {
        self.settle(now);
        if let [tenth_last, ..] = self.times[..]
            && self.times.len() == MOST
        {
            let wait = WINDOW - (now - tenth_last);
            if wait > TimeDelta::zero() {
                return Admission::Refused { wait };
            }
            self.times.remove(0);
        }
        self.times.push(now);
        Admission::Admitted
    }
}

#[cfg(test)]
mod tests;

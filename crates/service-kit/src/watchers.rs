//! What every watch is made of: a seat, of which a principal has so many at one replica, and an outlet that waits for a slow
//! reader only so long. Neither lets one watcher take the memory or the time of all. Knows nothing of what is watched.

mod outlet;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cambium_kernel::{ErrorKind, Failure};

pub use outlet::{Outlet, Sent, Unsent};

/// Watches that one principal may hold in one process.
const MOST: usize = 16;

/// A principal holds as many watches as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{MOST} watches are open already: end one first")]
pub struct TooMany;

impl Failure for TooMany {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Exhausted
    }

    fn reason(&self) -> &'static str {
        "TOO_MANY_WATCHES"
    }
}

/// How many watches each principal holds in this process.
#[derive(Clone, Debug, Default)]
pub struct Watchers(Arc<Mutex<HashMap<String, usize>>>);

/// One principal's place among the watchers. Dropping it makes room.
#[derive(Debug)]
#[must_use = "the place is given back when this is dropped"]
pub struct Seat {
    watchers: Watchers,
    subject: String,
}

impl Watchers {
    /// Gives the principal one more place, of 16.
    pub fn sit(&self, subject: String) -> Result<Seat, TooMany> {
        let mut seats = self.seats();
        let taken = seats.entry(subject.clone()).or_default();
        if *taken >= MOST {
            return Err(TooMany);
        }
        *taken += 1;
        drop(seats);
        Ok(Seat {
            watchers: self.clone(),
            subject,
        })
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.watchers.seats();
        if let Some(taken) = seats.get_mut(&self.subject) {
            *taken -= 1;
            if *taken == 0 {
                seats.remove(&self.subject);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sit(watchers: &Watchers, who: &str) -> Result<Seat, TooMany> {
        watchers.sit(format!("operator:{who}"))
    }

    #[test]
    fn each_has_sixteen_places_of_its_own_and_gets_one_back_for_each_it_leaves() {
        let watchers = Watchers::default();
        let mut seats: Vec<Seat> = (0..MOST).map(|_| sit(&watchers, "ada").unwrap()).collect();

        assert_eq!(sit(&watchers, "ada").unwrap_err(), TooMany);
        drop(sit(&watchers, "bea").unwrap());
        seats.pop();
        seats.push(sit(&watchers, "ada").unwrap());
        assert_eq!(sit(&watchers, "ada").unwrap_err(), TooMany);
    }

    #[test]
    fn who_left_altogether_is_not_remembered() {
        let watchers = Watchers::default();

        drop(sit(&watchers, "ada").unwrap());

        assert!(watchers.seats().is_empty());
    }
}

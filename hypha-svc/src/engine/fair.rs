//! Turns of ready work, so that a large run does not starve a small one (design: hypha, section 6).
//!
//! What has been served is known only as far as this replica serves: a look at the head of each queue, every second, tells it
//! of the others. Forgets everything with the process: turns go on from what lies in the queues then.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cambium_hypha::fair::Turns;
use cambium_kernel::{Clock as _, RunId, SystemClock};

use super::cache::RunInfo;

/// A queue and a priority.
pub(crate) type Place = (i32, i16);

/// Who shares a turn: the runs of a key, or a run alone. A queue belongs to one workspace, so the key does too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Named(String),
    Run(RunId),
}

impl Key {
    fn of(info: &RunInfo) -> Self {
        match info.graph().fair_key() {
            "" => Self::Run(info.run),
            key => Self::Named(key.to_owned()),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Fair(Mutex<HashMap<Place, Turns<Key>>>);

impl Fair {
    fn places(&self) -> MutexGuard<'_, HashMap<Place, Turns<Key>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turn of a task that is left ready.
    pub(crate) fn turn(&self, place: Place, info: &RunInfo) -> i64 {
        let mut places = self.places();
        let turns = places.entry(place);
        turns
            .or_insert_with(|| Turns::from(micros()))
            .take(Key::of(info))
    }

    /// Work of this place was leased up to a turn.
    pub(crate) fn note_served(&self, place: Place, last: Option<i64>) {
        if let (Some(last), Some(turns)) = (last, self.places().get_mut(&place)) {
            turns.serve(last);
        }
    }

    /// Where turns are being counted.
    pub(crate) fn open(&self) -> Vec<Place> {
        self.places().keys().copied().collect()
    }

    /// What lies at the head of each of these places. Where nothing does at two looks, and nothing came between them, turns begin anew
    /// with the next task.
    pub(crate) fn note_heads(&self, heads: impl IntoIterator<Item = (Place, Option<i64>)>) {
        let mut places = self.places();
        for (place, head) in heads {
            let Some(turns) = places.get_mut(&place) else {
                continue;
            };
            match head {
                Some(head) => turns.serve(head.saturating_sub(1)),
                None if turns.found_empty() => drop(places.remove(&place)),
                None => {}
            }
        }
    }
}

/// Microseconds since 1970. Only where a queue is empty do turns begin with it: later work then comes after earlier.
fn micros() -> i64 {
    SystemClock.now().timestamp_micros()
}

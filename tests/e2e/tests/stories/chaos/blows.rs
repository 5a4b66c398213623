//! Who is killed or stopped when, and when they come back: drawn from a seed before anything starts.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

pub(super) const REPLICAS: usize = 2;
pub(super) const WORKERS: usize = 4;
/// Replicas first, then workers.
pub(super) const VICTIMS: usize = REPLICAS + WORKERS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Kill,
    Launch,
    /// Stands still past its leases, and then goes on as if nothing had been.
    Pause,
    Resume,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Blow {
    pub(super) at: Duration,
    pub(super) victim: usize,
    pub(super) turn: Turn,
}

/// Blows in the order in which they fall. At the end everybody is back.
pub(super) fn schedule(seed: u64, length: Duration) -> Vec<Blow> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut blows = Vec::new();
    let mut away_until = [Duration::ZERO; VICTIMS];
    let mut at = Duration::from_secs(1);
    while at < length {
        // One blow in three is for a replica; both may be away at once, and all workers too.
        let of_kind = if random.random_ratio(1, 3) {
            0..REPLICAS
        } else {
            REPLICAS..VICTIMS
        };
        let up: Vec<usize> = of_kind.filter(|who| away_until[*who] < at).collect();
        let (turns, away) = if random.random_ratio(4, 5) {
            ([Turn::Kill, Turn::Launch], random.random_range(0..1_500))
        } else {
            (
                [Turn::Pause, Turn::Resume],
                random.random_range(3_000..5_000),
            )
        };
        if let Some(victim) = up.choose(&mut random).copied() {
            let back = at + Duration::from_millis(away);
            away_until[victim] = back;
            for (turn, at) in turns.into_iter().zip([at, back]) {
                blows.push(Blow { at, victim, turn });
            }
        }
        at += Duration::from_millis(random.random_range(400..1_600));
    }
    blows.sort_by_key(|blow| blow.at);
    blows
}

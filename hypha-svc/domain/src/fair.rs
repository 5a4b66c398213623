//! Whose turn it is when more work is ready than can be done: start-time fair queueing by number of tasks (design: hypha,
//! section 6). Counts turns; knows neither queues nor clocks.

use std::collections::HashMap;
use std::hash::Hash;

/// Keys that are remembered although their turn has passed, at most.
const REMEMBERED: usize = 4_096;

/// Turns in one queue. Whoever has the lowest turn is served first; each key gets one after the other, and none gets
/// credit for the time in which it asked for nothing.
#[derive(Clone, Debug)]
pub struct Turns<K> {
    /// The turn that was served last: nothing new comes before it.
    served: i64,
    /// The turn that each key's next task gets at the earliest.
    next: HashMap<K, i64>,
    /// Nothing lay in the queue at the last look, and nothing was taken since.
    is_idle: bool,
}

impl<K: Eq + Hash> Turns<K> {
    /// Turns after `start`.
    #[must_use]
    pub fn from(start: i64) -> Self {
        Self {
            served: start,
            next: HashMap::new(),
            is_idle: false,
        }
    }

    /// The turn of one more task of a key.
    pub fn take(&mut self, key: K) -> i64 {
        self.is_idle = false;
        if self.next.len() >= REMEMBERED {
            let served = self.served;
            self.next.retain(|_, next| *next > served + 1);
        }
        let first = self.served.saturating_add(1);
        let next = self.next.entry(key).or_insert(first);
        let turn = (*next).max(first);
        *next = turn.saturating_add(1);
        turn
    }

    /// Nothing lies in the queue. Whether these turns may be forgotten: not at the first such look, for what was just taken may not lie
    /// there yet, and turns that began anew beside it would all come after it.
    pub fn found_empty(&mut self) -> bool {
        std::mem::replace(&mut self.is_idle, true)
    }

    /// A turn was served. Late news of an earlier one change nothing.
    pub fn serve(&mut self, turn: i64) {
        self.served = self.served.max(turn);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is ready, by turn; and whose it is.
    fn lowest(ready: &mut Vec<(i64, u8)>) -> Option<(i64, u8)> {
        let at = (0..ready.len()).min_by_key(|at| ready[*at])?;
        Some(ready.remove(at))
    }

    #[test]
    fn a_run_of_ten_thousand_does_not_starve_a_run_of_five() {
        let mut turns = Turns::from(0);
        let mut ready: Vec<_> = (0..10_000).map(|_| (turns.take(1), 1)).collect();
        for _ in 0..100 {
            let (turn, _) = lowest(&mut ready).unwrap();
            turns.serve(turn);
        }

        ready.extend((0..5).map(|_| (turns.take(2), 2)));

        let soon: Vec<u8> = (0..10).map(|_| lowest(&mut ready).unwrap().1).collect();
        assert_eq!(soon.iter().filter(|key| **key == 2).count(), 5);
    }

    #[test]
    fn a_look_before_the_work_lies_there_forgets_no_turns() {
        let mut turns = Turns::from(0);
        turns.take(1);
        assert!(!turns.found_empty(), "it may be on its way");
        turns.take(2);

        assert!(!turns.found_empty(), "so may this");
        assert!(turns.found_empty(), "nothing has come since");
    }

    #[test]
    fn whoever_slept_gets_no_back_pay() {
        let mut turns = Turns::from(0);
        turns.take(2);
        for _ in 0..50 {
            let turn = turns.take(1);
            turns.serve(turn);
        }

        let awake: Vec<i64> = (0..3).map(|_| turns.take(2)).collect();

        assert_eq!(awake, [51, 52, 53]);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Ask(u8, usize),
        Serve(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let ask = (0..4_u8, 1..20_usize).prop_map(|(key, count)| Step::Ask(key, count));
        let serve = (1..30_usize).prop_map(Step::Serve);
        prop::collection::vec(prop_oneof![ask, serve], 1..40)
    }

    proptest! {
        /// Between two services of a key that has work, every other key is served at most once more than it.
        #[test]
        fn nobody_who_has_work_is_passed_over_twice(steps in steps()) {
            let mut turns = Turns::from(7);
            let mut ready: Vec<(i64, u8)> = Vec::new();
            // How often each key was served while each other one waited, since that one's last service.
            let mut since = [[0_u32; 4]; 4];
            for step in steps {
                match step {
                    Step::Ask(key, count) => {
                        if !ready.iter().any(|(_, one)| *one == key) {
                            since[usize::from(key)] = [0; 4];
                        }
                        ready.extend((0..count).map(|_| (turns.take(key), key)));
                    }
                    Step::Serve(count) => {
                        for _ in 0..count {
                            let Some((turn, key)) = lowest(&mut ready) else { break };
                            turns.serve(turn);
                            since[usize::from(key)] = [0; 4];
                            for other in 0..4_u8 {
                                if other != key && ready.iter().any(|(_, one)| *one == other) {
                                    since[usize::from(other)][usize::from(key)] += 1;
                                    prop_assert!(since[usize::from(other)][usize::from(key)] <= 2);
                                }
                            }
                        }
                    }
                }
            }
        }

        #[test]
        fn turns_of_a_key_only_grow(keys in prop::collection::vec(0..3_u8, 1..200)) {
            let mut turns = Turns::from(0);
            let mut last = [0_i64; 3];
            for key in keys {
                let turn = turns.take(key);
                prop_assert!(turn > last[usize::from(key)]);
                last[usize::from(key)] = turn;
            }
        }
    }
}

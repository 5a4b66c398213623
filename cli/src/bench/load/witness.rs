//! Samples runs of the diamond, and hands each on once its last task has been accepted: whose gratitude is due then, and how
//! much of it. Asks nobody, so that the hands lose no time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::mpsc;
use uuid::Uuid;

/// The edges of the diamond.
const EDGES: [(usize, usize); 5] = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)];
const LAST: usize = 4;
/// Whose output the last task used.
const GIVER: usize = 3;
/// One of so many runs is looked at.
const EVERY: u128 = 8;

/// A run whose last task was accepted just now.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Due {
    pub(super) run: Uuid,
    /// Who gave the last task its input.
    pub(super) giver: String,
    /// How often this agent gave in the run: so many rows are due.
    pub(super) rows: usize,
    pub(super) at: Instant,
}

#[derive(Debug)]
pub(super) struct Witness {
    is_looking: AtomicBool,
    /// Who did which task of the runs that are looked at.
    doers: Mutex<HashMap<Uuid, [Option<String>; 5]>>,
    say: mpsc::Sender<Due>,
}

impl Witness {
    /// Whoever is asked is busy most of the time: what does not fit is not looked at.
    pub(super) fn new() -> (Self, mpsc::Receiver<Due>) {
        let (say, heard) = mpsc::channel(1);
        let witness = Self {
            is_looking: AtomicBool::new(false),
            doers: Mutex::default(),
            say,
        };
        (witness, heard)
    }

    pub(super) fn look(&self, looking: bool) {
        self.is_looking.store(looking, Ordering::Relaxed);
    }

    /// An agent's completion of a task was accepted.
    pub(super) fn saw(&self, task_id: &str, agent_id: &str) {
        let at = Instant::now();
        let Some((run, node)) = place(task_id).filter(|(run, _)| run.as_u128() % EVERY == 0) else {
            return;
        };
        let mut doers = self.doers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = doers.entry(run).or_default();
        known[node] = Some(agent_id.to_owned());
        if node != LAST {
            return;
        }
        let known = doers.remove(&run).unwrap_or_default();
        drop(doers);
        if self.is_looking.load(Ordering::Relaxed)
            && let Some(due) = due(run, &known, at)
        {
            let _ = self.say.try_send(due);
        }
    }
}

/// The run and the node's number of a task.
fn place(task_id: &str) -> Option<(Uuid, usize)> {
    let (run, node) = task_id.split_once('/')?;
    let node = node.strip_prefix('n')?.parse().ok()?;
    let run = Uuid::try_parse(run).ok()?;
    (node <= LAST).then_some((run, node))
}

/// None where an answer of an earlier task is still under way.
fn due(run: Uuid, doers: &[Option<String>; 5], at: Instant) -> Option<Due> {
    let giver = doers[GIVER].clone()?;
    if doers.iter().any(Option::is_none) {
        return None;
    }
    let given = EDGES
        .iter()
        .filter(|(from, _)| doers[*from].as_ref() == Some(&giver));
    Some(Due {
        run,
        rows: given.count(),
        giver,
        at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Uuid = Uuid::from_u128(EVERY);

    fn play(witness: &Witness, agents: [&str; 5]) {
        for (node, agent) in agents.iter().enumerate() {
            witness.saw(&format!("{RUN}/n{node}"), agent);
        }
    }

    #[test]
    fn a_run_is_handed_on_when_its_last_task_is_accepted() {
        let (witness, mut heard) = Witness::new();
        witness.look(true);

        play(&witness, ["x", "y", "x", "x", "z"]);

        let due = heard.try_recv().unwrap();
        assert_eq!(
            (due.giver.as_str(), due.rows),
            ("x", 4),
            "twice from a, once from c, once from d"
        );
        assert!(witness.doers.lock().unwrap().is_empty());
    }

    #[test]
    fn nothing_is_handed_on_while_nobody_looks_and_no_more_than_fits() {
        let (witness, mut heard) = Witness::new();
        play(&witness, ["x"; 5]);
        assert!(heard.try_recv().is_err());

        witness.look(true);
        play(&witness, ["x"; 5]);
        play(&witness, ["y"; 5]);

        assert_eq!(heard.try_recv().unwrap().giver, "x");
        assert!(heard.try_recv().is_err());
    }

    #[test]
    fn a_run_of_which_something_is_unknown_is_let_go() {
        let (witness, mut heard) = Witness::new();
        witness.look(true);

        witness.saw(&format!("{RUN}/n3"), "x");
        witness.saw(&format!("{RUN}/n4"), "y");

        assert!(heard.try_recv().is_err());
    }
}

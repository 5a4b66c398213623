//! What is looked for once nobody is killed any more: every run ended, every task completed once, every event in its
//! place, every thanks and every end of a lease delivered once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use cambium_proto::hypha::v1::{Run, RunState};
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{Signal, TaskOutcome};
use cambium_testkit::SignalSink;
use futures::stream::{self, StreamExt as _};

use super::load::{EDGES, Ledger};
use crate::house::House;
use crate::house::account::Account;
use crate::house::desk::Desk;

const TASKS: usize = 5;
/// Fewer than one principal may watch at one replica.
const AT_ONCE: usize = 12;

/// What was found, all of it in order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    pub(super) runs: usize,
    tasks: usize,
    /// Leases that ended with whoever held them.
    pub(super) lost: usize,
    leases: usize,
    thanks: usize,
    /// Agents whose only attempt in a run died with their worker.
    dead_ends: usize,
    /// Deliveries of signals that had been delivered before.
    repeated: usize,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} runs, {} tasks, {} leases of which {} lost, {} thanks, {} dead ends, {} repeated deliveries",
            self.runs,
            self.tasks,
            self.leases,
            self.lost,
            self.thanks,
            self.dead_ends,
            self.repeated
        )
    }
}

/// No run is open, no task is left, and everything has been told.
pub(super) async fn wait_for_quiet(house: &House, bound: Duration) {
    let open = "SELECT count(*) FROM hypha.run WHERE state < 3";
    let left = "SELECT count(*) FROM hypha.hot";
    let untold = "SELECT count(*) FROM hypha.outbox";
    for sql in [open, left, untold] {
        house.until_number(bound, sql, 0).await;
    }
}

impl Found {
    pub(super) async fn look(
        house: &House,
        desks: &[Desk; 2],
        ledger: &Ledger,
        sink: &SignalSink,
    ) -> Self {
        let stored = house.number("SELECT count(*) FROM hypha.run").await;
        let asked = i64::try_from(ledger.attempted).unwrap();
        assert_eq!(stored, asked, "no run but those that were asked for");
        assert_eq!(ledger.acknowledged.len(), ledger.attempted);
        let looks = ledger.acknowledged.iter().enumerate();
        let looks = looks.map(|(number, (key, run))| look_at(&desks[number % 2], key, run));
        let looks = stream::iter(looks).buffer_unordered(AT_ONCE);
        let looked: Vec<(Run, Account)> = looks.collect().await;
        let mut found = Self {
            runs: looked.len(),
            ..Self::default()
        };
        for (_, account) in &looked {
            found.tasks += account.succeeded.len();
            found.lost += account.lost;
            found.leases += account.leased.values().sum::<usize>();
        }
        let told = Told::by(sink.received());
        told.assert_complete(&looked);
        Self {
            thanks: told.thanks.len(),
            dead_ends: told.dead_ends.len(),
            repeated: told.deliveries - told.signals.len(),
            ..found
        }
    }
}

/// One acknowledged run: there, ended well, each task done once, and thanked for as often as handed on.
async fn look_at(desk: &Desk, key: &str, id: &str) -> (Run, Account) {
    let run = desk.run_of_key(key).await.unwrap();
    assert_eq!(run.run_id, id, "what was acknowledged is there");
    assert_eq!(run.state(), RunState::Succeeded, "{run:?}");
    let handoffs = run.gift.unwrap().total_handoffs;
    assert_eq!((run.gratitude, handoffs), (5, 5), "{run:?}");
    let account = Account::of(&desk.events(id).await);
    assert_eq!(account.succeeded.len(), TASKS, "{run:?}");
    (run, account)
}

/// What a receiver heard, by cause.
#[derive(Debug, Default)]
struct Told {
    deliveries: usize,
    signals: BTreeSet<String>,
    /// By giving and by receiving task.
    thanks: BTreeMap<(String, String), BTreeSet<String>>,
    /// By run and agent.
    dead_ends: BTreeMap<(String, String), BTreeSet<String>>,
    /// How a lease ended, by task and epoch.
    ends: BTreeMap<(String, i32), BTreeSet<String>>,
    succeeded: usize,
}

impl Told {
    fn by(received: Vec<Signal>) -> Self {
        let mut told = Self::default();
        for signal in received {
            told.deliveries += 1;
            if told.signals.insert(signal.signal_id.clone()) {
                told.note(signal);
            }
        }
        told
    }

    fn note(&mut self, signal: Signal) {
        let ids = match signal.payload {
            Some(Payload::Gratitude(one)) => self
                .thanks
                .entry((one.from_task_id, one.to_task_id))
                .or_default(),
            Some(Payload::DeadEnd(one)) => self
                .dead_ends
                .entry((one.workflow_run_id, one.agent_id))
                .or_default(),
            // A call of somebody who was paused past the lease: nothing ended with it.
            Some(Payload::TaskSettled(one)) if one.outcome() == TaskOutcome::Stale => return,
            Some(Payload::TaskSettled(one)) => {
                self.succeeded += usize::from(one.outcome() == TaskOutcome::Succeeded);
                self.ends.entry((one.task_id, one.epoch)).or_default()
            }
            _ => panic!("nobody is to hear this: {signal:?}"),
        };
        ids.insert(signal.signal_id);
    }

    /// Each handoff, each dead end and each end of a lease was told under one signal's id, and nothing else was.
    fn assert_complete(&self, runs: &[(Run, Account)]) {
        let causes = self.thanks.values().chain(self.dead_ends.values());
        let mut causes = causes.chain(self.ends.values());
        assert_eq!(
            causes.find(|ids| ids.len() > 1),
            None,
            "one fact is one signal"
        );
        self.assert_handoffs(runs);
        for (run, _) in runs {
            let of_run = self.dead_ends.keys().filter(|(id, _)| *id == run.run_id);
            let told = i64::try_from(of_run.count()).unwrap();
            assert_eq!(told, run.dead_ends, "{run:?}");
        }
        let accounts = || runs.iter().map(|(_, account)| account);
        let lost: usize = accounts().map(|account| account.lost).sum();
        let succeeded: usize = accounts().map(|account| account.succeeded.len()).sum();
        assert_eq!(
            (self.ends.len(), self.succeeded),
            (succeeded + lost, succeeded),
            "what was done and what was lost was told; what was handed back says nothing of anybody"
        );
    }

    fn assert_handoffs(&self, runs: &[(Run, Account)]) {
        let handoffs = runs.iter().flat_map(|(run, _)| {
            let id = &run.run_id;
            EDGES.map(|(from, to)| (format!("{id}/{from}"), format!("{id}/{to}")))
        });
        let handoffs: BTreeSet<_> = handoffs.collect();
        let missing = handoffs
            .iter()
            .find(|pair| !self.thanks.contains_key(*pair));
        let ghost = self.thanks.keys().find(|pair| !handoffs.contains(*pair));
        assert_eq!(
            (missing, ghost),
            (None, None),
            "every handoff, and no other"
        );
    }
}

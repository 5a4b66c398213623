//! The engine: makes every change to a run in one place, many calls to a transaction.
//!
//! A call becomes an [`op::Op`]; a committer drains what waits and runs one transaction (`commit`) of these stages: fence
//! the attempts, decide in memory what follows (`plan`, `cascade`), close what was cancelled or failed fast (`close`),
//! match ready work with waiting offers (`assign`), write everything, and end what has nothing left open (`finish`).
//! Only then are callers answered and attempts handed out. Steering calls (cancel, pause, signal) run the same stages in
//! a transaction of their own (`steer`).
//!
//! Refuses to hold truth in memory: caches, offers and hints may vanish at any moment and nothing is lost.

pub(crate) mod answer;
pub(crate) mod assign;
pub(crate) mod cache;
pub(crate) mod cascade;
pub(crate) mod close;
pub(crate) mod commit;
pub(crate) mod credit;
pub(crate) mod edges;
pub(crate) mod evidence;
pub(crate) mod fair;
pub(crate) mod finish;
pub(crate) mod grant;
pub(crate) mod launch;
pub(crate) mod losers;
pub(crate) mod offer;
pub(crate) mod op;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod prune;
pub(crate) mod pulse;
pub(crate) mod registration;
pub(crate) mod roster;
pub(crate) mod settle;
pub(crate) mod steer;
pub(crate) mod thank;
pub(crate) mod turn;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cambium_kernel::{LeaseId, RunId};
use cambium_service_kit::batch;
use cambium_service_kit::outbox::{Routes, Wake};
use sqlx::PgPool;
use tokio::sync::{Notify, broadcast, mpsc, oneshot};
use uuid::Uuid;

use self::cache::Caches;
use self::grant::{DecideJob, Granted, Grants};
use self::offer::Offers;
use self::op::{Op, Settle, Settled, SettledAll, Settles, Start, Started};
use crate::error::Error;

/// How the engine leases and batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) lease: Duration,
    /// How long a running task of a run that failed fast may go on.
    pub(crate) grace: Duration,
    /// Events that a run keeps, about.
    pub(crate) event_limit: u32,
}

/// A handle on the engine, shared by everything that changes runs.
#[derive(Clone, Debug)]
pub(crate) struct Engine(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) pool: PgPool,
    pub(crate) caches: Caches,
    pub(crate) offers: Offers,
    pub(crate) fair: fair::Fair,
    pub(crate) settings: Settings,
    pulse: pulse::Pulse,
    pub(crate) routes: Routes,
    ops: batch::Sender<Op>,
    decide: mpsc::UnboundedSender<DecideJob>,
    /// Says which run has new events, to whoever watches here.
    pub(crate) news: broadcast::Sender<RunId>,
    /// Wakes whoever reads standings again.
    pub(crate) standings: Notify,
    /// Wakes the relay after a commit that filled the outbox.
    pub(crate) relay: Wake,
    /// Tells this replica's notifications from others'.
    pub(crate) name: String,
    notified: Mutex<Option<Instant>>,
    /// Decisions under way here.
    deciding: Mutex<HashSet<LeaseId>>,
}

/// What the loops take from the engine.
#[derive(Debug)]
pub(crate) struct Ends {
    pub(crate) ops: batch::Receiver<Op>,
    pub(crate) decide: mpsc::UnboundedReceiver<DecideJob>,
}

/// Calls waiting for a committer, at most.
const BACKLOG: usize = 4096;

/// Long enough for one look, even for a poll that will not wait.
const SHORTEST_WAIT: Duration = Duration::from_millis(50);

const NOTIFY_EVERY: Duration = Duration::from_millis(20);

impl std::ops::Deref for Engine {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Engine {
    pub(crate) fn new(
        pool: PgPool,
        settings: Settings,
        routes: Routes,
        relay: Wake,
    ) -> (Self, Ends) {
        let (ops, ops_end) = batch::channel(BACKLOG);
        let (decide, decide_end) = mpsc::unbounded_channel();
        let inner = Inner {
            pool,
            caches: Caches::default(),
            offers: Offers::default(),
            fair: fair::Fair::default(),
            settings,
            pulse: pulse::Pulse::default(),
            routes,
            ops,
            decide,
            news: broadcast::channel(1024).0,
            standings: Notify::new(),
            relay,
            name: Uuid::new_v4().to_string(),
            notified: Mutex::new(None),
            deciding: Mutex::default(),
        };
        let ends = Ends {
            ops: ops_end,
            decide: decide_end,
        };
        (Self(Arc::new(inner)), ends)
    }

    /// Starts a run, or finds the one that its key names.
    pub(crate) async fn start(&self, start: Start) -> Result<Started, Error> {
        let (reply, answer) = oneshot::channel();
        self.submit(Op::Start(Box::new(start), reply)).await?;
        answer.await.map_err(|_| Error::Stopping)?
    }

    /// Ends, parks or returns an attempt, or makes any other fenced change to a task.
    pub(crate) async fn settle(&self, settle: Settle) -> Result<Settled, Error> {
        let alone = Settles {
            list: vec![settle],
            next: None,
        };
        let settled = self.settle_all(alone).await?;
        Ok(settled.list.first().copied().unwrap_or(Settled::Fenced))
    }

    /// Makes several changes in one transaction. Each has its own fence; only a lease of another worker stops them all.
    pub(crate) async fn settle_all(&self, settles: Settles) -> Result<SettledAll, Error> {
        let (reply, answer) = oneshot::channel();
        self.submit(Op::Settle(Box::new(settles), reply)).await?;
        answer.await.map_err(|_| Error::Stopping)?
    }

    /// Asks a committer to look for ready work, if the queue of calls has room.
    pub(crate) fn look(&self) {
        // Full: a committer is about to run anyway, and looks then.
        let _ = self.ops.try_submit(Op::Look);
    }

    /// Waits for work for a registration.
    pub(crate) async fn poll(
        &self,
        registration: Arc<registration::Registration>,
        max: u32,
        wait: Duration,
    ) -> Grants {
        let mut waiting = self.offers.open(self.clone(), registration.clone(), max);
        // Only now: work that is left after the look at the hints finds the offer.
        if self.offers.may_have_work(&registration) {
            self.look();
        }
        waiting.wait(wait.max(SHORTEST_WAIT)).await
    }

    /// Gives attempts back that reached nobody.
    pub(crate) fn give_back(&self, grants: Vec<Granted>) {
        let engine = self.clone();
        tokio::spawn(async move {
            for granted in grants {
                // If this fails too, the lease lapses and the sweep finds it.
                let _ = engine.settle(Settle::release(&granted)).await;
            }
        });
    }

    /// Whether other replicas should hear now that work was left ready. Not more often than they could look: a
    /// notification costs every commit that carries one a lock of the whole server's.
    pub(crate) fn may_notify(&self) -> bool {
        let mut last = self.notified.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let is_due = last.is_none_or(|last| now - last > NOTIFY_EVERY);
        if is_due {
            *last = Some(now);
        }
        is_due
    }

    /// Hands a decision to this replica's decider, unless it has it already.
    pub(crate) fn decide(&self, job: DecideJob) {
        let mut deciding = self.deciding.lock().unwrap_or_else(PoisonError::into_inner);
        if !deciding.insert(job.lease) {
            return;
        }
        drop(deciding);
        // The receiver lives as long as the service; afterwards the sweep of another replica decides.
        let _ = self.decide.send(job);
    }

    async fn submit(&self, op: Op) -> Result<(), Error> {
        Ok(self.ops.submit(op).await?)
    }

    /// The decider is done with this one, whatever came of it.
    pub(crate) fn decided(&self, lease: LeaseId) {
        let mut deciding = self.deciding.lock().unwrap_or_else(PoisonError::into_inner);
        deciding.remove(&lease);
    }
}

//! Keeps a worker's slots filled and its leases alive, until it is told to stop or is replaced.
//!
//! One poll at a time, for all slots that idle when it starts: a poll with any room returns as soon as there is work,
//! and the next one offers the rest. Slots that free up meanwhile are filled by the reports that freed them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cambium_proto::hypha::v1::{Attempt, HeartbeatRequest, Lease, PollRequest};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tonic::{Request, Status};

use super::Work;
use super::lease::Table;
use super::session::{Error, Patience, Session, is_unknown_registration};
use crate::{Connection, refusal};

/// The longest a poll may wait at the service, and how long its answer may then take.
const POLL_WAIT: Duration = Duration::from_secs(25);
const POLL_MARGIN: Duration = Duration::from_secs(10);
const MOST_PER_POLL: usize = 100;
/// How long a draining worker still listens to its last poll: what comes with it is given back.
const LAST_WORD: Duration = Duration::from_millis(250);
/// As many leases as fit into one heartbeat whatever their tasks are called.
const LEASES_PER_BEAT: usize = 500;

/// Which worker this is.
#[derive(Clone, Debug)]
pub struct Options {
    pub workspace: String,
    /// One name is one worker: a second process of the same name replaces the first.
    pub worker: String,
    pub agent_ids: Vec<String>,
    /// How many tasks at once, at least 1.
    pub slots: u32,
    /// Empty: all that its agents have.
    pub capabilities: Vec<String>,
}

/// Why a worker ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was told to, and finished what it held.
    Drained,
    /// A newer process of the same name took over.
    Replaced,
}

/// A worker that has not started yet.
#[derive(Debug)]
pub struct Runtime<W>(Arc<Shared<W>>);

#[derive(Debug)]
pub(crate) struct Shared<W> {
    pub(crate) session: Session,
    pub(crate) leases: Table,
    pub(crate) work: W,
    slots: Arc<Semaphore>,
    size: u32,
    draining: AtomicBool,
}

impl<W: Work> Runtime<W> {
    #[must_use]
    pub fn new(connection: &Connection, options: Options, work: W) -> Self {
        let size = options.slots.max(1);
        Self(Arc::new(Shared {
            session: Session::new(connection, options),
            leases: Table::default(),
            work,
            slots: Arc::new(Semaphore::new(size as usize)),
            size,
            draining: AtomicBool::new(false),
        }))
    }

    /// Registers and works until `stop` resolves, then finishes what it holds and gives back what it has not started.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<Ended, Error> {
        let shared = self.0;
        let mut stop = std::pin::pin!(stop);
        tokio::select! {
            registered = shared.session.register("") => registered?,
            () = &mut stop => return Ok(Ended::Drained),
        }
        let mut keepers = JoinSet::new();
        keepers.spawn(Arc::clone(&shared).beat());
        keepers.spawn(Arc::clone(&shared).watch_expiry());

        let ended = {
            let mut polling = std::pin::pin!(shared.poll());
            let ended = tokio::select! {
                ended = &mut polling => Some(ended),
                () = stop => None,
            };
            shared.draining.store(true, Ordering::Relaxed);
            match ended {
                Some(ended) => ended,
                // Left alone, what is on its way would be nobody's until its lease runs out.
                None => timeout(LAST_WORD, polling)
                    .await
                    .unwrap_or(Ok(Ended::Drained)),
            }
        };
        shared.drained().await;
        ended
    }
}

impl<W: Work> Shared<W> {
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Adds idle slots to `held`, up to `most` in all.
    pub(crate) fn take_idle(&self, held: &mut OwnedSemaphorePermit, most: usize) {
        let room = most.saturating_sub(held.num_permits());
        let idle = self.slots.available_permits().min(room);
        let wanted = u32::try_from(idle).unwrap_or(u32::MAX);
        if wanted > 0
            && let Ok(more) = Arc::clone(&self.slots).try_acquire_many_owned(wanted)
        {
            held.merge(more);
        }
    }

    /// Every slot is free once everything has been reported.
    async fn drained(&self) {
        let _all = self.slots.acquire_many(self.size).await;
    }

    async fn poll(self: &Arc<Self>) -> Result<Ended, Error> {
        let mut patience = Patience::default();
        loop {
            let Ok(mut slots) = Arc::clone(&self.slots).acquire_owned().await else {
                return Ok(Ended::Drained);
            };
            if self.is_draining() {
                return Ok(Ended::Drained);
            }
            self.take_idle(&mut slots, MOST_PER_POLL);
            let (registration, sent) = (self.session.registration(), Instant::now());
            match self.poll_once(&registration, slots.num_permits()).await {
                Ok(attempts) => {
                    patience = Patience::default();
                    self.start_all(attempts, sent, slots);
                }
                Err(status) if refusal::is(&status, "DRAINING") => return Ok(Ended::Replaced),
                Err(status) if is_unknown_registration(&status) => {
                    self.session.register(&registration).await?
                }
                Err(status) => {
                    drop(slots);
                    let pause = self.session.pause(&status, &mut patience)?;
                    tracing::warn!(said = status.message(), ?pause, "poll failed");
                    sleep(pause).await;
                }
            }
        }
    }

    async fn poll_once(&self, registration: &str, room: usize) -> Result<Vec<Attempt>, Status> {
        let mut request = Request::new(PollRequest {
            registration_id: registration.to_owned(),
            max: u32::try_from(room).unwrap_or(1),
            wait_ms: u32::try_from(POLL_WAIT.as_millis()).unwrap_or(0),
        });
        request.set_timeout(POLL_WAIT + POLL_MARGIN);
        let reply = self
            .session
            .connection
            .workers()
            .poll(request)
            .await?
            .into_inner();
        self.session.renew(&reply.token);
        Ok(reply.attempts)
    }

    /// Renews every lease at a third of its length, sooner again when that failed.
    async fn beat(self: Arc<Self>) {
        let mut due = Instant::now() + self.session.lease() / 3;
        loop {
            tokio::select! {
                () = sleep_until(due) => {}
                () = self.leases.urgent() => {}
            }
            let (sent, lease) = (Instant::now(), self.session.lease());
            due = sent + lease / 3;
            for leases in self.leases.leases().chunks(LEASES_PER_BEAT) {
                if let Err(status) = self.beat_once(leases).await {
                    tracing::warn!(said = status.message(), "heartbeat failed");
                    due = Instant::now() + lease / 15;
                }
            }
        }
    }

    async fn beat_once(&self, leases: &[Lease]) -> Result<(), Status> {
        let registration = self.session.registration();
        let sent = Instant::now();
        let mut request = Request::new(HeartbeatRequest {
            registration_id: registration.clone(),
            leases: leases.to_vec(),
        });
        request.set_timeout(self.session.lease() / 3);
        match self.session.connection.workers().heartbeat(request).await {
            Ok(reply) => {
                self.leases.hear(&reply.into_inner().leases, sent);
                Ok(())
            }
            Err(status) => {
                if is_unknown_registration(&status) {
                    let _ = self.session.register(&registration).await; // the poll says it if that cannot be
                }
                if status.code() == tonic::Code::Unauthenticated {
                    self.session.connection.tokens().refused();
                }
                Err(status)
            }
        }
    }

    /// Pauses work the moment its lease may have run out.
    async fn watch_expiry(self: Arc<Self>) {
        loop {
            let now = Instant::now();
            self.leases.pause_expired(now);
            let soon = now + self.session.lease() / 10;
            let next = self.leases.next_expiry(now);
            sleep_until(next.map_or(soon, |next| next.min(soon))).await;
        }
    }
}

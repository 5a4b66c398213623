//! The relay: one loop for each receiver, so that a dead one delays nobody else. Safe on any number of replicas.

use std::time::Duration;

use sqlx::PgPool;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Routes;
use super::delivery::Delivery;
use super::queue::Queue;
use crate::peer::{BadAddress, Credentials, Peer};
use crate::shutdown::Stop;

/// How often a receiver is told, at most, so that what many commits left goes together. After a rest it is told at once.
const SOON: Duration = Duration::from_millis(10);
/// The same of one that need not know at once.
const LATER: Duration = Duration::from_millis(200);

/// Tells the relay that there is something to deliver, once its transaction has committed.
#[derive(Clone, Debug)]
pub struct Wake(watch::Sender<()>);

impl Wake {
    pub fn notify(&self) {
        self.0.send_replace(());
    }
}

/// Delivers the outbox of one schema until it is stopped.
#[derive(Debug)]
pub struct Relay {
    pool: PgPool,
    schema: &'static str,
    receivers: Vec<Peer>,
    unhurried: &'static [&'static str],
    wake: Wake,
}

impl Relay {
    /// Connects to nobody yet.
    pub fn new(
        pool: PgPool,
        schema: &'static str,
        routes: &Routes,
        credentials: Credentials,
    ) -> Result<Self, BadAddress> {
        let receivers = routes
            .addresses()
            .iter()
            .map(|(name, address)| Peer::new(name, address, credentials.clone()));
        Ok(Self {
            pool,
            schema,
            receivers: receivers.collect::<Result<_, _>>()?,
            unhurried: &[],
            wake: Wake(watch::Sender::new(())),
        })
    }

    /// These are told five times a second at most while there is always something to tell: each round costs both sides
    /// transactions, whatever it carries.
    #[must_use]
    pub const fn unhurried(mut self, receivers: &'static [&'static str]) -> Self {
        self.unhurried = receivers;
        self
    }

    /// For whoever writes to the outbox; without it a row waits up to a second.
    #[must_use]
    pub fn wake(&self) -> Wake {
        self.wake.clone()
    }

    /// Runs until `stop`, then ends what it is at: a delivery begun is waited for, its rows deleted.
    pub async fn run(self, stop: Stop) {
        let mut loops = JoinSet::new();
        for receiver in self.receivers {
            let queue = Queue {
                pool: self.pool.clone(),
                schema: self.schema,
                receiver: receiver.name(),
            };
            let is_unhurried = self.unhurried.contains(&receiver.name());
            let pace = if is_unhurried { LATER } else { SOON };
            let delivery = Delivery::new(queue, receiver, pace);
            loops.spawn(delivery.run(self.wake.0.subscribe(), stop.clone()));
        }
        while loops.join_next().await.is_some() {}
    }
}

//! The relay: one loop for each receiver, so that a dead one delays nobody else. Safe on any number of replicas.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tonic::transport::{Channel, Endpoint};

use super::Routes;
use super::delivery::Delivery;
use super::queue::Queue;
use crate::shutdown::Stop;
use crate::token::SigningKey;

/// As whom the relay calls.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// A key that may mint tokens of services.
    pub key: Arc<SigningKey>,
    pub service: &'static str,
}

/// A receiver's address is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the address of {receiver}, `{address}`, is not a URL such as http://127.0.0.1:7070: correct it and start again"
)]
pub struct BadReceiver {
    receiver: &'static str,
    address: String,
}

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
    receivers: Vec<(&'static str, Channel)>,
    credentials: Credentials,
    wake: Wake,
}

impl Relay {
    /// Connects to nobody yet.
    pub fn new(
        pool: PgPool,
        schema: &'static str,
        routes: &Routes,
        credentials: Credentials,
    ) -> Result<Self, BadReceiver> {
        let receivers = routes
            .addresses()
            .iter()
            .map(|(name, address)| Ok((*name, channel(name, address)?)));
        Ok(Self {
            pool,
            schema,
            receivers: receivers.collect::<Result<_, _>>()?,
            credentials,
            wake: Wake(watch::Sender::new(())),
        })
    }

    /// For whoever writes to the outbox; without it a row waits up to a second.
    #[must_use]
    pub fn wake(&self) -> Wake {
        self.wake.clone()
    }

    /// Runs until `stop`, then ends what it is at: a delivery begun is waited for, its rows deleted.
    pub async fn run(self, stop: Stop) {
        let mut loops = JoinSet::new();
        for (receiver, channel) in self.receivers {
            let queue = Queue {
                pool: self.pool.clone(),
                schema: self.schema,
                receiver,
            };
            let delivery = Delivery::new(queue, channel, self.credentials.clone());
            loops.spawn(delivery.run(self.wake.0.subscribe(), stop.clone()));
        }
        while loops.join_next().await.is_some() {}
    }
}

fn channel(receiver: &'static str, address: &str) -> Result<Channel, BadReceiver> {
    let bad = || BadReceiver {
        receiver,
        address: address.to_owned(),
    };
    let endpoint = Endpoint::from_shared(address.to_owned()).map_err(|_| bad())?;
    if endpoint.uri().scheme().is_none() || endpoint.uri().authority().is_none() {
        return Err(bad());
    }
    Ok(endpoint
        .connect_timeout(Duration::from_secs(2))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10))
        .tcp_nodelay(true)
        .connect_lazy())
}

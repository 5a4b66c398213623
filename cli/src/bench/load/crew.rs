//! The load's workers: callers or streams, of one registration, on connections that stay open from round to round.

use std::sync::Arc;
use std::time::Duration;

use cambium_client::Connection;
use cambium_service_kit::shutdown::Stop;

use super::hand::Hand;
use super::site::{CALLS_PER_CONNECTION, Site};
use super::stream::Stream;
use super::tally::Tally;
use super::witness::Witness;
use super::{Workers, joined};
use crate::bench::client::Means;

#[derive(Debug)]
pub(super) struct Crew {
    means: Means,
    registration: String,
    connections: Vec<Connection>,
    pub(super) tally: Arc<Tally>,
    /// Whoever wants to know which agent did what; streams tell nobody.
    pub(super) witness: Option<Arc<Witness>>,
}

impl Crew {
    pub(super) async fn gather(
        site: &Site<'_>,
        means: Means,
        tally: Tally,
    ) -> anyhow::Result<Self> {
        let connections = match means {
            Means::Calls { hands, .. } => (hands as usize).div_ceil(CALLS_PER_CONNECTION),
            Means::Streams { streams, .. } => streams as usize,
        };
        let connections = (0..connections).map(|_| site.worker_connection());
        Ok(Self {
            means,
            registration: site.register().await?,
            connections: connections.collect::<Result<_, _>>()?,
            tally: Arc::new(tally),
            witness: None,
        })
    }

    /// Sets all of them to work. Told to stop, callers end when their polls are over, streams at once.
    pub(super) fn start(&self, stop: &Stop, wait: Duration) -> Workers {
        let mut workers = Workers::new();
        match self.means {
            Means::Calls { hands, batch } => {
                for number in 0..hands as usize {
                    let connection = &self.connections[number / CALLS_PER_CONNECTION];
                    let hand = Hand {
                        client: connection.workers(),
                        registration: self.registration.clone(),
                        tally: self.tally.clone(),
                        witness: self.witness.clone(),
                        stop: stop.clone(),
                        wait,
                    };
                    if batch == 1 {
                        workers.spawn(hand.one_by_one());
                    } else {
                        workers.spawn(hand.by_batches(batch));
                    }
                }
            }
            Means::Streams { credit, .. } => {
                for connection in &self.connections {
                    let stream = Stream {
                        connection: connection.clone(),
                        registration: self.registration.clone(),
                        tally: self.tally.clone(),
                        stop: stop.clone(),
                    };
                    workers.spawn(stream.work(credit));
                }
            }
        }
        workers
    }

    /// Lets the workers go and waits for the last of them.
    pub(super) async fn dismiss(&self, stop: &Stop, workers: Workers) -> anyhow::Result<()> {
        stop.stop();
        joined(workers).await
    }
}

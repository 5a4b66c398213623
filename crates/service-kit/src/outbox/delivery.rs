//! One receiver's loop: claim, deliver, delete. A row leaves only when the receiver has acknowledged it.

use std::collections::VecDeque;
use std::error::Error as StdError;
use std::time::{Duration, Instant};

use cambium_proto::signal::v1::DeliverRequest;
use cambium_proto::signal::v1::signal_service_client::SignalServiceClient;
use prost::Message;
use rand::Rng;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use super::queue::{Claimed, Queue};
use crate::database;
use crate::peer::Peer;
use crate::shutdown::Stop;
use crate::token::TokenError;

const POLL: Duration = Duration::from_secs(1);
const DEADLINE: Duration = Duration::from_secs(10);
/// Begun later than this, a delivery could outlast its rows' claim.
const CLAIM_IS_SAFE_FOR: Duration = Duration::from_secs(40);
/// Rows are sent together up to so many bytes.
const PARCEL_BYTES: usize = 1024 * 1024;
/// Where backing off ends: an outbox must be drained within 30 s of an outage.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Where it ends for a row that the receiver will not have as it is.
const LONGEST_POSTPONEMENT_S: f64 = 300.0;

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("the receiver did not acknowledge: {} ({:?})", .0.message(), .0.code())]
    Receiver(#[source] Box<Status>),
    #[error("no token for the receiver")]
    Token(#[from] TokenError),
    #[error(transparent)]
    Database(#[from] database::Error),
}

impl Error {
    /// The receiver understood the request and will never take it as it is.
    fn is_refusal(&self) -> bool {
        match self {
            Self::Receiver(status) => status.code() == Code::InvalidArgument,
            Self::Token(_) | Self::Database(_) => false,
        }
    }
}

#[derive(Debug)]
pub(super) struct Delivery {
    queue: Queue,
    client: SignalServiceClient<Channel>,
    receiver: Peer,
    /// A round begins no sooner than so long after the one before.
    pace: Duration,
}

impl Delivery {
    pub(super) fn new(queue: Queue, receiver: Peer, pace: Duration) -> Self {
        Self {
            queue,
            client: SignalServiceClient::new(receiver.channel()),
            receiver,
            pace,
        }
    }

    pub(super) async fn run(mut self, mut woken: watch::Receiver<()>, stop: Stop) {
        let mut failures = 0;
        while !stop.is_stopped() {
            let begun = Instant::now();
            match self.round(&stop).await {
                Ok(true) => failures = 0,
                Ok(false) => {
                    failures = 0;
                    tokio::select! {
                        () = stop.stopped() => {}
                        () = self.rest(&mut woken, begun) => {}
                    }
                }
                Err(error) => {
                    failures += 1;
                    self.log(&error, failures);
                    tokio::select! {
                        () = stop.stopped() => {}
                        () = sleep(pause(failures)) => {}
                    }
                }
            }
        }
    }

    /// Until there may be something to do, and the next round's time has come.
    async fn rest(&self, woken: &mut watch::Receiver<()>, begun: Instant) {
        tokio::select! {
            _ = woken.changed() => {}
            () = sleep(POLL) => {}
        }
        sleep(self.pace.saturating_sub(begun.elapsed())).await;
        // Whatever it was woken for by now, the next round finds.
        woken.mark_unchanged();
    }

    /// Says it when it begins and, should it last, ever more seldom.
    fn log(&self, error: &Error, failures: u32) {
        metrics::counter!("cambium_outbox_failures_total", "receiver" => self.queue.receiver)
            .increment(1);
        if failures.is_power_of_two() {
            let error = error as &dyn StdError;
            tracing::warn!(
                receiver = self.queue.receiver,
                failures,
                error,
                "signals wait to be delivered"
            );
        }
    }

    /// Delivers what is due now. Tells whether there may be more.
    async fn round(&mut self, stop: &Stop) -> Result<bool, Error> {
        let begun = Instant::now();
        let rows = self.queue.claim().await?;
        let may_have_more = Queue::may_have_more(rows.len());
        let mut parcels = parcels(rows);
        while let Some(parcel) = parcels.pop_front() {
            if stop.is_stopped() || begun.elapsed() > CLAIM_IS_SAFE_FOR {
                self.give_back(parcel, parcels).await?;
                return Ok(true);
            }
            match self.send(&parcel).await {
                Ok(()) => {}
                Err(error) if error.is_refusal() && parcel.len() > 1 => apart(parcel, &mut parcels),
                Err(error) if error.is_refusal() => self.set_aside(&parcel, &error).await?,
                Err(error) => {
                    self.give_back(parcel, parcels).await?;
                    return Err(error);
                }
            }
        }
        Ok(may_have_more)
    }

    /// Delivers a parcel and, once it is acknowledged, deletes its rows.
    async fn send(&mut self, parcel: &[Claimed]) -> Result<(), Error> {
        let request = self.request(parcel)?;
        let answer = timeout(DEADLINE, self.client.deliver(request)).await;
        let late = |_| Err(Status::deadline_exceeded("no answer in time"));
        answer
            .unwrap_or_else(late)
            .map_err(|status| Error::Receiver(Box::new(status)))?;
        self.queue.delete(&ids(parcel)).await?;
        let rows = u64::try_from(parcel.len()).unwrap_or(u64::MAX);
        metrics::counter!("cambium_outbox_rows_delivered_total", "receiver" => self.queue.receiver)
            .increment(rows);
        Ok(())
    }

    fn request(&self, parcel: &[Claimed]) -> Result<Request<DeliverRequest>, Error> {
        let bodies: Vec<u8> = parcel
            .iter()
            .flat_map(|row| row.body.iter().copied())
            .collect();
        let undecodable = |error| {
            Error::Receiver(Box::new(Status::invalid_argument(format!(
                "a stored row: {error}"
            ))))
        };
        let message = DeliverRequest::decode(bodies.as_slice()).map_err(undecodable)?;
        Ok(self.receiver.request(message, DEADLINE)?)
    }

    /// Lets every relay have the rows again at once: it is the receiver that is backed off from, not they.
    async fn give_back(
        &self,
        parcel: Vec<Claimed>,
        rest: VecDeque<Vec<Claimed>>,
    ) -> Result<(), Error> {
        let left: Vec<i64> = parcel
            .iter()
            .chain(rest.iter().flatten())
            .map(|row| row.id)
            .collect();
        Ok(self.queue.postpone(&left, 0.0).await?)
    }

    /// Keeps a row that was refused, and tries it ever more seldom: a newer receiver may have it.
    async fn set_aside(&self, parcel: &[Claimed], error: &Error) -> Result<(), Error> {
        let (ids, receiver) = (ids(parcel), self.queue.receiver);
        tracing::error!(receiver, outbox.ids = ?ids, error = error as &dyn StdError, "a receiver refused signals");
        let attempts = parcel.first().map_or(1, |row| row.attempts);
        let seconds =
            f64::from(2_u32.saturating_pow(attempts.unsigned_abs())).min(LONGEST_POSTPONEMENT_S);
        Ok(self.queue.postpone(&ids, seconds * jitter()).await?)
    }
}

/// Rows in their order, together as far as they fit.
fn parcels(rows: Vec<Claimed>) -> VecDeque<Vec<Claimed>> {
    let mut parcels: VecDeque<Vec<Claimed>> = VecDeque::new();
    let mut bytes = 0;
    for row in rows {
        bytes += row.body.len();
        match parcels.back_mut() {
            Some(parcel) if bytes <= PARCEL_BYTES => parcel.push(row),
            Some(_) | None => {
                bytes = row.body.len();
                parcels.push_back(vec![row]);
            }
        }
    }
    parcels
}

/// Row by row, so that a bad one keeps none of the others.
fn apart(parcel: Vec<Claimed>, parcels: &mut VecDeque<Vec<Claimed>>) {
    for row in parcel.into_iter().rev() {
        parcels.push_front(vec![row]);
    }
}

fn ids(parcel: &[Claimed]) -> Vec<i64> {
    parcel.iter().map(|row| row.id).collect()
}

fn pause(failures: u32) -> Duration {
    let full = Duration::from_millis(100)
        .saturating_mul(2_u32.saturating_pow(failures))
        .min(LONGEST_PAUSE);
    full.mul_f64(jitter())
}

/// From a half to the whole, so that those who failed together do not come back together.
fn jitter() -> f64 {
    rand::rng().random_range(0.5..=1.0)
}

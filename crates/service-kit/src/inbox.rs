//! Facts from other services: each is applied once, in the transaction that remembers it, in whatever order they come.
//! Knows no type of signal: what one means is its receptor's business.
//!
//! Works on a table that the service's migrations make: `inbox(signal_id uuid primary key, type text, applied_at timestamptz)`.

use std::collections::HashSet;

use cambium_kernel::Failure;
use cambium_proto::signal::v1::signal_service_server::{SignalService, SignalServiceServer};
use cambium_proto::signal::v1::{DeliverRequest, DeliverResponse, Signal};
use sqlx::{AssertSqlSafe, PgConnection, PgPool};
use tonic::{Request, Response, Status};
use uuid::Uuid;

use crate::call;
use crate::database::retry_conflicts;
use crate::status;

mod checked;
mod error;

pub use error::Error;

use checked::Checked;

/// Room for a parcel of the relay's, whose largest row may be several times its usual size.
const REQUEST_BYTES: usize = 16 * 1024 * 1024;
const ATTEMPTS: u32 = 5;

/// Turns facts into a service's own use cases.
pub trait Receptor: Send + Sync + 'static {
    type Error: Failure + Send + Sync + 'static;

    /// Whether that service may say that. One signal that its sender may not say refuses the delivery.
    fn may_say(&self, _sender: &str, _signal: &Signal) -> bool {
        true
    }

    /// Applies signals that were never applied before, in the transaction of `conn`. Run again from nothing if that
    /// transaction loses a race. One of a type it does not know it ignores.
    fn apply(
        &self,
        conn: &mut PgConnection,
        signals: &[Signal],
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Called once the transaction has committed, for wakers.
    fn applied(&self) {}
}

/// Answers `SignalService` with a receptor.
#[derive(Debug)]
pub struct SignalRpc<R> {
    pool: PgPool,
    schema: &'static str,
    receptor: R,
}

impl<R: Receptor> SignalRpc<R> {
    pub fn new(pool: PgPool, schema: &'static str, receptor: R) -> Self {
        Self {
            pool,
            schema,
            receptor,
        }
    }

    /// The gRPC service, with room for what a relay sends.
    pub fn into_service(self) -> SignalServiceServer<Self> {
        SignalServiceServer::new(self).max_decoding_message_size(REQUEST_BYTES)
    }

    /// Checks all, then applies all that are new, or none.
    async fn receive(&self, sender: &str, signals: Vec<Signal>) -> Result<(), Error<R::Error>> {
        self.check_sender(sender, &signals)?;
        let signals = checked::all(signals)?;
        if signals.is_empty() {
            return Ok(());
        }
        retry_conflicts(ATTEMPTS, || self.apply_new(&signals)).await?;
        self.receptor.applied();
        Ok(())
    }

    fn check_sender(&self, sender: &str, signals: &[Signal]) -> Result<(), Error<R::Error>> {
        let foreign = signals
            .iter()
            .position(|signal| !self.receptor.may_say(sender, signal));
        match foreign {
            Some(index) => Err(Error::Foreign {
                index,
                sender: sender.to_owned(),
            }),
            None => Ok(()),
        }
    }

    async fn apply_new(&self, signals: &[Checked]) -> Result<(), Error<R::Error>> {
        let mut tx = self.pool.begin().await?;
        let mut new = remember(&mut tx, self.schema, signals).await?;
        // Taken out as it is found: a signal that a batch holds twice is applied once.
        let fresh = signals.iter().filter(|signal| new.remove(&signal.id));
        let fresh: Vec<Signal> = fresh.map(|signal| signal.signal.clone()).collect();
        if !fresh.is_empty() {
            self.receptor
                .apply(&mut tx, &fresh)
                .await
                .map_err(Error::Receptor)?;
        }
        tx.commit().await?;
        Ok(())
    }
}

/// Writes the ids down and returns those that were not there.
async fn remember(
    conn: &mut PgConnection,
    schema: &str,
    signals: &[Checked],
) -> Result<HashSet<Uuid>, sqlx::Error> {
    let insert = format!(
        "INSERT INTO {schema}.inbox (signal_id, type, applied_at)
         SELECT signal_id, type, {schema}.now()
         FROM unnest($1::uuid[], $2::text[]) AS new (signal_id, type)
         ORDER BY signal_id -- two deliveries of the same signals wait for each other, and never in a circle
         ON CONFLICT DO NOTHING
         RETURNING signal_id"
    );
    let (ids, types): (Vec<Uuid>, Vec<&str>) = signals
        .iter()
        .map(|signal| (signal.id, signal.signal.r#type.as_str()))
        .unzip();
    let inserted = sqlx::query_scalar(AssertSqlSafe(insert))
        .bind(ids)
        .bind(types)
        .fetch_all(conn)
        .await?;
    Ok(inserted.into_iter().collect())
}

#[tonic::async_trait]
impl<R: Receptor> SignalService for SignalRpc<R> {
    async fn deliver(
        &self,
        request: Request<DeliverRequest>,
    ) -> Result<Response<DeliverResponse>, Status> {
        // A caller without a name, in a test without the authentication layer, is nobody: it owns no type.
        let sender =
            call::principal(&request).map_or_else(|_| String::new(), |caller| caller.name.clone());
        self.receive(&sender, request.into_inner().signals)
            .await
            .map_err(status::of)?;
        Ok(Response::new(DeliverResponse {}))
    }
}

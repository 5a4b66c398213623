//! Who the worker is to the service just now: its registration, its token, and how both are made anew.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cambium_kernel::{ErrorKind, Failure};
use cambium_proto::hypha::v1::{RegisterRequest, RegisterResponse};
use tokio::time::Instant;
use tonic::{Code, Status};
use uuid::Uuid;

use super::Options;
use crate::{Connection, Policy, TokenSource, refusal};

/// How long an agent may stay unknown to hypha: enrolment reaches it by a signal.
const AGENT_WAIT: Duration = Duration::from_secs(120);
/// How often a refused token is tried anew before the worker gives up.
const TOKEN_TRIES: u32 = 5;
/// Between calls to a service that is away.
const AWAY: Policy = Policy {
    attempts: u32::MAX,
    initial: Duration::from_millis(100),
    cap: Duration::from_secs(3),
    longest: Duration::MAX,
};

/// Why a worker cannot go on.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    #[error("the service does not take this worker: {}", .0.message())]
    Refused(Status),

    #[error("the service does not accept the worker's token: {}", .0.message())]
    Token(Status),
}

impl Error {
    #[must_use]
    pub fn status(&self) -> &Status {
        match self {
            Self::Refused(status) | Self::Token(status) => status,
        }
    }
}

impl Failure for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Refused(_) => ErrorKind::Refused,
            Self::Token(_) => ErrorKind::Unauthenticated,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Refused(_) => "WORKER_REFUSED",
            Self::Token(_) => "WORKER_TOKEN",
        }
    }
}

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) connection: Connection,
    tokens: Arc<Renewed>,
    options: Options,
    incarnation: Uuid,
    current: Mutex<Current>,
    registering: tokio::sync::Mutex<()>,
}

#[derive(Clone, Debug, Default)]
struct Current {
    registration: String,
    lease: Duration,
}

impl Session {
    pub(crate) fn new(connection: &Connection, options: Options) -> Self {
        let tokens = Arc::new(Renewed {
            renewed: Mutex::default(),
            first: Arc::clone(connection.tokens()),
        });
        Self {
            connection: connection.with_tokens(Arc::clone(&tokens) as Arc<dyn TokenSource>),
            tokens,
            options,
            incarnation: Uuid::new_v4(),
            current: Mutex::default(),
            registering: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn registration(&self) -> String {
        self.current().registration.clone()
    }

    pub(crate) fn lease(&self) -> Duration {
        self.current().lease
    }

    /// Keeps the token that a reply brought, if it brought one.
    pub(crate) fn renew(&self, token: &str) {
        if !token.is_empty() {
            *self.tokens.lock() = Some(token.into());
        }
    }

    /// Registers, unless somebody did since `stale` was found to be unknown.
    pub(crate) async fn register(&self, stale: &str) -> Result<(), Error> {
        let _alone = self.registering.lock().await;
        if self.registration() != stale {
            return Ok(());
        }
        let reply = self.announce().await?;
        self.renew(&reply.token);
        let lease = Duration::from_millis(reply.lease_ms.max(1).into());
        tracing::info!(worker = %self.options.worker, lease_ms = reply.lease_ms, "registered");
        *self.current() = Current {
            registration: reply.registration_id,
            lease,
        };
        Ok(())
    }

    async fn announce(&self) -> Result<RegisterResponse, Error> {
        let request = RegisterRequest {
            workspace_id: self.options.workspace.clone(),
            request_id: Uuid::now_v7().to_string(),
            worker: self.options.worker.clone(),
            incarnation: self.incarnation.to_string(),
            agent_ids: self.options.agent_ids.clone(),
            slots: self.options.slots,
            capabilities: self.options.capabilities.clone(),
        };
        let mut patience = Patience::default();
        loop {
            let status = match self.connection.workers().register(request.clone()).await {
                Ok(reply) => return Ok(reply.into_inner()),
                Err(status) => status,
            };
            let pause = self.pause(&status, &mut patience)?;
            tracing::warn!(said = status.message(), ?pause, "not registered yet");
            tokio::time::sleep(pause).await;
        }
    }

    /// How long to wait after a failed call before the next, or why there is to be none.
    pub(crate) fn pause(
        &self,
        status: &Status,
        patience: &mut Patience,
    ) -> Result<Duration, Error> {
        patience.tried += 1;
        match status.code() {
            Code::Unauthenticated => {
                self.connection.tokens().refused();
                patience.unauthenticated += 1;
                if patience.unauthenticated >= TOKEN_TRIES {
                    return Err(Error::Token(status.clone()));
                }
            }
            Code::FailedPrecondition if refusal::is(status, "AGENT_UNKNOWN") => {
                if patience.since.elapsed() > AGENT_WAIT {
                    return Err(Error::Refused(status.clone()));
                }
                return Ok(refusal::wait(status).unwrap_or(Duration::from_secs(1)));
            }
            _ if is_passing(status) => {}
            _ => return Err(Error::Refused(status.clone())),
        }
        let asked = refusal::wait(status).unwrap_or_default();
        Ok(asked + AWAY.backoff(patience.tried, 0.5 + 0.5 * rand::random::<f64>()))
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a row of failed calls has seen so far. Starts anew after each success.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    tried: u32,
    unauthenticated: u32,
    since: Instant,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            tried: 0,
            unauthenticated: 0,
            since: Instant::now(),
        }
    }
}

/// Whether the service has lost, or never had, this registration: register and go on.
pub(crate) fn is_unknown_registration(status: &Status) -> bool {
    matches!(status.code(), Code::NotFound | Code::FailedPrecondition)
        && refusal::is(status, "REGISTRATION_UNKNOWN")
}

/// Whether the same call may succeed later. A worker has leases to keep, so no budget bounds it: the lease does.
pub(crate) fn is_passing(status: &Status) -> bool {
    match status.code() {
        Code::Unavailable | Code::Aborted | Code::DeadlineExceeded => true,
        Code::ResourceExhausted => refusal::wait(status).is_some(),
        Code::Internal => true, // logged and alarmed at the service; another replica may do better
        _ => refusal::is_transport(status),
    }
}

/// The newest token a reply brought, else whatever the worker came with.
#[derive(Debug)]
struct Renewed {
    renewed: Mutex<Option<Arc<str>>>,
    first: Arc<dyn TokenSource>,
}

impl Renewed {
    fn lock(&self) -> MutexGuard<'_, Option<Arc<str>>> {
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenSource for Renewed {
    fn token(&self) -> Result<Arc<str>, crate::Error> {
        let renewed = self.lock().clone();
        renewed.map_or_else(|| self.first.token(), Ok)
    }

    fn refused(&self) {
        *self.lock() = None;
        self.first.refused();
    }
}

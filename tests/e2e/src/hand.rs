//! A worker whose every call is made by a story, at one replica or at each in turn. Keeps no lease alive by itself and
//! repeats nothing: what a call came to is what its caller gets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cambium_client::{Authorized, Connection};
use cambium_proto::hypha::v1::worker_service_client::WorkerServiceClient;
use cambium_proto::hypha::v1::{
    Attempt, CompleteRequest, FailRequest, HeartbeatRequest, Lease, LeaseState, ParkRequest,
    PollRequest, RegisterRequest, ReleaseRequest, TaskState, Usage,
};
use tonic::{Request, Status};
use uuid::Uuid;

/// Where all stories play.
pub const WORKSPACE: &str = "default";

/// How much longer than its own wait a poll may take.
const POLL_MARGIN: Duration = Duration::from_secs(5);

/// A registered worker.
#[derive(Clone, Debug)]
pub struct Hand {
    doors: Vec<Connection>,
    turn: Arc<AtomicUsize>,
    registration: String,
}

impl Hand {
    /// Announces a new incarnation of the worker at the first of the doors; later calls take all of them in turn.
    pub async fn register(
        doors: Vec<Connection>,
        worker: &str,
        agents: &[String],
    ) -> Result<Self, Status> {
        let request = RegisterRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: Uuid::now_v7().to_string(),
            worker: worker.to_owned(),
            incarnation: Uuid::now_v7().to_string(),
            agent_ids: agents.to_vec(),
            slots: 1_000,
            capabilities: Vec::new(),
        };
        let mut hand = Self {
            doors,
            turn: Arc::default(),
            registration: String::new(),
        };
        let reply = hand.workers().register(request).await?.into_inner();
        hand.registration = reply.registration_id;
        Ok(hand)
    }

    /// The same worker as it calls at one replica alone.
    #[must_use]
    pub fn through(&self, door: usize) -> Self {
        Self {
            doors: vec![self.doors[door].clone()],
            ..self.clone()
        }
    }

    /// A client of the replica whose turn it is.
    #[must_use]
    pub fn workers(&self) -> WorkerServiceClient<Authorized> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        self.doors[turn % self.doors.len()].workers()
    }

    #[must_use]
    pub fn registration(&self) -> &str {
        &self.registration
    }

    pub async fn poll(&self, max: u32, wait: Duration) -> Result<Vec<Attempt>, Status> {
        let mut request = Request::new(PollRequest {
            registration_id: self.registration.clone(),
            max,
            wait_ms: u32::try_from(wait.as_millis()).unwrap_or(25_000),
        });
        request.set_timeout(wait + POLL_MARGIN);
        Ok(self.workers().poll(request).await?.into_inner().attempts)
    }

    pub async fn heartbeat(&self, leases: Vec<Lease>) -> Result<Vec<LeaseState>, Status> {
        let request = HeartbeatRequest {
            registration_id: self.registration.clone(),
            leases,
        };
        let reply = self.workers().heartbeat(request).await?.into_inner();
        Ok(reply.leases.iter().map(|lease| lease.state()).collect())
    }

    /// Ends an attempt with an output that cost so much, and takes up to `next` further ones.
    pub async fn complete(
        &self,
        lease: Lease,
        output: &str,
        micro_usd: i64,
        next: u32,
    ) -> Result<Vec<Attempt>, Status> {
        let request = CompleteRequest {
            registration_id: self.registration.clone(),
            lease: Some(lease),
            output: Bytes::from(output.to_owned()),
            usage: Some(measured(micro_usd)),
            next,
        };
        Ok(self.workers().complete(request).await?.into_inner().next)
    }

    pub async fn fail(
        &self,
        lease: Lease,
        code: &str,
        retryable: bool,
        micro_usd: i64,
    ) -> Result<TaskState, Status> {
        let request = FailRequest {
            registration_id: self.registration.clone(),
            lease: Some(lease),
            code: code.to_owned(),
            retryable,
            detail: String::new(),
            usage: Some(measured(micro_usd)),
        };
        Ok(self.workers().fail(request).await?.into_inner().state())
    }

    pub async fn park(&self, lease: Lease, signal: &str) -> Result<(), Status> {
        let request = ParkRequest {
            registration_id: self.registration.clone(),
            lease: Some(lease),
            signal: signal.to_owned(),
            until: None,
            checkpoint: Bytes::new(),
        };
        self.workers().park(request).await?;
        Ok(())
    }

    pub async fn release(&self, lease: Lease) -> Result<(), Status> {
        let request = ReleaseRequest {
            registration_id: self.registration.clone(),
            lease: Some(lease),
        };
        self.workers().release(request).await?;
        Ok(())
    }
}

/// What an attempt cost, as a meter tells it.
#[must_use]
pub fn measured(micro_usd: i64) -> Usage {
    Usage {
        micro_usd,
        measured: true,
    }
}

//! One attempt from its lease to its report.

use std::sync::Arc;

use bytes::Bytes;
use cambium_proto::hypha::v1::{Attempt, GetOutputRequest, Lease, MintAgentTokenRequest, input};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tonic::Status;

use super::report::Report;
use super::runtime::Shared;
use super::session::is_passing;
use super::{Failure, Orders, Outcome, Task, Work};
use crate::{Environment, StaticToken};

/// Most attempts that may come with one answer.
const MOST_NEXT: usize = 100;

impl<W: Work> Shared<W> {
    /// Starts what a call sent at `sent` brought. `slots` has room for each; what is left over is free again.
    pub(crate) fn start_all(
        self: &Arc<Self>,
        attempts: Vec<Attempt>,
        sent: Instant,
        mut slots: OwnedSemaphorePermit,
    ) {
        for attempt in attempts {
            let lease = attempt.lease.clone().unwrap_or_default();
            let until = sent + std::time::Duration::from_millis(attempt.lease_ms.into());
            let orders = self.leases.hold(lease.clone(), until, Instant::now());
            let shared = Arc::clone(self);
            match slots.split(1) {
                Some(slot) if !self.is_draining() => {
                    tokio::spawn(shared.do_one(attempt, lease, orders, slot))
                }
                slot => tokio::spawn(shared.give_back(lease, orders, slot)),
            };
        }
    }

    /// Keeps its slot until it was heard, so that a drain waits for it.
    async fn give_back(
        self: Arc<Self>,
        lease: Lease,
        orders: Orders,
        _slot: Option<OwnedSemaphorePermit>,
    ) {
        self.session
            .report(&lease, Report::Release, 0, &orders)
            .await;
        self.leases.let_go(&lease.lease_id);
    }

    async fn do_one(
        self: Arc<Self>,
        attempt: Attempt,
        lease: Lease,
        orders: Orders,
        mut slot: OwnedSemaphorePermit,
    ) {
        let outcome = self.work_on(attempt, &orders).await;
        let sent = Instant::now();
        let next = match Report::of(outcome, orders.current()) {
            Some(report) => {
                let wanted = self.offer(&report, &mut slot);
                self.session.report(&lease, report, wanted, &orders).await
            }
            None => Vec::new(),
        };
        self.leases.let_go(&lease.lease_id);
        self.start_all(next, sent, slot);
    }

    /// How many attempts to ask for with this report: one for the slot it frees, and one for each that idles.
    fn offer(&self, report: &Report, slot: &mut OwnedSemaphorePermit) -> u32 {
        if !matches!(report, Report::Complete { .. }) || self.is_draining() {
            return 0;
        }
        self.take_idle(slot, MOST_NEXT);
        u32::try_from(slot.num_permits()).unwrap_or(1)
    }

    /// A panic in the work fails the attempt, and nothing else.
    async fn work_on(self: &Arc<Self>, attempt: Attempt, orders: &Orders) -> Outcome {
        let task_id = attempt.lease.as_ref().map(|lease| lease.task_id.clone());
        let inputs = match self.inputs(&attempt).await {
            Ok(inputs) => inputs,
            Err(status) => {
                let detail = format!("an input could not be fetched: {}", status.message());
                return Outcome::Failed(Failure::retryable("INPUT_UNAVAILABLE", detail));
            }
        };
        let token = match self.token(&attempt).await {
            Ok(token) => token,
            Err(status) => return Outcome::Failed(no_token(&status)),
        };
        let task = Task {
            environment: token
                .as_ref()
                .map(|token| self.environment(token, &attempt)),
            token,
            ..Task::new(attempt, inputs, orders.clone())
        };
        let shared = Arc::clone(self);
        let work = tokio::spawn(async move { shared.work.run(task).await });
        work.await.unwrap_or_else(|error| {
            tracing::error!(task.id = task_id, %error, "the work panicked");
            Outcome::Failed(Failure::retryable("WORKER_PANIC", error.to_string()))
        })
    }

    /// The attempt's own token, where the work wants one.
    async fn token(&self, attempt: &Attempt) -> Result<Option<StaticToken>, Status> {
        if !self.work.wants_token(attempt) {
            return Ok(None);
        }
        let connection = &self.session.connection;
        let request = MintAgentTokenRequest {
            registration_id: self.session.registration(),
            lease: attempt.lease.clone(),
        };
        let reply = connection.retrying(|| {
            let (mut workers, request) = (connection.workers(), request.clone());
            async move { workers.mint_agent_token(request).await }
        });
        Ok(Some(StaticToken::new(&reply.await?.token)))
    }

    /// The environment as the attempt's agent meets it.
    fn environment(&self, token: &StaticToken, attempt: &Attempt) -> Environment {
        let own = self.session.connection.with_tokens(Arc::new(token.clone()));
        Environment::new(&own, &attempt.workspace_id)
    }

    async fn inputs(&self, attempt: &Attempt) -> Result<Vec<(String, Bytes)>, Status> {
        let mut inputs = Vec::with_capacity(attempt.inputs.len());
        for input in &attempt.inputs {
            let content = match &input.content {
                Some(input::Content::Inline(bytes)) => bytes.clone(),
                Some(input::Content::Size(_)) => self.fetch(attempt, &input.task_id).await?,
                None => Bytes::new(),
            };
            inputs.push((input.key.clone(), content));
        }
        Ok(inputs)
    }

    async fn fetch(&self, attempt: &Attempt, task_id: &str) -> Result<Bytes, Status> {
        let connection = &self.session.connection;
        let request = GetOutputRequest {
            workspace_id: attempt.workspace_id.clone(),
            task_id: task_id.to_owned(),
        };
        let reply = connection.retrying(|| {
            let (mut runs, request) = (connection.runs(), request.clone());
            async move { runs.get_output(request).await }
        });
        Ok(reply.await?.output)
    }
}

fn no_token(status: &Status) -> Failure {
    let detail = format!("the task's token could not be had: {}", status.message());
    Failure {
        retryable: is_passing(status),
        ..Failure::retryable("TOKEN_UNAVAILABLE", detail)
    }
}

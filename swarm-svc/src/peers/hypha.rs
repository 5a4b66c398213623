//! hypha, which runs graphs.

use std::collections::BTreeMap;
use std::time::Duration;

use cambium_kernel::{Usd, WorkspaceId};
use cambium_proto::hypha::v1 as wire;
use cambium_proto::hypha::v1::run_service_client::RunServiceClient;
use cambium_service_kit::peer::Peer;
use cambium_swarm::TurnId;
use cambium_swarm::turn::Proof;
use serde_json::Value;
use tokio::time::timeout;
use tonic::{Code, Status};
use uuid::Uuid;

use crate::store::turn::Stored;

/// A tick waits no longer for evidence.
const EVIDENCE: Duration = Duration::from_secs(1);
const DEADLINE: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub(crate) struct Hypha(Peer);

/// What came of starting a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    Run(Uuid),
    /// It never will: why.
    Refused(String),
    /// Nobody knows. Asking again starts no second one.
    Unknown,
}

/// What came of ending a turn's runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closed {
    /// All of them have ended, and cost so much. None: some of it was not measured.
    Ended(Option<Usd>),
    /// None came.
    Nothing,
    /// Ask again.
    Open,
}

/// What a worker holds of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) holds: bool,
    pub(crate) is_persona: bool,
    pub(crate) serves: bool,
}

impl Hypha {
    pub(crate) const fn new(peer: Peer) -> Self {
        Self(peer)
    }

    /// Starts a turn's graph.
    pub(crate) async fn start(
        &self,
        workspace: &WorkspaceId,
        stored: &Stored,
        (graph, version): (&str, Option<u32>),
        brief: &Value,
    ) -> Started {
        let turn = &stored.turn;
        let message = wire::StartRunRequest {
            workspace_id: workspace.to_string(),
            request_key: turn.id.to_string(),
            graph: graph.to_owned(),
            version: version.unwrap_or(0),
            input: brief.to_string().into(),
            signals: Vec::new(),
            turn_id: turn.id.to_string(),
            instance: turn.instance.to_string(),
            cap_micro_usd: turn.cap.as_micros(),
        };
        let Ok(request) = self.0.request(message, DEADLINE) else {
            return Started::Unknown;
        };
        let mut client = RunServiceClient::new(self.0.channel());
        match within(DEADLINE, client.start_run(request)).await {
            Ok(reply) => match reply.run_id.parse() {
                Ok(run) => Started::Run(run),
                Err(_) => Started::Unknown,
            },
            Err(status) if is_definite(&status) => Started::Refused(status.message().to_owned()),
            Err(_) => Started::Unknown,
        }
    }

    /// How these turns stand: what hypha does not know is gone.
    pub(crate) async fn states(
        &self,
        workspace: &WorkspaceId,
        turns: &[TurnId],
    ) -> Result<BTreeMap<TurnId, Proof>, Status> {
        let message = wire::BatchGetRunsRequest {
            workspace_id: workspace.to_string(),
            request_keys: turns.iter().map(ToString::to_string).collect(),
        };
        let request = self.0.request(message, EVIDENCE);
        let request = request.map_err(|error| Status::internal(error.to_string()))?;
        let mut client = RunServiceClient::new(self.0.channel());
        let reply = within(EVIDENCE, client.batch_get_runs(request)).await?;
        let known: BTreeMap<String, Proof> = reply
            .runs
            .into_iter()
            .map(|run| {
                let proof = match run.turn_ended {
                    true => Proof::Ended(run.cost_micro_usd.map(Usd::from_micros)),
                    false => Proof::Alive,
                };
                (run.request_key, proof)
            })
            .collect();
        let proof = |turn: &TurnId| known.get(&turn.to_string()).copied().unwrap_or(Proof::Gone);
        Ok(turns.iter().map(|turn| (*turn, proof(turn))).collect())
    }

    /// Ends every run under a turn, and keeps any other from starting.
    pub(crate) async fn cancel(
        &self,
        workspace: &WorkspaceId,
        turn: TurnId,
        reason: &str,
    ) -> Closed {
        let message = wire::CancelRunRequest {
            workspace_id: workspace.to_string(),
            // Asked anew each time: a remembered reply would never say that they have ended.
            request_id: Uuid::now_v7().to_string(),
            run_id: String::new(),
            reason: reason.to_owned(),
            grace_ms: None,
            request_key: turn.to_string(),
        };
        let Ok(request) = self.0.request(message, DEADLINE) else {
            return Closed::Open;
        };
        let mut client = RunServiceClient::new(self.0.channel());
        match within(DEADLINE, client.cancel_run(request)).await {
            Ok(reply) if reply.ended && !reply.ran => Closed::Nothing,
            Ok(reply) if reply.ended => Closed::Ended(reply.cost_micro_usd.map(Usd::from_micros)),
            Ok(_) => Closed::Open,
            Err(status) => {
                tracing::debug!(%status, %turn, "hypha did not end a turn's runs; asked again");
                Closed::Open
            }
        }
    }

    /// What a worker holds under a turn.
    pub(crate) async fn lease(
        &self,
        workspace: &WorkspaceId,
        turn: TurnId,
        worker: &str,
    ) -> Result<Lease, Status> {
        let message = wire::HoldsLeaseRequest {
            workspace_id: workspace.to_string(),
            turn_id: turn.to_string(),
            worker: worker.to_owned(),
        };
        let request = self.0.request(message, DEADLINE);
        let request = request.map_err(|error| Status::internal(error.to_string()))?;
        let mut client = RunServiceClient::new(self.0.channel());
        let reply = within(DEADLINE, client.holds_lease(request)).await?;
        Ok(Lease {
            holds: reply.holds,
            is_persona: reply.persona_organ,
            serves: reply.serves_mind,
        })
    }
}

async fn within<R>(
    limit: Duration,
    call: impl Future<Output = Result<tonic::Response<R>, Status>>,
) -> Result<R, Status> {
    let answer = timeout(limit, call).await;
    let answer = answer.unwrap_or_else(|_| Err(Status::deadline_exceeded("no answer in time")));
    answer.map(tonic::Response::into_inner)
}

/// Whether the same call can never succeed.
fn is_definite(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::OutOfRange
            | Code::Aborted
            | Code::Unimplemented
    )
}

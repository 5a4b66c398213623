//! genesis, which makes agents.

use std::time::Duration;

use cambium_kernel::{AgentId, RunId};
use cambium_proto::genesis::v1 as wire;
use cambium_proto::genesis::v1::spawn_service_client::SpawnServiceClient;
use cambium_service_kit::peer::Peer;
use sha2::{Digest, Sha256};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;
use uuid::Uuid;

use crate::store::agent::Agent;
use crate::store::spawn::{Refusal, Stranded};

const DEADLINE: Duration = Duration::from_secs(5);

/// The reason of a refusal by nobody: genesis did not answer.
pub(crate) const UNREACHABLE: &str = "GENESIS_UNREACHABLE";

#[derive(Clone, Debug)]
pub(crate) struct Genesis(Peer);

impl Genesis {
    pub(crate) const fn new(peer: Peer) -> Self {
        Self(peer)
    }

    /// Asks for an agent that can do a node's tasks: of the template, or of the first that offers what is required. However
    /// often it is asked for one node, it is one agent.
    pub(crate) async fn spawn(
        &self,
        wanted: &Stranded,
        template: &str,
        reason: String,
    ) -> Result<Agent, Refusal> {
        let message = wire::SpawnRequest {
            workspace_id: wanted.workspace.clone(),
            request_id: request_id(wanted.run, wanted.n).to_string(),
            template: template.to_owned(),
            parent_agent_id: String::new(),
            reason,
            requires: wanted.requires.clone(),
        };
        let request = self.0.request(message, DEADLINE);
        let request = request.map_err(|error| refused(&Status::internal(error.to_string())))?;
        let mut client = SpawnServiceClient::new(self.0.channel());
        let call = tokio::time::timeout(DEADLINE, client.spawn(request));
        let reply = call
            .await
            .unwrap_or_else(|_| Err(Status::deadline_exceeded("no answer in time")));
        made(reply.map_err(|status| refused(&status))?.into_inner())
    }
}

fn made(reply: wire::SpawnResponse) -> Result<Agent, Refusal> {
    let Some(made) = reply.agent else {
        let state = reply.spawn.unwrap_or_default().state();
        return Err(if state == wire::SpawnState::Denied {
            Refusal::new("SPAWN_DENIED", "an operator said no")
        } else {
            Refusal::new("SPAWN_PENDING", "it waits for an operator's approval")
        });
    };
    let Ok(id) = made.agent_id.parse::<AgentId>() else {
        return Err(Refusal::new("AGENT_ID_INVALID", "genesis named no agent"));
    };
    if made.state() != wire::AgentState::Active {
        let detail = format!(
            "`{}` was, and has left: spawn or enrol another",
            made.name.escape_debug()
        );
        return Err(Refusal::new("AGENT_LEFT", &detail));
    }
    let config = reply.config.unwrap_or_default();
    Ok(Agent {
        id,
        workspace: made.workspace_id,
        name: made.name,
        capabilities: made.capabilities,
        serves_minds: made.serves_minds,
        learnings: config.inherited_learnings,
    })
}

fn refused(status: &Status) -> Refusal {
    let unreachable = [Code::Unavailable, Code::DeadlineExceeded, Code::Cancelled];
    if unreachable.contains(&status.code()) {
        return Refusal::new(UNREACHABLE, "genesis does not answer: is it running?");
    }
    let details = status.get_details_error_info();
    let code = details.map_or_else(|| "GENESIS_FAILED".to_owned(), |info| info.reason);
    Refusal::new(&code, status.message())
}

/// The same for the same node of the same run, at every replica and after every restart.
fn request_id(run: RunId, n: u32) -> Uuid {
    let mut hash = Sha256::new();
    hash.update(run.as_uuid().as_bytes());
    hash.update(n.to_le_bytes());
    let digest = hash.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

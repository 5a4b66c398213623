//! Facts from other services, turned into hypha's own.

use cambium_kernel::AgentId;
use cambium_proto::signal::v1::{Signal, signal::Payload};
use cambium_service_kit::inbox::Receptor;
use sqlx::PgConnection;

use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::agent::Agent;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Receptors;

impl Receptor for Receptors {
    type Error = Error;

    async fn apply(&self, conn: &mut PgConnection, signals: &[Signal]) -> Result<(), Error> {
        for signal in signals {
            if let Some(Payload::AgentSpawned(spawned)) = &signal.payload {
                let id: AgentId = spawned
                    .agent_id
                    .parse()
                    .map_err(|_| Error::field("agent_spawned.agent_id", "is not a UUID"))?;
                let text = [&spawned.name].into_iter().chain(&spawned.capabilities);
                for text in text {
                    convert::name("agent_spawned", text)?;
                }
                let agent = Agent {
                    id,
                    workspace: signal.workspace_id.clone(),
                    name: spawned.name.clone(),
                    capabilities: spawned.capabilities.clone(),
                };
                store::agent::upsert(conn, &agent).await?;
            }
        }
        Ok(())
    }
}

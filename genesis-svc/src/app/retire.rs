//! The end of a life begins: the agent gets no new work, and what it has to say is kept.

use cambium_genesis::{Agent, State};
use cambium_kernel::SignalId;
use cambium_proto::genesis::v1::RetireAgentResponse;
use cambium_service_kit::call::Call;
use cambium_service_kit::{database, receipt};
use sqlx::PgConnection;

use crate::app::{App, authority};
use crate::convert::{self, Retirement};
use crate::error::Error;
use crate::store;

impl App {
    #[tracing::instrument(skip_all, fields(agent.id = %wish.agent))]
    pub(crate) async fn retire(
        &self,
        call: &Call,
        wish: &Retirement,
    ) -> Result<RetireAgentResponse, Error> {
        let reply = database::retry_conflicts(3, || self.retire_once(call, wish)).await?;
        self.relay.notify();
        Ok(reply)
    }

    async fn retire_once(
        &self,
        call: &Call,
        wish: &Retirement,
    ) -> Result<RetireAgentResponse, Error> {
        let mut tx = self.pool.begin().await?;
        let caller = authority::agent(&mut tx, &call.principal, &wish.workspace).await?;
        store::agent::life::lock(&mut tx, &wish.workspace, &[wish.agent.as_uuid()]).await?;
        let agent = store::agent::by_id(&mut tx, &wish.workspace, wish.agent).await?;
        let agent = agent.ok_or_else(|| Error::NoAgent(wish.agent.to_string()))?;
        if caller.is_some_and(|caller| caller != agent.id && Some(caller) != agent.parent) {
            return Err(Error::Denied(
                "an agent retires itself and those that it spawned",
            ));
        }
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, &wish.workspace).await? {
            return Ok(reply);
        }
        let agent = self.drained(&mut tx, agent, wish).await?;
        let reply = RetireAgentResponse {
            agent: Some(convert::agent_to_wire(&agent)),
        };
        receipt::insert(&mut tx, store::SCHEMA, call, &wish.workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }

    /// Whoever is leaving already, or has left, goes on so.
    async fn drained(
        &self,
        tx: &mut PgConnection,
        agent: Agent,
        wish: &Retirement,
    ) -> Result<Agent, Error> {
        if agent.state != State::Active {
            return Ok(agent);
        }
        let (workspace, id) = (&wish.workspace, agent.id);
        store::agent::life::drain(tx, workspace, id, &wish.failures, &wish.hints).await?;
        let now = store::now(tx).await?;
        let signal = convert::agent_retired(SignalId::generate(), workspace, id, true, now);
        self.tell(tx, vec![signal]).await?;
        Ok(Agent {
            state: State::Draining,
            ..agent
        })
    }
}

//! Enrolling agents and finding them.

use cambium_genesis::Agent;
use cambium_kernel::{AgentId, WorkspaceId};
use cambium_proto::genesis::v1::{
    AgentConfig, EnrollAgentResponse, GetAgentResponse, GetAncestryResponse, ListAgentsResponse,
};
use cambium_service_kit::call::Call;
use cambium_service_kit::{database, receipt};
use sqlx::PgConnection;

use crate::app::App;
use crate::convert::{self, Enrollment, Inheritance, Page, Which};
use crate::error::Error;
use crate::store;

impl App {
    /// Answers a call. The reply that is remembered holds no token: those are minted afresh for each answer.
    #[tracing::instrument(skip_all, fields(agent.name = %wish.name))]
    pub(crate) async fn enroll(
        &self,
        call: &Call,
        wish: &Enrollment,
    ) -> Result<EnrollAgentResponse, Error> {
        let mut reply = database::retry_conflicts(3, || self.enroll_once(call, wish)).await?;
        self.relay.notify();
        let agent = reply.agent.clone().unwrap_or_default();
        reply.agent_token = self.agent_token(&agent)?;
        reply.worker_token = self.worker_token(&agent)?;
        Ok(reply)
    }

    async fn enroll_once(
        &self,
        call: &Call,
        wish: &Enrollment,
    ) -> Result<EnrollAgentResponse, Error> {
        let mut tx = self.pool.begin().await?;
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, &wish.workspace).await? {
            return Ok(reply);
        }
        let agent = self.enrolled(&mut tx, wish).await?;
        let reply = EnrollAgentResponse {
            agent: Some(convert::agent_to_wire(&agent)),
            ..EnrollAgentResponse::default()
        };
        receipt::insert(&mut tx, store::SCHEMA, call, &wish.workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }

    /// The agent of that name: a new one, of which others are told, or the one that is the same.
    async fn enrolled(&self, tx: &mut PgConnection, wish: &Enrollment) -> Result<Agent, Error> {
        let now = store::now(tx).await?;
        let agent = Agent::from_outside(
            AgentId::generate(),
            wish.workspace.clone(),
            wish.name.clone(),
            wish.capabilities.clone(),
            wish.serves_minds.clone(),
            now,
        );
        if self.born(tx, &agent, &Inheritance::none()).await? {
            return Ok(agent);
        }
        let known = store::agent::by_name(tx, &wish.workspace, &wish.name).await?;
        let known = known.ok_or_else(|| Error::NoAgent(wish.name.to_string()))?;
        Ok(known.enrolled_again(&wish.capabilities, &wish.serves_minds)?)
    }

    pub(crate) async fn agent(
        &self,
        workspace: &WorkspaceId,
        which: &Which,
    ) -> Result<GetAgentResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let (found, called) = match which {
            Which::Id(id) => (
                store::agent::by_id(&mut conn, workspace, *id).await?,
                id.to_string(),
            ),
            Which::Name(name) => (
                store::agent::by_name(&mut conn, workspace, name).await?,
                name.to_string(),
            ),
        };
        let agent = found.ok_or(Error::NoAgent(called))?;
        Ok(GetAgentResponse {
            agent: Some(convert::agent_to_wire(&agent)),
            config: config(&mut conn, &agent).await?,
        })
    }

    pub(crate) async fn agents(
        &self,
        workspace: &WorkspaceId,
        page: &Page,
    ) -> Result<ListAgentsResponse, Error> {
        let after = page.after(|name| Some(name.to_owned()))?;
        let mut conn = self.pool.acquire().await?;
        let agents = store::agent::list(
            &mut conn,
            workspace,
            after.as_deref().unwrap_or_default(),
            page.limit(),
        )
        .await?;
        let (agents, next_page_token) = convert::cut(
            page,
            &agents,
            |agent| agent.name.to_string(),
            convert::agent_to_wire,
        );
        Ok(ListAgentsResponse {
            agents,
            next_page_token,
        })
    }

    pub(crate) async fn ancestry(
        &self,
        workspace: &WorkspaceId,
        id: AgentId,
    ) -> Result<GetAncestryResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let line = store::agent::line(&mut conn, workspace, id).await?;
        if line.is_empty() {
            return Err(Error::NoAgent(id.to_string()));
        }
        let children = store::agent::children(&mut conn, workspace, id).await?;
        Ok(GetAncestryResponse {
            line: line.iter().map(convert::kin_to_wire).collect(),
            children: children.iter().map(convert::kin_to_wire).collect(),
        })
    }
}

/// What a spawned agent is told to be; nothing of one from outside.
pub(super) async fn config(
    conn: &mut PgConnection,
    agent: &Agent,
) -> Result<Option<AgentConfig>, Error> {
    let Some(origin) = &agent.origin else {
        return Ok(None);
    };
    let version =
        store::version::find(conn, &agent.workspace, &origin.template, origin.version).await?;
    let inheritance = store::agent::inheritance(conn, &agent.workspace, agent.id).await?;
    let inheritance = inheritance.ok_or_else(|| Error::NoAgent(agent.id.to_string()))?;
    Ok(Some(convert::config_to_wire(&version.spec, &inheritance)))
}

//! Enrolling agents and finding them.

use cambium_genesis::Agent;
use cambium_kernel::{AgentId, SignalId, WorkspaceId};
use cambium_proto::genesis::v1::{EnrollAgentResponse, GetAgentResponse, ListAgentsResponse};
use cambium_service_kit::call::Call;
use cambium_service_kit::principal::Kind;
use cambium_service_kit::token::Mint;
use cambium_service_kit::{database, outbox, receipt};
use chrono::TimeDelta;
use sqlx::PgConnection;

use crate::app::App;
use crate::convert::{self, Enrollment, Page, Which};
use crate::error::Error;
use crate::store;

const AGENT_TOKEN: TimeDelta = TimeDelta::minutes(15);
const WORKER_TOKEN: TimeDelta = TimeDelta::hours(1);

impl App {
    /// Answers a call. The reply that is remembered holds no token: those are minted afresh for each answer.
    #[tracing::instrument(skip_all, fields(agent.name = %wish.name))]
    pub(crate) async fn enroll(
        &self,
        call: &Call,
        wish: &Enrollment,
    ) -> Result<EnrollAgentResponse, Error> {
        let reply = database::retry_conflicts(3, || self.enroll_once(call, wish)).await?;
        self.relay.notify();
        self.with_tokens(reply)
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
        if let Some(agent) = store::agent::insert(tx, AgentId::generate(), wish).await? {
            let signal = convert::agent_spawned(SignalId::generate(), &agent);
            outbox::insert(tx, store::SCHEMA, &outbox::rows(&self.routes, vec![signal])).await?;
            return Ok(agent);
        }
        let known = store::agent::by_name(tx, &wish.workspace, &wish.name).await?;
        let known = known.ok_or_else(|| Error::NoAgent(wish.name.to_string()))?;
        Ok(known.enrolled_again(&wish.capabilities)?)
    }

    fn with_tokens(&self, mut reply: EnrollAgentResponse) -> Result<EnrollAgentResponse, Error> {
        let agent = reply.agent.clone().unwrap_or_default();
        let of = |kind, name: String, ttl, agents| Mint {
            kind,
            name,
            audience: vec!["hypha".to_owned(), "genesis".to_owned()],
            ttl,
            workspaces: vec![agent.workspace_id.clone()],
            agents,
            capabilities: agent.capabilities.clone(),
            act: None,
            lease: None,
        };
        let id = agent.agent_id.clone();
        let itself = of(Kind::Agent, id.clone(), AGENT_TOKEN, Vec::new());
        let worker = of(Kind::Worker, agent.name.clone(), WORKER_TOKEN, vec![id]);
        reply.agent_token = self.key.mint(self.clock.now(), itself)?;
        reply.worker_token = self.key.mint(self.clock.now(), worker)?;
        Ok(reply)
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
            ..GetAgentResponse::default()
        })
    }

    /// Reads one agent more than the page holds: whether it is there says whether the list goes on.
    pub(crate) async fn agents(
        &self,
        workspace: &WorkspaceId,
        page: &Page,
    ) -> Result<ListAgentsResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let limit = i64::try_from(page.size + 1).unwrap_or(i64::MAX);
        let agents = store::agent::list(&mut conn, workspace, page.after.as_ref(), limit).await?;
        Ok(convert::page_to_wire(workspace, page, &agents))
    }
}

//! Where the load works: agents of its own, stored graphs, and the connections of operator and worker.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use cambium_client::{Connection, refusal};
use cambium_proto::hypha::v1::{Graph, PutGraphRequest, RegisterRequest, StartRunRequest};
use uuid::Uuid;

use crate::context::{Context, request_id};
use crate::credentials::{self, WorkerWish};
use crate::enroll;

/// The one worker, and the first agent that it works for.
pub(super) const NAME: &str = "bench";

/// A connection carries 64 calls at once; some room is left.
pub(super) const CALLS_PER_CONNECTION: usize = 48;

/// How long the service may take to hear of an agent.
const HEARING: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Site<'a> {
    context: &'a Context,
    pub(super) operator: Connection,
    pub(super) agent_ids: Vec<String>,
}

/// A graph in the service.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) workspace: String,
    pub(super) name: String,
    pub(super) version: u32,
    pub(super) tasks: u32,
}

impl<'a> Site<'a> {
    pub(super) async fn enter(
        context: &'a Context,
        capabilities: &[String],
    ) -> anyhow::Result<Self> {
        let operator = context.own_connection()?;
        let mut site = Self {
            context,
            operator,
            agent_ids: Vec::new(),
        };
        site.enroll(NAME, capabilities).await?;
        Ok(site)
    }

    /// The same with so many agents, so that outputs go from one to another.
    pub(super) async fn with_agents(context: &'a Context, count: u32) -> anyhow::Result<Self> {
        let mut site = Self::enter(context, &[]).await?;
        for number in 2..=count {
            site.enroll(&format!("{NAME}-{number}"), &[]).await?;
        }
        Ok(site)
    }

    async fn enroll(&mut self, name: &str, capabilities: &[String]) -> anyhow::Result<()> {
        let workspace = self.context.workspace();
        let enrolled = enroll::enroll(&self.operator, &workspace, name, capabilities).await?;
        let agent = enrolled.agent.context("the enrolment brought no agent")?;
        self.agent_ids.push(agent.agent_id);
        Ok(())
    }

    pub(super) fn workspace(&self) -> String {
        self.context.workspace()
    }

    /// The connection as it is for one of the agents.
    pub(super) fn as_agent(
        &self,
        connection: &Connection,
        agent_id: &str,
    ) -> anyhow::Result<Connection> {
        let folder = self.context.folder();
        let tokens = credentials::agent(&folder, agent_id.to_owned(), self.workspace())?;
        Ok(connection.with_tokens(tokens))
    }

    pub(super) async fn put(&self, graph: Graph) -> anyhow::Result<Stored> {
        let put = PutGraphRequest {
            workspace_id: self.context.workspace(),
            request_id: request_id(),
            graph: Some(graph),
        };
        let reply = self.operator.retrying(|| {
            let (mut graphs, put) = (self.operator.graphs(), put.clone());
            async move { graphs.put_graph(put).await }
        });
        let version = reply.await?.version.context("the graph has no version")?;
        Ok(Stored {
            workspace: put.workspace_id,
            name: version.name,
            version: version.version,
            tasks: version.nodes,
        })
    }

    /// Registers the worker for the site's agents.
    pub(super) async fn register(&self) -> anyhow::Result<String> {
        let workers = self.worker_connection()?;
        let wish = RegisterRequest {
            workspace_id: self.context.workspace(),
            request_id: request_id(),
            worker: NAME.to_owned(),
            incarnation: Uuid::new_v4().to_string(),
            agent_ids: self.agent_ids.clone(),
            slots: 10_000,
            capabilities: Vec::new(),
        };
        let until = Instant::now() + HEARING;
        loop {
            let reply = workers.retrying(|| {
                let (mut client, wish) = (workers.workers(), wish.clone());
                async move { client.register(wish).await }
            });
            match reply.await {
                Ok(reply) => return Ok(reply.registration_id),
                // It hears of agents by signal, which comes late where the machine is busy.
                Err(status) if refusal::is(&status, "AGENT_UNKNOWN") && Instant::now() < until => {}
                Err(status) => return Err(status.into()),
            }
        }
    }

    /// A new connection with the operator's token.
    pub(super) fn operator_connection(&self) -> anyhow::Result<Connection> {
        self.context.own_connection()
    }

    /// A new connection with a worker's token.
    pub(super) fn worker_connection(&self) -> anyhow::Result<Connection> {
        let wish = WorkerWish {
            worker: NAME.to_owned(),
            workspace: self.context.workspace(),
            agent_ids: vec!["*".to_owned()],
            capabilities: Vec::new(),
        };
        let tokens = credentials::worker(&self.context.folder(), wish)?;
        Ok(self.context.own_connection()?.with_tokens(tokens))
    }
}

impl Stored {
    /// Starts a run; answers its id.
    pub(super) async fn start(&self, connection: &Connection) -> anyhow::Result<Uuid> {
        let request = StartRunRequest {
            workspace_id: self.workspace.clone(),
            request_key: request_id(),
            graph: self.name.clone(),
            version: self.version,
            input: Bytes::new(),
            ..StartRunRequest::default()
        };
        let reply = connection.runs().start_run(request).await?.into_inner();
        Ok(Uuid::try_parse(&reply.run_id)?)
    }
}

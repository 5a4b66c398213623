//! A worker for all agents of a template: each is served from its spawn until it leaves, with slots of its own.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use cambium_client::worker::{Ended, Error, Options, Runtime, Work};
use cambium_client::{Connection, Policy, refusal};
use cambium_proto::genesis::v1::template_service_client::TemplateServiceClient;
use cambium_proto::genesis::v1::watch_agents_response::Event;
use cambium_proto::genesis::v1::{Agent, AgentState, GetTemplateRequest, WatchAgentsRequest};
use cambium_service_kit::shutdown::Stop;
use tokio::task::{JoinError, JoinSet};
use tonic::{Code, Status};

use super::{host, signed};
use crate::context::{Context, hint};

/// How long genesis may be away.
const PATIENCE: Policy = crate::follow::PATIENCE;

/// Whom to serve, and how.
pub(super) struct Family<'a, W> {
    context: &'a Context,
    own: Connection,
    template: String,
    slots: u32,
    /// Behind the agent's name in that of its worker.
    suffix: String,
    work: W,
    /// Ends the work of one agent, by its id.
    stops: BTreeMap<String, Stop>,
    serving: JoinSet<(String, Result<Ended, Error>)>,
}

impl<'a, W: Work + Clone> Family<'a, W> {
    pub(super) fn new(
        context: &'a Context,
        template: &str,
        slots: u32,
        name: Option<&str>,
        work: W,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            own: context.own_connection()?,
            context,
            template: template.to_owned(),
            slots,
            suffix: name.map_or_else(host, str::to_owned),
            work,
            stops: BTreeMap::new(),
            serving: JoinSet::new(),
        })
    }

    /// Serves whoever lives until told to drain, then lets everybody finish.
    pub(super) async fn serve(mut self, drain: Stop) -> anyhow::Result<Ended> {
        self.must_exist().await?;
        let followed = tokio::select! {
            failed = self.follow() => failed,
            () = drain.stopped() => Ok(()),
        };
        for stop in self.stops.values() {
            stop.stop();
        }
        while let Some(ended) = self.serving.join_next().await {
            self.note(ended)?;
        }
        followed.map(|()| Ended::Drained)
    }

    /// Waiting for agents of a template that is misspelt would be in vain.
    async fn must_exist(&self) -> anyhow::Result<()> {
        let request = GetTemplateRequest {
            workspace_id: self.context.workspace(),
            name: self.template.clone(),
            version: 0,
        };
        let reply = self.own.retrying(|| {
            let mut templates = TemplateServiceClient::new(self.own.authorized());
            let request = request.clone();
            async move { templates.get_template(request).await }
        });
        reply.await?;
        Ok(())
    }

    /// Ends only by a failure that no patience helps against.
    async fn follow(&mut self) -> anyhow::Result<()> {
        let mut tried = 0;
        loop {
            let status = self.watch(&mut tried).await?;
            tried += 1;
            let passes = refusal::is_transport(&status) || status.code() == Code::ResourceExhausted;
            if !passes || tried >= PATIENCE.attempts {
                return Err(status.into());
            }
            tokio::time::sleep(PATIENCE.backoff(tried, rand::random())).await;
        }
    }

    /// One stream. The error is ours, the answer the service's.
    async fn watch(&mut self, tried: &mut u32) -> anyhow::Result<Status> {
        let request = WatchAgentsRequest {
            workspace_id: self.context.workspace(),
        };
        let mut events = match self.own.agents().watch_agents(request).await {
            Ok(reply) => reply.into_inner(),
            Err(status) => return Ok(status),
        };
        let mut there = BTreeSet::new();
        loop {
            let event = tokio::select! {
                event = events.message() => event,
                Some(ended) = self.serving.join_next() => {
                    self.note(ended)?;
                    continue;
                }
            };
            match event {
                Ok(Some(event)) => {
                    *tried = 0;
                    self.heed(event.event, &mut there)?;
                }
                Ok(None) => return Ok(Status::unavailable("the service ended the stream")),
                Err(status) => return Ok(status),
            }
        }
    }

    /// `there` gathers who lives, until all have been told.
    fn heed(&mut self, event: Option<Event>, there: &mut BTreeSet<String>) -> anyhow::Result<()> {
        match event {
            Some(Event::Agent(agent)) if agent.template == self.template => {
                there.insert(agent.agent_id.clone());
                if agent.state() == AgentState::Active {
                    self.adopt(&agent)?;
                } else {
                    self.let_go(&agent.agent_id);
                }
            }
            Some(Event::CaughtUp(_)) => {
                // Whoever is not told of has retired while nobody listened.
                let served: Vec<String> = self.stops.keys().cloned().collect();
                for gone in served.iter().filter(|id| !there.contains(*id)) {
                    self.let_go(gone);
                }
            }
            Some(Event::Agent(_) | Event::Heartbeat(_)) | None => {}
        }
        Ok(())
    }

    fn adopt(&mut self, agent: &Agent) -> anyhow::Result<()> {
        if self.stops.contains_key(&agent.agent_id) {
            return Ok(());
        }
        let worker: String = format!("{}@{}", agent.name, self.suffix);
        let worker: String = worker.chars().take(128).collect();
        let agents = std::slice::from_ref(agent);
        let connection = signed(&self.own, &worker, agents, self.context)?;
        let options = Options {
            workspace: self.context.workspace(),
            worker,
            agent_ids: vec![agent.agent_id.clone()],
            slots: self.slots,
            capabilities: Vec::new(),
        };
        let runtime = Runtime::new(&connection, options, self.work.clone());
        let (id, stop) = (agent.agent_id.clone(), Stop::new());
        self.stops.insert(id.clone(), stop.clone());
        self.serving
            .spawn(async move { (id, runtime.run(stop.stopped()).await) });
        hint(&format!("works for {}", agent.name));
        Ok(())
    }

    fn let_go(&self, id: &str) {
        if let Some(stop) = self.stops.get(id) {
            stop.stop();
        }
    }

    fn note(
        &mut self,
        ended: Result<(String, Result<Ended, Error>), JoinError>,
    ) -> anyhow::Result<()> {
        let (id, ended) = ended.context("a worker ended unexpectedly")?;
        self.stops.remove(&id);
        hint(&match ended? {
            Ended::Drained => format!("works no more for {id}"),
            Ended::Replaced => format!("a newer worker took {id} over"),
        });
        Ok(())
    }
}

//! Workers: announcing themselves, waiting for work, and keeping what they were given.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use cambium_kernel::{AgentId, RegistrationId, WorkspaceId};
use cambium_proto::hypha::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::database::retry_conflicts;
use cambium_service_kit::principal::{HeldLease, Kind, Principal};
use cambium_service_kit::receipt;
use cambium_service_kit::token::Mint;
use chrono::TimeDelta;
use uuid::Uuid;

use super::{App, attempt};
use crate::convert::id::Presented;
use crate::engine::grant::Grants;
use crate::engine::registration::{Offered, Registration};
use crate::error::Error;
use crate::store;
use crate::store::hot::Beat;
use crate::store::registration::New;

/// How long an agent may use the token of one attempt before it asks for another.
const AGENT_TOKEN: TimeDelta = TimeDelta::minutes(15);
/// The services that an agent calls.
const AGENT_AUDIENCE: [&str; 3] = ["hypha", "genesis", "stigmergy"];

/// A checked announcement.
#[derive(Clone, Debug)]
pub(crate) struct Announcement {
    pub(crate) workspace: WorkspaceId,
    pub(crate) worker: String,
    pub(crate) incarnation: Uuid,
    pub(crate) agents: Vec<AgentId>,
    pub(crate) slots: u32,
    pub(crate) capabilities: Vec<String>,
}

impl App {
    pub(crate) async fn register(
        &self,
        call: &Call,
        wish: &Announcement,
    ) -> Result<wire::RegisterResponse, Error> {
        cover(&call.principal, wish)?;
        let id = retry_conflicts(3, || self.announce(call, wish)).await?;
        Ok(wire::RegisterResponse {
            registration_id: id.to_string(),
            lease_ms: lease_ms(self.engine.settings.lease),
            token: self.next_token(&call.principal),
        })
    }

    async fn announce(&self, call: &Call, wish: &Announcement) -> Result<RegistrationId, Error> {
        let mut tx = self.pool.begin().await?;
        let workspace = &wish.workspace;
        let known = receipt::find(&mut tx, store::SCHEMA, call, workspace).await?;
        if let Some(wire::RegisterResponse {
            registration_id, ..
        }) = known
        {
            let id = registration_id.parse();
            return id.map_err(|_| Error::NoRegistration(registration_id));
        }
        let agents = store::agent::find(&mut tx, &wish.agents).await?;
        let here = agents
            .iter()
            .filter(|agent| agent.workspace == workspace.as_str());
        let here: BTreeSet<AgentId> = here.map(|agent| agent.id).collect();
        if let Some(unknown) = wish.agents.iter().find(|agent| !here.contains(agent)) {
            return Err(Error::AgentUnknown(unknown.to_string()));
        }
        let owner = call.principal.subject();
        let new = New {
            id: RegistrationId::generate(),
            workspace,
            worker: &wish.worker,
            incarnation: wish.incarnation,
            owner: &owner,
            agents: &wish.agents,
            capabilities: &wish.capabilities,
            slots: store::engine::signed(wish.slots),
        };
        let (id, draining) = store::registration::upsert(&mut tx, &new).await?;
        if draining {
            // A late repeat must not drain the one that took over.
            return Err(Error::Draining);
        }
        let (worker, incarnation) = (&wish.worker, wish.incarnation);
        let older =
            store::registration::drain_others(&mut tx, workspace, worker, incarnation).await?;
        if !older.is_empty() {
            store::registration::tell_drained(&mut tx, &older).await?;
        }
        let reply = wire::RegisterResponse {
            registration_id: id.to_string(),
            ..wire::RegisterResponse::default()
        };
        receipt::insert(&mut tx, store::SCHEMA, call, workspace, &reply).await?;
        tx.commit().await?;
        self.engine.caches.registrations.note_draining(&older);
        Ok(id)
    }

    /// A registration, for the principal that made it.
    pub(crate) async fn registration(
        &self,
        principal: &Principal,
        text: &str,
    ) -> Result<Arc<Registration>, Error> {
        let id: RegistrationId = text
            .parse()
            .map_err(|_| Error::field("registration_id", format!("`{text}` is not a UUID")))?;
        let registration = match self.engine.caches.registrations.get(id) {
            Some(registration) => registration,
            None => self.load_registration(id).await?,
        };
        let is_theirs = registration.owner == principal.subject();
        is_theirs
            .then_some(registration)
            .ok_or_else(|| Error::NotYourRegistration(text.to_owned()))
    }

    async fn load_registration(&self, id: RegistrationId) -> Result<Arc<Registration>, Error> {
        let unknown = || Error::NoRegistration(id.to_string());
        let mut conn = self.pool.acquire().await?;
        let row = store::registration::find(&mut conn, id)
            .await?
            .ok_or_else(unknown)?;
        let narrowed: BTreeSet<String> = row.capabilities.iter().cloned().collect();
        let agents = store::agent::find(&mut conn, &row.agents).await?;
        let agents = agents.into_iter().map(|agent| {
            let learnings = &self.engine.caches.learnings;
            learnings.insert(agent.id, Bytes::from(agent.learnings));
            let has = agent.capabilities.into_iter();
            let has = has.filter(|one| narrowed.is_empty() || narrowed.contains(one));
            Offered {
                id: agent.id,
                has: has.collect(),
                serves_minds: agent.serves_minds,
            }
        });
        let registration = Arc::new(Registration::new(
            row.reg,
            WorkspaceId::parse(&row.workspace).map_err(|_| unknown())?,
            row.owner,
            store::engine::unsigned(row.slots),
            agents.collect(),
            row.draining,
        ));
        let ids: Vec<Uuid> = row.agents.iter().map(|agent| agent.as_uuid()).collect();
        let standings = store::standing::of(&mut conn, &ids).await?;
        self.engine
            .offers
            .roster(|roster| roster.set_standings(&standings));
        let cache = &self.engine.caches.registrations;
        cache.insert(id, &registration);
        Ok(registration)
    }

    /// Whether a newer incarnation has registered, at whichever replica.
    async fn is_replaced(&self, registration: &str) -> Result<bool, Error> {
        let id: RegistrationId = registration
            .parse()
            .map_err(|_| Error::NoRegistration(registration.to_owned()))?;
        let mut conn = self.pool.acquire().await?;
        let drained = store::registration::draining(&mut conn, &[id.as_uuid()]).await?;
        self.engine.caches.registrations.note_draining(&drained);
        Ok(!drained.is_empty())
    }

    pub(crate) async fn poll(
        &self,
        principal: &Principal,
        registration: &str,
        max: u32,
        wait: Duration,
    ) -> Result<wire::PollResponse, Error> {
        let id = registration;
        let registration = self.registration(principal, id).await?;
        if registration.draining.load(Ordering::Relaxed) || self.is_replaced(id).await? {
            return Err(Error::Draining);
        }
        let grants = tokio::select! {
            grants = self.engine.poll(registration, max, wait) => grants,
            () = self.stop.stopped() => Grants::none(),
        };
        Ok(wire::PollResponse {
            attempts: attempt::build(&self.pool, &self.engine, grants).await?,
            token: self.next_token(principal),
        })
    }

    /// Extends leases, and says of each whether to go on, in their order.
    pub(crate) async fn heartbeat(
        &self,
        registration: &Registration,
        presented: &[Presented<'_>],
    ) -> Result<Vec<wire::LeaseStatus>, Error> {
        self.engine.listen().await?;
        let mut beats = Vec::new();
        let mut states = vec![wire::LeaseState::NotFound; presented.len()];
        for (at, one) in presented.iter().enumerate() {
            match self.task(&registration.workspace, one.task, "").await {
                Ok((_, task)) => {
                    states[at] = wire::LeaseState::Lost;
                    beats.push((at, task, one));
                }
                Err(Error::NoTask(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let asked: Vec<Beat> = beats
            .iter()
            .map(|(_, task, one)| Beat {
                task: *task,
                lease: one.lease,
                epoch: one.epoch,
            })
            .collect();
        let lease = self.engine.settings.lease;
        let renewed = retry_conflicts(3, || self.renew(registration.reg, lease, &asked)).await?;
        for (at, closing) in renewed {
            states[beats[at].0] = if closing {
                wire::LeaseState::Cancel
            } else {
                wire::LeaseState::Ok
            };
        }
        let leases = presented
            .iter()
            .zip(states)
            .map(|(one, state)| wire::LeaseStatus {
                lease_id: one.lease.to_string(),
                state: state.into(),
                lease_ms: lease_ms(lease),
            });
        Ok(leases.collect())
    }

    async fn renew(
        &self,
        reg: i32,
        lease: Duration,
        beats: &[Beat],
    ) -> Result<Vec<(usize, bool)>, Error> {
        let mut conn = self.pool.acquire().await?;
        let lease = i64::from(lease_ms(lease));
        Ok(store::hot::renew(&mut conn, reg, lease, beats).await?)
    }

    /// A token with which an attempt's agent calls as itself. It names the attempt: what it starts belongs to it.
    pub(crate) async fn agent_token(
        &self,
        registration: &Registration,
        presented: &Presented<'_>,
        text: &str,
    ) -> Result<wire::MintAgentTokenResponse, Error> {
        self.engine.listen().await?;
        let (info, task) = self
            .task(&registration.workspace, presented.task, text)
            .await?;
        let mut conn = self.pool.acquire().await?;
        let held = store::hot::live(&mut conn, task, presented.lease, presented.epoch).await?;
        let agent = match held {
            Some((reg, _)) if reg != registration.reg => {
                return Err(Error::NotYourLease(text.to_owned()));
            }
            Some((_, agent)) => agent,
            None => return Err(Error::LeaseLost(text.to_owned())),
        };
        let now = self.clock.now();
        let wish = Mint {
            kind: Kind::Agent,
            name: agent.to_string(),
            audience: AGENT_AUDIENCE.map(str::to_owned).to_vec(),
            ttl: AGENT_TOKEN,
            workspaces: vec![info.workspace.to_string()],
            agents: Vec::new(),
            capabilities: Vec::new(),
            act: None,
            lease: Some(HeldLease {
                task_id: text.to_owned(),
                epoch: presented.epoch,
            }),
            fence: None,
        };
        let token = self.key.mint(now, wish).map_err(Error::Token)?;
        Ok(wire::MintAgentTokenResponse {
            token,
            expire_time: Some(crate::convert::time_to_wire(now + AGENT_TOKEN)),
        })
    }

    /// The next token of a worker whose present one is past half its life; else nothing.
    pub(crate) fn next_token(&self, principal: &Principal) -> String {
        let now = self.clock.now();
        let life = principal.expires_at - principal.issued_at;
        let is_due = now - principal.issued_at > life / 2;
        if principal.kind != Kind::Worker || !is_due {
            return String::new();
        }
        let wish = Mint {
            kind: Kind::Worker,
            name: principal.name.clone(),
            audience: vec!["hypha".to_owned()],
            ttl: life.min(TimeDelta::hours(1)),
            workspaces: principal.workspaces.clone(),
            agents: principal.agents.clone(),
            capabilities: principal.capabilities.clone(),
            act: None,
            lease: None,
            fence: None,
        };
        match self.key.mint(now, wish) {
            Ok(token) => token,
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "no token was minted"
                );
                String::new()
            }
        }
    }
}

/// A worker offers no more than its token holds.
fn cover(principal: &Principal, wish: &Announcement) -> Result<(), Error> {
    let any = principal.agents.iter().any(|agent| agent == "*");
    let covered = |agent: &&AgentId| !any && !principal.agents.contains(&agent.to_string());
    if let Some(agent) = wish.agents.iter().find(covered) {
        return Err(Error::AgentNotCovered(agent.to_string()));
    }
    let narrowed = &principal.capabilities;
    let outside = |one: &&String| !narrowed.is_empty() && !narrowed.contains(*one);
    match wish.capabilities.iter().find(outside) {
        Some(one) => Err(Error::CapabilityNotCovered(one.clone())),
        None => Ok(()),
    }
}

fn lease_ms(lease: Duration) -> u32 {
    u32::try_from(lease.as_millis()).unwrap_or(u32::MAX)
}

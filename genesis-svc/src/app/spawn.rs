//! Making agents from templates, within the limits. Counted under the locks of workspace, template and parent, in that order.

use cambium_genesis::spawn::{self as rule, Ground};
use cambium_genesis::{
    Agent, AgentName, Capabilities, Origin, SpawnId, State as Life, TemplateName,
};
use cambium_kernel::{AgentId, WorkspaceId};
use cambium_proto::genesis::v1::{DecideSpawnResponse, ListSpawnsResponse, SpawnResponse};
use cambium_service_kit::call::Call;
use cambium_service_kit::{database, receipt};
use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::app::{App, agent, authority};
use crate::convert::{self, Decide, Page};
use crate::error::Error;
use crate::store;
use crate::store::agent::life::Parent;
use crate::store::spawn::{Decision, Spawn, State};
use crate::store::template::Head;
use crate::store::version::Version;

/// So much of a template's name stands in those of its agents.
const NAME: usize = 115;

/// Where an agent is made, and from what. All of it is locked.
struct Place {
    workspace: WorkspaceId,
    head: Head,
    version: Version,
    parent: Option<(AgentId, Parent)>,
}

impl App {
    /// Answers a call. A spawn is its own receipt, for ever: a repeat is told what has become of it.
    #[tracing::instrument(skip_all, fields(spawn.reason = %wish.reason))]
    pub(crate) async fn spawn(
        &self,
        call: &Call,
        wish: &convert::Spawn,
    ) -> Result<SpawnResponse, Error> {
        let mut reply = database::retry_conflicts(3, || self.spawn_once(call, wish)).await?;
        self.relay.notify();
        if let Some(agent) = &reply.agent {
            reply.agent_token = self.agent_token(agent)?;
        }
        Ok(reply)
    }

    async fn spawn_once(&self, call: &Call, wish: &convert::Spawn) -> Result<SpawnResponse, Error> {
        let (workspace, caller) = (&wish.workspace, call.principal.as_ref());
        let mut tx = self.pool.begin().await?;
        let parent = authority::parent(&mut tx, caller, workspace, wish.parent).await?;
        if let Some(known) = known(&mut tx, call, wish, parent).await? {
            return Ok(known);
        }
        let template = wanted(&mut tx, wish).await?;
        glance(&mut tx, wish, &template, parent).await?;
        store::workspace::lock(&mut tx, workspace).await?;
        // The same request may have been granted until the lock was.
        if let Some(known) = known(&mut tx, call, wish, parent).await? {
            return Ok(known);
        }
        let place = place(&mut tx, workspace, &template, parent).await?;
        offers(&place.version, &wish.requires)?;
        let now = store::now(&mut tx).await?; // after the locks: waiting takes time
        let generation = admit(&mut tx, &place, now).await?;
        let mut spawn = Spawn {
            id: SpawnId::generate(),
            template,
            named: wish.template.is_some(),
            requires: wish.requires.clone(),
            parent,
            reason: wish.reason.clone(),
            requested_by: caller.subject(),
            request_id: call.request_id,
            state: State::Pending,
            agent: None,
            requested_at: now,
            decision: None,
        };
        if !place.version.spec.requires_approval {
            let agent = self.made(&mut tx, &place, generation, now).await?;
            spawn.state = State::Spawned;
            spawn.agent = Some(agent.id);
        }
        store::spawn::insert(&mut tx, workspace, &spawn).await?;
        hold(&mut tx, &place, 1).await?;
        let reply = answer(&mut tx, workspace, &spawn).await?;
        tx.commit().await?;
        Ok(reply)
    }

    /// Makes the agent and tells of it. That it may be made has been decided.
    async fn made(
        &self,
        tx: &mut PgConnection,
        place: &Place,
        generation: u32,
        now: DateTime<Utc>,
    ) -> Result<Agent, Error> {
        let id = AgentId::generate();
        let (version, parent) = (&place.version, place.parent.as_ref());
        let spec = &version.spec;
        let agent = Agent {
            id,
            workspace: place.workspace.clone(),
            name: name(version.name.as_str(), id)?,
            capabilities: spec.capabilities.clone(),
            serves_minds: spec.serves_minds.clone(),
            state: Life::Active,
            enrolled_at: now,
            origin: Some(Origin {
                template: version.name.clone(),
                version: version.version,
            }),
            parent: parent.map(|(id, _)| *id),
            root: parent.map_or(id, |(_, parent)| parent.root),
            generation,
        };
        let inheritance = convert::inherit(id, &place.head.learnings, spec.holdout_share)?;
        if !self.born(tx, &agent, &inheritance).await? {
            return Err(cambium_genesis::Error::NameTaken(agent.name).into());
        }
        Ok(agent)
    }

    /// An operator's word on a spawn that waits.
    #[tracing::instrument(skip_all, fields(spawn.id = %wish.spawn))]
    pub(crate) async fn decide_spawn(
        &self,
        call: &Call,
        wish: &Decide,
    ) -> Result<DecideSpawnResponse, Error> {
        let reply = database::retry_conflicts(3, || self.decide_once(call, wish)).await?;
        self.relay.notify();
        Ok(reply)
    }

    async fn decide_once(&self, call: &Call, wish: &Decide) -> Result<DecideSpawnResponse, Error> {
        let workspace = &wish.workspace;
        let mut tx = self.pool.begin().await?;
        store::workspace::lock(&mut tx, workspace).await?;
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, workspace).await? {
            return Ok(reply);
        }
        let mut spawn = store::spawn::find(&mut tx, workspace, wish.spawn).await?;
        match (spawn.state, wish.approve) {
            (State::Pending, _) => {
                let decided = self.decided(&mut tx, workspace, spawn, wish).await?;
                let now = store::now(&mut tx).await?;
                let decision = Decision {
                    at: now,
                    by: call.principal.subject(),
                    reason: wish.reason.clone(),
                };
                store::spawn::decide(&mut tx, workspace, &decided, &decision).await?;
                spawn = Spawn {
                    decision: Some(decision),
                    ..decided
                };
            }
            (State::Spawned, true) | (State::Denied, false) => {}
            (State::Spawned, false) | (State::Denied, true) => return Err(Error::SpawnDecided),
        }
        let SpawnResponse { spawn, agent, .. } = answer(&mut tx, workspace, &spawn).await?;
        let reply = DecideSpawnResponse { spawn, agent };
        receipt::insert(&mut tx, store::SCHEMA, call, workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }

    /// The spawn as it was decided. Its place among the limits it has held since it was asked for.
    async fn decided(
        &self,
        tx: &mut PgConnection,
        workspace: &WorkspaceId,
        spawn: Spawn,
        wish: &Decide,
    ) -> Result<Spawn, Error> {
        let place = place(tx, workspace, &spawn.template, spawn.parent).await?;
        if !wish.approve {
            hold(tx, &place, -1).await?;
            return Ok(Spawn {
                state: State::Denied,
                ..spawn
            });
        }
        let generation = match &place.parent {
            Some((_, parent)) => {
                rule::is_fit(&parent.counted)?;
                parent.counted.generation + 1
            }
            None => 0,
        };
        let now = store::now(tx).await?;
        let agent = self.made(tx, &place, generation, now).await?;
        Ok(Spawn {
            state: State::Spawned,
            agent: Some(agent.id),
            ..spawn
        })
    }

    pub(crate) async fn spawns(
        &self,
        workspace: &WorkspaceId,
        state: Option<State>,
        page: &Page,
    ) -> Result<ListSpawnsResponse, Error> {
        let before = page.after(|id| id.parse().ok())?;
        let mut conn = self.pool.acquire().await?;
        let found = store::spawn::list(&mut conn, workspace, state, before, page.limit()).await?;
        let (spawns, next_page_token) = convert::cut(
            page,
            &found,
            |spawn| spawn.id.to_string(),
            convert::spawn_to_wire,
        );
        Ok(ListSpawnsResponse {
            spawns,
            next_page_token,
        })
    }
}

/// What has become of a request that was made before.
async fn known(
    tx: &mut PgConnection,
    call: &Call,
    wish: &convert::Spawn,
    parent: Option<AgentId>,
) -> Result<Option<SpawnResponse>, Error> {
    let (workspace, subject) = (&wish.workspace, call.principal.subject());
    let known = store::spawn::by_request(tx, workspace, &subject, call.request_id).await?;
    let Some(known) = known else { return Ok(None) };
    is_same(&known, wish, parent)?;
    answer(tx, workspace, &known).await.map(Some)
}

/// The template that is named, or the first that offers what is required.
async fn wanted(tx: &mut PgConnection, wish: &convert::Spawn) -> Result<TemplateName, Error> {
    match &wish.template {
        Some(name) => Ok(name.clone()),
        None => store::template::offering(tx, &wish.workspace, &wish.requires).await,
    }
}

/// Whether the agent would have all that it must.
fn offers(version: &Version, requires: &Capabilities) -> Result<(), Error> {
    let missing = requires.beyond(&version.spec.capabilities);
    if missing.is_empty() {
        return Ok(());
    }
    let template = version.name.clone();
    Err(Error::Lacks { template, missing })
}

/// Refuses without a lock what the limits refuse as things stand: in a storm the many who are refused then keep nobody waiting.
/// Whoever passes is counted again under the locks.
async fn glance(
    tx: &mut PgConnection,
    wish: &convert::Spawn,
    template: &TemplateName,
    parent: Option<AgentId>,
) -> Result<(), Error> {
    let workspace = &wish.workspace;
    let head = store::template::head(tx, workspace, template).await?;
    let version = store::version::find(tx, workspace, template, head.version).await?;
    offers(&version, &wish.requires)?;
    let parent = match parent {
        Some(id) => Some((id, unlocked_parent(tx, workspace, id).await?)),
        None => None,
    };
    let place = Place {
        workspace: workspace.clone(),
        head,
        version,
        parent,
    };
    let now = store::now(tx).await?;
    admit(tx, &place, now).await?;
    Ok(())
}

/// Locks template and parent, then reads them. The workspace is locked already.
async fn place(
    tx: &mut PgConnection,
    workspace: &WorkspaceId,
    template: &TemplateName,
    parent: Option<AgentId>,
) -> Result<Place, Error> {
    let head = store::template::lock(tx, workspace, template).await?;
    let version = store::version::find(tx, workspace, template, head.version).await?;
    let parent = match parent {
        Some(id) => Some((id, self::parent(tx, workspace, id).await?)),
        None => None,
    };
    Ok(Place {
        workspace: workspace.clone(),
        head,
        version,
        parent,
    })
}

async fn parent(
    tx: &mut PgConnection,
    workspace: &WorkspaceId,
    id: AgentId,
) -> Result<Parent, Error> {
    store::agent::life::lock(tx, workspace, &[id.as_uuid()]).await?;
    unlocked_parent(tx, workspace, id).await
}

async fn unlocked_parent(
    tx: &mut PgConnection,
    workspace: &WorkspaceId,
    id: AgentId,
) -> Result<Parent, Error> {
    let is_quarantined = store::standing::is_quarantined(tx, workspace, id).await?;
    let parent = store::agent::life::parent(tx, workspace, id, is_quarantined).await?;
    parent.ok_or_else(|| Error::NoAgent(id.to_string()))
}

/// The generation of the agent to be, if the limits let it be.
async fn admit(tx: &mut PgConnection, place: &Place, now: DateTime<Utc>) -> Result<u32, Error> {
    let since = now - rule::window();
    let (in_window, oldest) = store::spawn::within(tx, &place.workspace, since).await?;
    let parent = place.parent.as_ref();
    let ground = Ground {
        in_window,
        oldest_in_window: oldest,
        live_agents: u32::try_from(place.head.live_agents).unwrap_or_default(),
        parent: parent.map(|(_, parent)| parent.counted.clone()),
    };
    Ok(rule::admit(&ground, place.version.spec.limits(), now)?)
}

/// Takes a spawn's place among the limits, or gives it back.
async fn hold(tx: &mut PgConnection, place: &Place, by: i32) -> Result<(), Error> {
    store::template::count_live(tx, &place.workspace, &place.version.name, by).await?;
    if let Some((id, _)) = &place.parent {
        store::agent::life::count_children(tx, &place.workspace, *id, by, by).await?;
    }
    Ok(())
}

/// Whether a request id was used for this very wish.
fn is_same(known: &Spawn, wish: &convert::Spawn, parent: Option<AgentId>) -> Result<(), Error> {
    let template = known.named.then_some(&known.template);
    let is_same = template == wish.template.as_ref()
        && known.requires == wish.requires
        && known.parent == parent
        && known.reason == wish.reason;
    if is_same {
        return Ok(());
    }
    Err(receipt::Error::Taken(known.request_id).into())
}

/// What has become of a spawn.
async fn answer(
    tx: &mut PgConnection,
    workspace: &WorkspaceId,
    spawn: &Spawn,
) -> Result<SpawnResponse, Error> {
    let mut reply = SpawnResponse {
        spawn: Some(convert::spawn_to_wire(spawn)),
        ..SpawnResponse::default()
    };
    if let Some(id) = spawn.agent {
        let agent = store::agent::by_id(tx, workspace, id).await?;
        let agent = agent.ok_or_else(|| Error::NoAgent(id.to_string()))?;
        reply.config = agent::config(tx, &agent).await?;
        reply.agent = Some(convert::agent_to_wire(&agent));
    }
    Ok(reply)
}

/// The template's name, and the random end of the agent's id.
fn name(template: &str, id: AgentId) -> Result<AgentName, Error> {
    let start: String = template.chars().take(NAME).collect();
    let id = id.as_uuid().simple().to_string();
    Ok(AgentName::parse(&format!(
        "{start}-{}",
        &id[id.len() - 12..]
    ))?)
}

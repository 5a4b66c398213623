//! A mind's token: for a live turn, to its body or to a worker with a lease of its run; for an open session, to its operator.
//! Nobody asks for an organ that its work does not have.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1::MintMindTokenResponse;
use cambium_service_kit::principal::{Fence, Kind, Organ as TokenOrgan, Principal};
use cambium_service_kit::token::Mint;
use cambium_swarm::authority::{self, Action, Denial, Facts, Organ};
use cambium_swarm::target::Target;
use cambium_swarm::{Instance, SessionId, TurnId};
use chrono::TimeDelta;

use crate::app::App;
use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::turn::Stored;

/// Where a mind shows its token.
const AUDIENCE: [&str; 5] = ["swarm", "hypha", "genesis", "stigmergy", "gateway"];
const LIFE: TimeDelta = TimeDelta::hours(1);

/// What the token ends with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    Turn(TurnId, i64),
    Session(SessionId),
}

impl App {
    pub(crate) async fn mint(
        &self,
        caller: &Principal,
        workspace: &WorkspaceId,
        of: Of,
        organ: Option<Organ>,
    ) -> Result<MintMindTokenResponse, Error> {
        let (mind, organs, fence) = match of {
            Of::Turn(turn, epoch) => self.of_turn(caller, workspace, turn, epoch).await?,
            Of::Session(session) => self.of_session(caller, workspace, session).await?,
        };
        let organ = chosen(&organs, organ)?;
        let wish = Mint {
            kind: Kind::Mind,
            name: mind.to_string(),
            audience: AUDIENCE.map(str::to_owned).to_vec(),
            ttl: LIFE,
            workspaces: vec![workspace.to_string()],
            agents: Vec::new(),
            capabilities: Vec::new(),
            act: Some(caller.subject()),
            lease: None,
            fence: Some(Fence {
                organ: match organ {
                    Organ::Persona => TokenOrgan::Persona,
                    Organ::Own => TokenOrgan::Own,
                },
                ..fence
            }),
        };
        let now = self.clock.now();
        Ok(MintMindTokenResponse {
            token: self.key.mint(now, wish)?,
            organ: convert::mind::organ_to_wire(organ).into(),
            expire_time: Some(convert::time(now + LIFE)),
        })
    }

    async fn of_turn(
        &self,
        caller: &Principal,
        workspace: &WorkspaceId,
        id: TurnId,
        epoch: i64,
    ) -> Result<(Instance, Vec<Organ>, Fence), Error> {
        let mut conn = self.pool.acquire().await?;
        let stored = store::turn::find(&mut conn, workspace, id).await?;
        drop(conn);
        let stored = stored.ok_or(Error::NoTurn(id))?;
        let (body, organs) = self.carried(caller, workspace, &stored).await?;
        let facts = Facts {
            mind: Some(stored.turn.instance.clone()),
            body,
            ..Facts::default()
        };
        authority::decide(&convert::actor(caller)?, Action::HoldTurn, &facts)?;
        stored.turn.fence(epoch)?;
        let fence = Fence {
            organ: TokenOrgan::Own,
            turn_id: Some(id.to_string()),
            session_id: None,
        };
        Ok((stored.turn.instance, organs, fence))
    }

    /// Who carries the turn, and as what: the body that its target names, or a worker with a lease of its run.
    async fn carried(
        &self,
        caller: &Principal,
        workspace: &WorkspaceId,
        stored: &Stored,
    ) -> Result<(Option<String>, Vec<Organ>), Error> {
        if let Target::Body { name, organs } = &stored.target {
            return Ok((Some(name.clone()), organs.clone()));
        }
        let Some(hypha) = &self.hypha else {
            return Ok((None, Vec::new()));
        };
        let lease = hypha.lease(workspace, stored.turn.id, &caller.name).await;
        let lease = lease.map_err(|status| {
            tracing::debug!(%status, "hypha did not say who holds a lease");
            Error::HyphaAway
        })?;
        let holds = lease.holds && lease.serves;
        let organ = match lease.is_persona {
            true => Organ::Persona,
            false => Organ::Own,
        };
        Ok((holds.then(|| caller.name.clone()), vec![organ]))
    }

    async fn of_session(
        &self,
        caller: &Principal,
        workspace: &WorkspaceId,
        id: SessionId,
    ) -> Result<(Instance, Vec<Organ>, Fence), Error> {
        let age = self.clock.now() - caller.issued_at;
        let facts = Facts {
            login_age_s: Some(u64::try_from(age.num_seconds()).unwrap_or(0)),
            ..Facts::default()
        };
        authority::decide(&convert::actor(caller)?, Action::OperateMind, &facts)?;
        let mut conn = self.pool.acquire().await?;
        let mind = store::session::open_mind(&mut conn, workspace, id).await?;
        let fence = Fence {
            organ: TokenOrgan::Own,
            turn_id: None,
            session_id: Some(id.to_string()),
        };
        let mind = mind.ok_or(cambium_swarm::Error::TurnLost)?;
        Ok((mind, vec![Organ::Persona, Organ::Own], fence))
    }
}

/// What was asked for, if it may be had; else persona where it may, else self.
fn chosen(organs: &[Organ], wanted: Option<Organ>) -> Result<Organ, Error> {
    let found = match wanted {
        Some(wanted) => organs.iter().find(|organ| **organ == wanted),
        None => organs.first(),
    };
    let denied = || cambium_swarm::Error::Denied(Denial::NoRule).into();
    found.copied().ok_or_else(denied)
}

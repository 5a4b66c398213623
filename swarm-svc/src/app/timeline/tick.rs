//! A tick: at most one turn is launched, and nothing when it is not sure (design: swarm, section 6, `tick`).

use std::collections::BTreeMap;

use cambium_kernel::{ErrorKind, Failure as _, WorkspaceId};
use cambium_proto::swarm::v1::TickResponse;
use cambium_service_kit::database;
use cambium_service_kit::principal::Principal;
use cambium_swarm::authority::{self, Action, Facts};
use cambium_swarm::pick::{self, Candidate};
use cambium_swarm::target::Target;
use cambium_swarm::tick::Round;
use cambium_swarm::turn::{Terms, Turn};
use cambium_swarm::{Instance, TurnId, Why};
use serde_json::json;
use sqlx::PgConnection;

use super::SCHEDULER;
use super::held::{Held, hold};
use crate::app::App;
use crate::convert;
use crate::error::Error;
use crate::store::grant::Grant;
use crate::store::persona::Stored as Persona;
use crate::store::standing::Placed;
use crate::store::{self, audit, bucket, event, launch, setting, standing, timeline};

/// What came of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ticked {
    Launched(TurnId),
    Skipped(Why),
}

/// A mind that nothing stood against at the last look.
struct Ready {
    placed: Placed,
    target: Target,
    persona_version: Option<i32>,
}

impl App {
    /// Answers whoever schedules.
    pub(crate) async fn tick_for(
        &self,
        caller: &Principal,
        workspace: &WorkspaceId,
    ) -> Result<TickResponse, Error> {
        authority::decide(&convert::actor(caller)?, Action::Launch, &Facts::default())?;
        Ok(match self.tick(workspace).await? {
            Ticked::Skipped(why) => TickResponse {
                turn: None,
                skip: convert::timeline::why_to_wire(why).into(),
            },
            Ticked::Launched(turn) => TickResponse {
                turn: self.turn(workspace, turn).await?.turn,
                skip: 0,
            },
        })
    }

    /// Looks after the live turns, then launches one, or says what stands in the way.
    #[tracing::instrument(skip_all, fields(%workspace))]
    pub(crate) async fn tick(&self, workspace: &WorkspaceId) -> Result<Ticked, Error> {
        self.reconcile(workspace).await?;
        self.tick_once(workspace).await.map_err(raced)
    }

    async fn tick_once(&self, workspace: &WorkspaceId) -> Result<Ticked, Error> {
        let mut tx = self.pool.begin().await?;
        let held = hold(&mut tx, workspace, None).await?;
        let round = round(&mut tx, workspace, &held).await?;
        if let Err(why) = round.gate() {
            // A tick that moved nobody leaves no trace.
            if held.has_moved {
                bucket::put(&mut tx, workspace, &held.bucket).await?;
                held.tell(&mut tx, workspace).await?;
                tx.commit().await?;
            }
            return Ok(Ticked::Skipped(why));
        }
        let launched = launched(&mut tx, workspace, &held, &round).await?;
        bucket::put(&mut tx, workspace, &held.bucket).await?;
        held.tell(&mut tx, workspace).await?;
        tx.commit().await?;
        Ok(launched.map_or(Ticked::Skipped(Why::Nobody), Ticked::Launched))
    }
}

/// A slot or a mind that another took meanwhile.
fn raced(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Conflict if error.reason() == database::WRITE_CONFLICT => Error::Raced,
        _ => error,
    }
}

/// All that a tick reads before it looks at a mind.
pub(super) async fn round(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    held: &Held,
) -> Result<Round, Error> {
    let live = store::turn::live(conn, workspace).await?;
    Ok(Round {
        now: held.now,
        dial: held.dial,
        bucket: held.bucket,
        reserved: store::turn::reserved(conn, workspace).await?,
        limit: setting::limit(conn, workspace).await?,
        taken: live.iter().map(|stored| stored.turn.slot).collect(),
        preempted_until: store::session::preempted_until(conn, workspace).await?,
    })
}

async fn launched(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    held: &Held,
    round: &Round,
) -> Result<Option<TurnId>, Error> {
    let most = i64::try_from(pick::MOST).unwrap_or(i64::MAX);
    let candidates = timeline::runnable(conn, workspace, most).await?;
    let mut refused: BTreeMap<Instance, Why> = BTreeMap::new();
    let mut ready = None;
    for candidate in &candidates {
        match last_look(conn, workspace, held, candidate).await? {
            Ok(found) => {
                ready = Some(found);
                break;
            }
            Err(why) => {
                refused.insert(candidate.instance.clone(), why);
            }
        }
    }
    let Some(ready) = ready else {
        return Ok(None);
    };
    let choice = pick::choose(&candidates, |one| refused.get(&one.instance).copied());
    let Some(winner) = choice.winner else {
        return Ok(None);
    };
    let grant = Grant {
        bucket: held.bucket.level,
        reserved: round.dial.map_or(round.reserved, |dial| round.held(&dial)),
        k: round.dial.map_or(0, |dial| dial.k()),
        live: u32::try_from(round.taken.len()).unwrap_or(u32::MAX),
        candidates,
        passed_over: choice.passed_over,
    };
    let turn = grant_turn(conn, workspace, held, round, winner, ready).await?;
    store::grant::insert(conn, workspace, turn.id, &grant).await?;
    let level = held.bucket.level;
    bucket::log(
        conn,
        workspace,
        bucket::Kind::Launch,
        (level, level),
        Some(turn.id),
    )
    .await?;
    tell(conn, workspace, &turn).await?;
    Ok(Some(turn.id))
}

/// What is read of a candidate under its launch's lock, its brake last of all: why it is passed over, or that it goes.
async fn last_look(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    held: &Held,
    candidate: &Candidate,
) -> Result<Result<Ready, Why>, Error> {
    let mind = &candidate.instance;
    let row = launch::lock(conn, workspace, mind).await?;
    let placed = standing::of(conn, workspace, mind).await?;
    if let Some(why) = placed.standing.hindrance(held.now) {
        return Ok(Err(why));
    }
    if placed.standing.is_live {
        return Ok(Err(Why::Live));
    }
    if placed.effective(held.now) != Some(candidate.share) {
        return Err(Error::Raced);
    }
    let persona_version = match store::persona::newest(conn, workspace, mind).await? {
        Persona::Absent => None,
        Persona::Stored { version, .. } => Some(version),
        Persona::Unreadable => {
            launch::update(conn, workspace, mind, &row.unreadable(held.now)).await?;
            return Ok(Err(Why::Persona));
        }
    };
    let known = store::mind::find(conn, workspace, mind).await?;
    let Some(target) = known.and_then(|mind| mind.target) else {
        launch::update(conn, workspace, mind, &row.withdrawn(held.now)).await?;
        return Ok(Err(Why::Retry));
    };
    if !setting::brake_released(conn, workspace, mind).await? {
        return Ok(Err(Why::Brake));
    }
    Ok(Ok(Ready {
        placed,
        target,
        persona_version,
    }))
}

async fn grant_turn(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    held: &Held,
    round: &Round,
    winner: Candidate,
    ready: Ready,
) -> Result<Turn, Error> {
    let dial = round.dial.ok_or(cambium_swarm::Error::Closed(Why::Dial))?;
    let launch = ready.placed.standing.launch.launched(held.now);
    launch::update(conn, workspace, &winner.instance, &launch).await?;
    let terms = Terms {
        id: TurnId::generate(),
        epoch: launch.epoch,
        slot: round.slot(),
        body: ready.target.kind(),
        haste: ready.placed.factor(held.now),
    };
    let stored = store::turn::Stored {
        turn: Turn::granted(winner, terms, &dial, held.now),
        target: ready.target,
        reserve: dial.reserve(),
        outcome: None,
        run_id: None,
        ended_at: None,
        is_closing: false,
        persona_version: ready.persona_version,
    };
    store::turn::insert(conn, workspace, &stored).await?;
    Ok(stored.turn)
}

async fn tell(conn: &mut PgConnection, workspace: &WorkspaceId, turn: &Turn) -> Result<(), Error> {
    let body = json!({
        "slot": turn.slot,
        "epoch": turn.epoch,
        "cap_micro_usd": turn.cap.as_micros(),
        "share_ppm": turn.share.as_ppm(),
        "haste_ppm": turn.haste.as_ppm(),
    });
    let entry = audit::Entry {
        actor: SCHEDULER.to_owned(),
        action: Action::Launch.as_str().to_owned(),
        instance: Some(turn.instance.clone()),
        turn: Some(turn.id),
        refusal: None,
        body: body.clone(),
    };
    audit::insert(conn, workspace, &entry).await?;
    let told = event::New {
        kind: event::Kind::Granted,
        instance: Some(turn.instance.clone()),
        turn: Some(turn.id),
        body,
    };
    event::insert(conn, workspace, told).await
}

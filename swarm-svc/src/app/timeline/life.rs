//! A turn between its grant and its end: it is taken or started, shows that it lives, or is withdrawn.

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1::{AckGrantResponse, HeartbeatResponse};
use cambium_service_kit::principal::Principal;
use cambium_swarm::authority::{self, Action, Facts};
use cambium_swarm::turn::State;
use cambium_swarm::{Instance, TurnId};
use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use super::SCHEDULER;
use super::held::{Held, hold};
use crate::app::App;
use crate::convert;
use crate::error::Error;
use crate::store::turn::Stored;
use crate::store::{self, audit, event, launch, setting};

/// Why a turn is withdrawn, or is to stop.
pub(super) const BRAKE: &str = "BRAKE";

/// Which turn a body speaks of, and as whom.
#[derive(Clone, Debug)]
pub(crate) struct Holding {
    pub(crate) turn: TurnId,
    pub(crate) epoch: i64,
    pub(crate) holder: String,
}

impl App {
    /// A body takes its turn before it spends anything. A brake that is held meanwhile takes the turn away.
    pub(crate) async fn acknowledge(
        &self,
        caller: &Principal,
        workspace: &WorkspaceId,
        holding: &Holding,
    ) -> Result<AckGrantResponse, Error> {
        let mut tx = self.pool.begin().await?;
        let mut stored = self
            .held_by(&mut tx, caller, workspace, holding.turn)
            .await?;
        let now = store::now(&mut tx).await?;
        let was = stored.turn.state;
        stored.turn = stored
            .turn
            .acknowledged(holding.epoch, &holding.holder, now)?;
        if was == State::Granted {
            let mind = stored.turn.instance.clone();
            let row = launch::lock(&mut tx, workspace, &mind).await?;
            if !setting::brake_released(&mut tx, workspace, &mind).await? {
                return Err(cambium_swarm::Error::TurnLost.into());
            }
            launch::update(&mut tx, workspace, &mind, &row.ran(stored.turn.launched_at)).await?;
            running(&mut tx, workspace, &stored).await?;
        }
        store::turn::update(&mut tx, workspace, &stored).await?;
        tx.commit().await?;
        Ok(AckGrantResponse {
            turn: Some(convert::timeline::turn_to_wire(&stored, None)),
        })
    }

    /// A body says that it lives, and hears whether it is to stop.
    pub(crate) async fn beat(
        &self,
        caller: &Principal,
        workspace: &WorkspaceId,
        holding: &Holding,
    ) -> Result<HeartbeatResponse, Error> {
        let mut tx = self.pool.begin().await?;
        let mut stored = self
            .held_by(&mut tx, caller, workspace, holding.turn)
            .await?;
        let now = store::now(&mut tx).await?;
        stored.turn = stored.turn.beaten(holding.epoch, &holding.holder, now)?;
        store::turn::update(&mut tx, workspace, &stored).await?;
        let held = setting::held_since(&mut tx, workspace).await?;
        let stop = must_stop(&stored, held.get(&stored.turn.instance).copied(), now);
        tx.commit().await?;
        Ok(HeartbeatResponse {
            stop: stop.unwrap_or("").to_owned(),
            alive_until: Some(convert::time(stored.turn.alive_until)),
        })
    }

    /// A turn that is the caller's to hold: the body's that its target names.
    async fn held_by(
        &self,
        conn: &mut PgConnection,
        caller: &Principal,
        workspace: &WorkspaceId,
        id: TurnId,
    ) -> Result<Stored, Error> {
        let stored = store::turn::lock(conn, workspace, id).await?;
        let stored = stored.ok_or(Error::NoTurn(id))?;
        let facts = Facts {
            mind: Some(stored.turn.instance.clone()),
            body: stored.target.body_name().map(str::to_owned),
            ..Facts::default()
        };
        authority::decide(&convert::actor(caller)?, Action::HoldTurn, &facts)?;
        Ok(stored)
    }

    /// The run of a graph has started.
    pub(super) async fn started(
        &self,
        workspace: &WorkspaceId,
        id: TurnId,
        run: Uuid,
    ) -> Result<(), Error> {
        let mut tx = self.pool.begin().await?;
        let Some(mut stored) = store::turn::lock(&mut tx, workspace, id).await? else {
            return Ok(());
        };
        if stored.turn.state != State::Granted {
            return Ok(());
        }
        stored.turn.state = State::Running;
        stored.run_id = Some(run);
        let mind = stored.turn.instance.clone();
        let row = launch::lock(&mut tx, workspace, &mind).await?;
        launch::update(&mut tx, workspace, &mind, &row.ran(stored.turn.launched_at)).await?;
        store::turn::update(&mut tx, workspace, &stored).await?;
        running(&mut tx, workspace, &stored).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Nothing of it ran, and nothing of it shall.
    pub(super) async fn withdraw_granted(
        &self,
        workspace: &WorkspaceId,
        id: TurnId,
        why: &str,
    ) -> Result<(), Error> {
        let mut tx = self.pool.begin().await?;
        let held = hold(&mut tx, workspace, Some(id)).await?;
        let Some(stored) = held.turn.clone() else {
            return Ok(());
        };
        if stored.turn.state != State::Granted {
            return Ok(());
        }
        withdraw(&mut tx, workspace, &held, stored, why).await?;
        tx.commit().await?;
        Ok(())
    }
}

/// Why a live turn is to stop, if it is.
pub(super) fn must_stop(
    stored: &Stored,
    held_at: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Option<&'static str> {
    if held_at.is_some() {
        return Some(BRAKE);
    }
    (now >= stored.turn.deadline).then_some("DEADLINE")
}

/// Withdraws a granted turn under the bucket's row: its mind waits, its reservation is closed, and hypha is told.
pub(super) async fn withdraw(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    held: &Held,
    mut stored: Stored,
    why: &str,
) -> Result<(), Error> {
    stored.turn.state = State::Withdrawn;
    stored.ended_at = Some(held.now);
    stored.is_closing = true;
    let mind = stored.turn.instance.clone();
    let row = launch::lock(conn, workspace, &mind).await?;
    // A brake that was held says nothing about the target: once it is released the mind does not wait.
    let row = match why {
        BRAKE => row,
        _ => row.withdrawn(held.now),
    };
    launch::update(conn, workspace, &mind, &row).await?;
    store::turn::update(conn, workspace, &stored).await?;
    store::bucket::put(conn, workspace, &held.bucket).await?;
    let body = json!({"why": why});
    let entry = audit::Entry {
        actor: SCHEDULER.to_owned(),
        action: "Withdraw".to_owned(),
        instance: Some(mind.clone()),
        turn: Some(stored.turn.id),
        refusal: None,
        body: body.clone(),
    };
    audit::insert(conn, workspace, &entry).await?;
    tell(
        conn,
        workspace,
        event::Kind::Withdrawn,
        &mind,
        stored.turn.id,
        body,
    )
    .await?;
    held.tell(conn, workspace).await
}

async fn running(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    stored: &Stored,
) -> Result<(), Error> {
    let body = json!({"holder": stored.turn.holder, "run_id": stored.run_id});
    let mind = &stored.turn.instance;
    tell(
        conn,
        workspace,
        event::Kind::Running,
        mind,
        stored.turn.id,
        body,
    )
    .await
}

async fn tell(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    kind: event::Kind,
    mind: &Instance,
    turn: TurnId,
    body: serde_json::Value,
) -> Result<(), Error> {
    let told = event::New {
        kind,
        instance: Some(mind.clone()),
        turn: Some(turn),
        body,
    };
    event::insert(conn, workspace, told).await
}

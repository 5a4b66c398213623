//! What a body hears: the live turns that are its, each new one, and when one is to stop. Nothing is lost by a broken stream: what
//! lives is sent again.

use std::collections::BTreeMap;
use std::sync::Arc;

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_proto::swarm::v1::WatchGrantsResponse;
use cambium_proto::swarm::v1::watch_grants_response::Item;
use cambium_service_kit::principal::Principal;
use cambium_service_kit::watchers::Outlet;
use cambium_swarm::TurnId;
use cambium_swarm::authority::{self, Action, Facts};
use tokio::sync::mpsc;

use super::life::must_stop;
use crate::app::watch::{End, Watcher};
use crate::app::{App, Sent};
use crate::convert;
use crate::error::Error;
use crate::store::turn::Stored;
use crate::store::{self, setting};

/// A body that listens.
struct Body {
    app: Arc<App>,
    workspace: WorkspaceId,
    name: String,
    /// The turns that it was told of: their epoch, and whether it was told to stop.
    told: BTreeMap<TurnId, (i64, bool)>,
}

impl App {
    pub(crate) fn watch_grants(
        self: &Arc<Self>,
        caller: &Principal,
        workspace: WorkspaceId,
        name: String,
    ) -> Result<mpsc::Receiver<Sent<WatchGrantsResponse>>, Error> {
        let facts = Facts {
            body: Some(name.clone()),
            ..Facts::default()
        };
        authority::decide(&convert::actor(caller)?, Action::HoldTurn, &facts)?;
        let body = Body {
            app: Arc::clone(self),
            workspace,
            name,
            told: BTreeMap::new(),
        };
        self.follow(caller, body)
    }
}

impl Watcher for Body {
    type Item = WatchGrantsResponse;

    async fn look(&mut self, outlet: &Outlet<Self::Item>) -> Result<(), End> {
        let mut conn = self.app.pool.acquire().await.map_err(Error::from)?;
        let live = store::turn::live(&mut conn, &self.workspace).await?;
        let held = setting::held_since(&mut conn, &self.workspace).await?;
        let now = store::now(&mut conn).await?;
        drop(conn);
        let own: Vec<Stored> = live
            .into_iter()
            .filter(|stored| stored.target.body_name() == Some(&self.name))
            .collect();
        self.tell_ended(&own, outlet).await?;
        for stored in &own {
            let held_at = held.get(&stored.turn.instance).copied();
            let stop = must_stop(stored, held_at, now);
            self.tell(stored, stop, outlet).await?;
        }
        Ok(())
    }

    fn beat(&self) -> Self::Item {
        WatchGrantsResponse {
            item: Some(Item::Heartbeat(true)),
        }
    }
}

impl Body {
    /// Turns that it was told of and that live no more.
    async fn tell_ended(
        &mut self,
        own: &[Stored],
        outlet: &Outlet<WatchGrantsResponse>,
    ) -> Result<(), End> {
        let lives = |id: &TurnId| own.iter().any(|stored| stored.turn.id == *id);
        let over: Vec<TurnId> = self.told.keys().filter(|id| !lives(id)).copied().collect();
        for id in over {
            if let Some((epoch, false)) = self.told.remove(&id) {
                outlet.send(stop(id, epoch, "OVER")).await?;
            }
        }
        Ok(())
    }

    async fn tell(
        &mut self,
        stored: &Stored,
        stop_for: Option<&'static str>,
        outlet: &Outlet<WatchGrantsResponse>,
    ) -> Result<(), End> {
        let turn = &stored.turn;
        let told = self.told.get(&turn.id).copied();
        if let Some(why) = stop_for {
            if told.is_none_or(|(_, stopped)| !stopped) {
                self.told.insert(turn.id, (turn.epoch, true));
                outlet.send(stop(turn.id, turn.epoch, why)).await?;
            }
        } else if told.is_none() {
            let brief = self.app.brief(&self.workspace, stored).await?;
            let grant = wire::Grant {
                turn_id: turn.id.to_string(),
                epoch: turn.epoch,
                cap_micro_usd: turn.cap.as_micros(),
                brief: brief.to_string().into_bytes(),
                instance: turn.instance.to_string(),
                deadline: Some(convert::time(turn.deadline)),
            };
            self.told.insert(turn.id, (turn.epoch, false));
            let item = Some(Item::Grant(grant));
            outlet.send(WatchGrantsResponse { item }).await?;
        }
        Ok(())
    }
}

fn stop(turn: TurnId, epoch: i64, why: &str) -> WatchGrantsResponse {
    WatchGrantsResponse {
        item: Some(Item::Stop(wire::Stop {
            turn_id: turn.to_string(),
            epoch,
            reason: why.to_owned(),
        })),
    }
}

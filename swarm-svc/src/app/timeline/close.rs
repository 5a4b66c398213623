//! hypha is told that turns are over, or are to stop, until it says that nothing of them runs any more.

use cambium_kernel::{Usd, WorkspaceId};
use cambium_swarm::charge::{Outcome, Source};
use cambium_swarm::turn::{Body, State};

use super::life::must_stop;
use super::settle::Found;
use crate::app::App;
use crate::error::Error;
use crate::peers::{Closed, Hypha};
use crate::store::turn::Stored;
use crate::store::{self, setting};

/// Turns looked at in one round.
const MOST: i64 = 200;

impl App {
    /// One round over the turns that are over and those that are to stop.
    pub(crate) async fn close(&self, workspace: &WorkspaceId) -> Result<(), Error> {
        let mut conn = self.pool.acquire().await?;
        let closing = store::turn::closing(&mut conn, workspace, MOST).await?;
        let live = store::turn::live(&mut conn, workspace).await?;
        let held = setting::held_since(&mut conn, workspace).await?;
        let now = store::now(&mut conn).await?;
        drop(conn);
        for stored in &closing {
            self.close_ended(workspace, stored).await?;
        }
        let Some(hypha) = &self.hypha else {
            return Ok(());
        };
        let graphs = live.iter().filter(|stored| stored.turn.body == Body::Graph);
        for stored in graphs.filter(|stored| stored.turn.state == State::Running) {
            let held_at = held.get(&stored.turn.instance).copied();
            if let Some(why) = must_stop(stored, held_at, now) {
                self.stop(hypha, workspace, stored, why).await?;
            }
        }
        Ok(())
    }

    /// Where no hypha is there was nothing to run.
    async fn close_ended(&self, workspace: &WorkspaceId, stored: &Stored) -> Result<(), Error> {
        let closed = match &self.hypha {
            Some(hypha) => {
                hypha
                    .cancel(workspace, stored.turn.id, "the turn is over")
                    .await
            }
            None => Closed::Nothing,
        };
        match closed {
            Closed::Open => return Ok(()),
            Closed::Ended(cost) if stored.turn.state == State::Withdrawn && is_due(cost) => {
                let found = Found::ours(cost, Source::Run, Outcome::LateStart);
                self.settle_alone(workspace, stored.turn.id, &found).await?;
            }
            Closed::Ended(_) | Closed::Nothing => {}
        }
        let mut conn = self.pool.acquire().await?;
        store::turn::closed(&mut conn, workspace, stored.turn.id).await
    }

    /// A live run is told to stop; once it has, it is settled by what it cost.
    async fn stop(
        &self,
        hypha: &Hypha,
        workspace: &WorkspaceId,
        stored: &Stored,
        why: &'static str,
    ) -> Result<(), Error> {
        let cost = match hypha.cancel(workspace, stored.turn.id, why).await {
            Closed::Open => return Ok(()),
            Closed::Ended(cost) => cost,
            Closed::Nothing => None,
        };
        let found = Found::ours(cost, Source::Run, Outcome::Ended);
        self.settle_alone(workspace, stored.turn.id, &found).await?;
        Ok(())
    }
}

/// Whether what ran of a withdrawn turn is to be charged: it cost something, or nobody measured it.
fn is_due(cost: Option<Usd>) -> bool {
    cost.is_none_or(|cost| cost > Usd::from_micros(0))
}

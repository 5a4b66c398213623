//! Granted turns of graphs are started in hypha, once: the turn's id is the run's request key. Whatever was granted and not begun when a
//! brake was held is withdrawn.

use cambium_kernel::WorkspaceId;
use cambium_swarm::Instance;
use cambium_swarm::target::Target;
use cambium_swarm::turn::State;

use super::life::BRAKE;
use crate::app::App;
use crate::error::Error;
use crate::peers::Started;
use crate::store::turn::Stored;
use crate::store::{self, setting};

impl App {
    /// Starts what is granted. What hypha refuses is withdrawn; what it does not answer is tried again.
    pub(crate) async fn dispatch(&self, workspace: &WorkspaceId) -> Result<(), Error> {
        let mut conn = self.pool.acquire().await?;
        let live = store::turn::live(&mut conn, workspace).await?;
        let held = setting::held_since(&mut conn, workspace).await?;
        drop(conn);
        for stored in live
            .iter()
            .filter(|stored| stored.turn.state == State::Granted)
        {
            let id = stored.turn.id;
            // Of a body too: it has not taken the turn, and could not any more.
            if held.contains_key(&stored.turn.instance) {
                self.withdraw_granted(workspace, id, BRAKE).await?;
                continue;
            }
            let Target::Graph { name, version } = &stored.target else {
                continue;
            };
            let Some(hypha) = &self.hypha else {
                self.refused(workspace, stored, "no hypha is set here")
                    .await?;
                continue;
            };
            let brief = self.brief(workspace, stored).await?;
            // Read again as late as can be: the calls before this one took their time.
            if !self.is_released(workspace, &stored.turn.instance).await? {
                self.withdraw_granted(workspace, id, BRAKE).await?;
                continue;
            }
            match hypha
                .start(workspace, stored, (name, *version), &brief)
                .await
            {
                Started::Run(run) => self.started(workspace, id, run).await?,
                Started::Refused(why) => self.refused(workspace, stored, &why).await?,
                Started::Unknown => {}
            }
        }
        Ok(())
    }

    async fn is_released(&self, workspace: &WorkspaceId, mind: &Instance) -> Result<bool, Error> {
        let mut conn = self.pool.acquire().await?;
        setting::brake_released(&mut conn, workspace, mind).await
    }

    async fn refused(
        &self,
        workspace: &WorkspaceId,
        stored: &Stored,
        why: &str,
    ) -> Result<(), Error> {
        tracing::warn!(turn = %stored.turn.id, mind = %stored.turn.instance, why, "a turn's graph is not started");
        self.withdraw_granted(workspace, stored.turn.id, why).await
    }
}

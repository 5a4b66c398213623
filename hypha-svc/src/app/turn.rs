//! What swarm asks of hypha for minds' turns, and what binds an agent that works under one.
//! Refuses every other service, and keeps no turn alive: it only says how far one has come.

use cambium_hypha::TurnId;
use cambium_kernel::{AgentId, WorkspaceId};
use cambium_proto::hypha::v1 as wire;
use cambium_service_kit::database::retry_conflicts;
use cambium_service_kit::principal::{Kind, Principal};

use super::App;
use crate::convert;
use crate::engine::launch::Parent;
use crate::engine::turn;
use crate::error::Error;
use crate::store;

const SWARM: &str = "swarm";
/// What a node requires whose work is done in a mind's own name.
const PERSONA: &str = "organ:persona";

/// Whether it is swarm that calls; no other service may.
pub(crate) fn is_swarm(principal: &Principal) -> Result<bool, Error> {
    match principal.kind {
        Kind::Service if principal.name == SWARM => Ok(true),
        Kind::Service => Err(Error::Denied("of the services swarm alone may do this")),
        Kind::Operator
        | Kind::Agent
        | Kind::Worker
        | Kind::Viewer
        | Kind::Mind
        | Kind::Scheduler
        | Kind::Meter => Ok(false),
    }
}

/// A checked wish to withdraw a turn.
#[derive(Clone, Debug)]
pub(crate) struct Withdrawal {
    pub(crate) workspace: WorkspaceId,
    pub(crate) turn: TurnId,
    pub(crate) grace_ms: i64,
    pub(crate) reason: String,
}

impl App {
    /// The attempt whose token this is, if it is one's. Whoever holds a lease under a turn starts nothing outside it.
    pub(crate) async fn parent(
        &self,
        principal: &Principal,
        workspace: &WorkspaceId,
    ) -> Result<Option<Parent>, Error> {
        if principal.kind != Kind::Agent {
            return Ok(None);
        }
        let parent = match &principal.lease {
            None => None,
            Some(lease) => {
                let named = convert::id::parse_task("lease", &lease.task_id)?;
                let (info, task) = self.task(workspace, named, &lease.task_id).await?;
                Some(Parent {
                    info,
                    task,
                    epoch: lease.epoch,
                })
            }
        };
        let is_under = |parent: &Parent| parent.info.turn.is_some();
        if !parent.as_ref().is_some_and(is_under) && self.is_bound(principal, workspace).await? {
            return Err(Error::LeaseToken);
        }
        Ok(parent)
    }

    async fn is_bound(
        &self,
        principal: &Principal,
        workspace: &WorkspaceId,
    ) -> Result<bool, Error> {
        let Ok(agent) = principal.name.parse::<AgentId>() else {
            return Ok(false);
        };
        let mut conn = self.pool.acquire().await?;
        Ok(store::turn::binds(&mut conn, workspace, agent).await?)
    }

    /// Withdraws a turn, and tells what goes on under it to stop. The turn itself is the receipt: a repeat is told how far that
    /// has come. In a task of its own: a caller that gives up must not leave it half done.
    pub(crate) async fn withdraw_turn(
        &self,
        wish: Withdrawal,
    ) -> Result<wire::CancelRunResponse, Error> {
        let app = self.clone();
        let withdrawn = tokio::spawn(async move {
            retry_conflicts(3, || app.spend(&wish)).await?;
            let only = Some((&wish.workspace, wish.turn));
            let stop = || turn::stop(&app.engine, &app.pool, only);
            while retry_conflicts(5, stop).await? {}
            app.withdrawn(&wish).await
        });
        withdrawn.await.map_err(|_| Error::Stopping)?
    }

    async fn spend(&self, wish: &Withdrawal) -> Result<(), Error> {
        let (workspace, grace) = (&wish.workspace, wish.grace_ms);
        let mut conn = self.pool.acquire().await?;
        store::turn::withdraw(&mut conn, workspace, wish.turn, grace, &wish.reason).await?;
        Ok(())
    }

    async fn withdrawn(&self, wish: &Withdrawal) -> Result<wire::CancelRunResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let standing = store::turn::standing(&mut conn, &wish.workspace, wish.turn).await?;
        let standing = standing.ok_or(Error::Contended)?;
        let state = standing.state.map(convert::run::state_to_wire);
        // Runs are forgotten before the turn is.
        let ran = standing.ran || state.is_some();
        Ok(wire::CancelRunResponse {
            state: state.unwrap_or_default().into(),
            ended: standing.is_over,
            // What never came cost nothing, and nobody measured that.
            cost_micro_usd: standing.bill.measured().filter(|_| ran),
            ran,
        })
    }

    pub(crate) async fn batch_get_runs(
        &self,
        workspace: &WorkspaceId,
        keys: &[String],
    ) -> Result<wire::BatchGetRunsResponse, Error> {
        let mut conn = self.pool.acquire().await?;
        let found = store::turn::progress(&mut conn, workspace, keys).await?;
        let runs = found.into_iter().map(convert::run::progress_to_wire);
        Ok(wire::BatchGetRunsResponse {
            runs: runs.collect(),
        })
    }

    /// What a worker holds under a turn. Only leases for agents that serve the mind count for its organ.
    pub(crate) async fn holds_lease(
        &self,
        workspace: &WorkspaceId,
        turn: TurnId,
        worker: &str,
    ) -> Result<wire::HoldsLeaseResponse, Error> {
        self.engine.listen().await?;
        let owner = format!("{}:{worker}", Kind::Worker);
        let mut conn = self.pool.acquire().await?;
        let held = store::turn::held_by(&mut conn, workspace, turn, &owner).await?;
        drop(conn);
        let mut reply = wire::HoldsLeaseResponse {
            holds: !held.is_empty(),
            ..wire::HoldsLeaseResponse::default()
        };
        for lease in held.iter().filter(|lease| lease.serves_mind) {
            let info = self.info(workspace, lease.task.run).await?;
            let node = &info.graph().nodes()[lease.task.n as usize];
            reply.serves_mind = true;
            reply.persona_organ |= convert::graph::requires(node)
                .iter()
                .any(|need| need == PERSONA);
        }
        Ok(reply)
    }
}

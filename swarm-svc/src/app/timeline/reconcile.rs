//! Live turns that may be over without anybody having said so: they are asked about, then settled, withdrawn or left
//! (design: swarm, section 7, `reconcile`). Silence of hypha proves nothing.

use std::collections::BTreeMap;

use cambium_kernel::WorkspaceId;
use cambium_swarm::TurnId;
use cambium_swarm::charge::{Outcome, Source};
use cambium_swarm::turn::{Body, Fate, Proof};
use chrono::{DateTime, Utc};

use super::held::hold;
use super::life::withdraw;
use super::settle::{Found, settle_held};
use crate::app::App;
use crate::error::Error;
use crate::store::{self, setting};

impl App {
    /// Looks at every live turn, each in a transaction of its own if something is to be done about it.
    pub(super) async fn reconcile(&self, workspace: &WorkspaceId) -> Result<(), Error> {
        let mut conn = self.pool.acquire().await?;
        let live = store::turn::live(&mut conn, workspace).await?;
        if live.is_empty() {
            return Ok(());
        }
        let held = setting::held_since(&mut conn, workspace).await?;
        let now = store::now(&mut conn).await?;
        drop(conn);
        let asked = live
            .iter()
            .filter(|stored| stored.turn.body == Body::Graph && stored.turn.is_due(now));
        let asked: Vec<TurnId> = asked.map(|stored| stored.turn.id).collect();
        let proofs = self.proofs(workspace, &asked).await;
        for stored in &live {
            let proof = proofs
                .get(&stored.turn.id)
                .copied()
                .unwrap_or(Proof::Silence);
            let held_at = held.get(&stored.turn.instance).copied();
            match stored.turn.reconciled(proof, held_at, now) {
                Fate::Stays { alive_until } if alive_until == stored.turn.alive_until => {}
                Fate::Stays { alive_until } => {
                    self.heard(workspace, stored.turn.id, alive_until).await?
                }
                Fate::Withdraw | Fate::Settle { .. } => {
                    self.give_up(workspace, stored.turn.id, proof).await?;
                }
            }
        }
        Ok(())
    }

    /// What hypha knows of these turns, in one call and a second at most. No answer is no evidence.
    async fn proofs(&self, workspace: &WorkspaceId, turns: &[TurnId]) -> BTreeMap<TurnId, Proof> {
        let Some(hypha) = self.hypha.as_ref().filter(|_| !turns.is_empty()) else {
            return BTreeMap::new();
        };
        match hypha.states(workspace, turns).await {
            Ok(proofs) => proofs,
            Err(status) => {
                tracing::debug!(%status, "hypha did not say how the turns stand");
                BTreeMap::new()
            }
        }
    }

    async fn heard(
        &self,
        workspace: &WorkspaceId,
        turn: TurnId,
        alive_until: DateTime<Utc>,
    ) -> Result<(), Error> {
        let mut conn = self.pool.acquire().await?;
        store::turn::heard(&mut conn, workspace, turn, alive_until).await
    }

    /// Decides again under the locks: what was read before them may have changed.
    async fn give_up(
        &self,
        workspace: &WorkspaceId,
        id: TurnId,
        proof: Proof,
    ) -> Result<(), Error> {
        let mut tx = self.pool.begin().await?;
        let held = hold(&mut tx, workspace, Some(id)).await?;
        let Some(stored) = held
            .turn
            .clone()
            .filter(|stored| stored.turn.state.is_live())
        else {
            return Ok(());
        };
        let since = setting::held_since(&mut tx, workspace).await?;
        let held_at = since.get(&stored.turn.instance).copied();
        match stored.turn.reconciled(proof, held_at, held.now) {
            Fate::Stays { .. } => return Ok(()),
            Fate::Withdraw => withdraw(&mut tx, workspace, &held, stored, "silent").await?,
            Fate::Settle { cost, outcome } => {
                let source = match outcome {
                    Outcome::Ended => Source::Run,
                    _ => Source::Sweep,
                };
                let found = Found::ours(cost, source, outcome);
                settle_held(&mut tx, workspace, id, held, &found).await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }
}

//! Recording facts for callers that wait, and the numbers by which they count.

use cambium_immune::{Action, Policy};
use cambium_kernel::{Score, WorkspaceId};
use cambium_proto::immune::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::{database, receipt};
use tokio::sync::oneshot;

use super::fact::{Fact, Told};
use super::{ATTEMPTS, App};
use crate::convert;
use crate::error::Error;
use crate::store;

/// A fact whose caller waits.
#[derive(Debug)]
pub(crate) struct Pending {
    fact: Fact,
    reply: oneshot::Sender<Result<Told, Error>>,
}

impl App {
    /// Records a fact together with whatever others are recording.
    pub(crate) async fn record(&self, fact: Fact) -> Result<(Action, Score), Error> {
        let agent = fact.key.agent;
        let (reply, answer) = oneshot::channel();
        self.records.submit(Pending { fact, reply }).await?;
        let told = answer.await.map_err(|_| Error::Stopping)??;
        match told {
            Told::Recorded { action, score } => Ok((action, score)),
            Told::Unknown => Err(Error::NoAgent(agent.to_string())),
        }
    }

    /// Records them in one transaction, and answers each caller.
    pub(crate) async fn record_pending(&self, pending: Vec<Pending>) {
        let facts: Vec<Fact> = pending.iter().map(|one| one.fact.clone()).collect();
        match self.record_all(&facts).await {
            Ok(told) => {
                for (one, told) in pending.into_iter().zip(told) {
                    // A caller that has gone needs no answer.
                    let _ = one.reply.send(Ok(told));
                }
            }
            // One bad fact must not fail the others.
            Err(_) => {
                for one in pending {
                    let alone = self.record_all(std::slice::from_ref(&one.fact)).await;
                    let told = alone.map(|told| told.first().copied().unwrap_or(Told::Unknown));
                    let _ = one.reply.send(told);
                }
            }
        }
    }

    async fn record_all(&self, facts: &[Fact]) -> Result<Vec<Told>, Error> {
        let told = database::retry_conflicts(ATTEMPTS, async || {
            let mut tx = self.pool.begin().await?;
            let told = self.apply(&mut tx, facts).await?;
            tx.commit().await?;
            Ok::<_, Error>(told)
        })
        .await?;
        self.relay.notify();
        Ok(told)
    }

    pub(crate) async fn policy(&self, workspace: &WorkspaceId) -> Result<Policy, Error> {
        let mut conn = self.pool.acquire().await?;
        store::policy::of(&mut conn, workspace).await
    }

    /// Puts the next version, if `wish` replaces the present one.
    pub(crate) async fn put_policy(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        wish: &Policy,
    ) -> Result<wire::PutPolicyResponse, Error> {
        database::retry_conflicts(ATTEMPTS, || self.put_policy_once(call, workspace, wish)).await
    }

    async fn put_policy_once(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        wish: &Policy,
    ) -> Result<wire::PutPolicyResponse, Error> {
        let mut tx = self.pool.begin().await?;
        if let Some(reply) = receipt::find(&mut tx, store::SCHEMA, call, workspace).await? {
            return Ok(reply);
        }
        store::lock_workspaces(&mut tx, &[workspace.to_string()]).await?;
        let current = store::policy::of(&mut tx, workspace).await?.version;
        if wish.version != current {
            return Err(Error::VersionMoved {
                given: wish.version,
                current,
            });
        }
        let next = Policy {
            version: current + 1,
            ..wish.clone()
        };
        store::policy::insert(&mut tx, workspace, &next, &call.principal.subject()).await?;
        let reply = wire::PutPolicyResponse {
            policy: Some(convert::policy_to_wire(&next)),
        };
        receipt::insert(&mut tx, store::SCHEMA, call, workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }
}

//! The minds' body: takes each turn that it is granted, and has it metered at the next recorded cost. The last turn that is asked for is
//! charged with every brake held, so that it is the last.

use anyhow::{Context as _, bail};
use cambium_client::Connection;
use cambium_proto::swarm::v1::watch_grants_response::Item;
use cambium_proto::swarm::v1::{
    AckGrantRequest, Grant, RecordChargeRequest, TurnOutcome, WatchGrantsRequest,
};

use super::costs::Costs;
use super::setting::hold_all;
use super::{BODY, WORKSPACE};
use crate::ask::ask;
use crate::context::request_id;

/// Each with its own right: the operator steers, the body holds turns, and only the meter says what they cost.
pub(super) struct Body {
    pub(super) operator: Connection,
    pub(super) worker: Connection,
    pub(super) meter: Connection,
}

impl Body {
    /// Takes so many turns, and answers whose they were.
    pub(super) async fn take(&self, mut costs: Costs, turns: usize) -> anyhow::Result<Vec<String>> {
        let request = WatchGrantsRequest {
            workspace_id: WORKSPACE.to_owned(),
            body: BODY.to_owned(),
        };
        let stream = ask!(self.worker, timeline.watch_grants(request));
        let mut grants = stream.context("no grants are to be had")?;
        let mut order = Vec::with_capacity(turns);
        while let Some(reply) = grants.message().await? {
            let Some(Item::Grant(grant)) = reply.item else {
                continue;
            };
            self.acknowledge(&grant).await?;
            order.push(grant.instance.clone());
            if order.len() == turns {
                hold_all(&self.operator).await?;
            }
            let cost = costs.next(&grant.instance);
            self.charge(&grant, cost).await?;
            if order.len() == turns {
                return Ok(order);
            }
        }
        bail!("the stream of grants ended after {} turns", order.len())
    }

    async fn acknowledge(&self, grant: &Grant) -> anyhow::Result<()> {
        let request = AckGrantRequest {
            workspace_id: WORKSPACE.to_owned(),
            turn_id: grant.turn_id.clone(),
            epoch: grant.epoch,
            holder: BODY.to_owned(),
        };
        ask!(self.worker, timeline.ack_grant(request)).context("a turn could not be taken")?;
        Ok(())
    }

    async fn charge(&self, grant: &Grant, cost: i64) -> anyhow::Result<()> {
        let request = RecordChargeRequest {
            workspace_id: WORKSPACE.to_owned(),
            request_id: request_id(),
            turn_id: grant.turn_id.clone(),
            cost_micro_usd: Some(cost),
            outcome: TurnOutcome::Ended.into(),
            evidence: Vec::new(),
        };
        ask!(self.meter, timeline.record_charge(request)).context("a turn was not charged")?;
        Ok(())
    }
}

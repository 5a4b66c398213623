//! Facts from hypha, turned into swarm's own: what the runs of a turn cost, once all of them have ended.

use cambium_kernel::WorkspaceId;
use cambium_proto::signal::v1::signal::Payload;
use cambium_proto::signal::v1::{RunSettled, Signal};
use cambium_service_kit::inbox::Receptor;
use cambium_swarm::TurnId;
use cambium_swarm::charge::{Finding, Outcome, Source};
use serde_json::json;
use sqlx::PgConnection;

use crate::app::timeline::{Found, settle};
use crate::error::Error;

#[derive(Debug)]
pub(crate) struct Receptors;

impl Receptor for Receptors {
    type Error = Error;

    fn may_say(&self, sender: &str, signal: &Signal) -> bool {
        match &signal.payload {
            Some(Payload::RunSettled(_)) => sender == "hypha",
            Some(_) | None => true,
        }
    }

    async fn apply(&self, conn: &mut PgConnection, signals: &[Signal]) -> Result<(), Error> {
        for signal in signals {
            if let Some(Payload::RunSettled(told)) = &signal.payload {
                let workspace = WorkspaceId::parse(&signal.workspace_id)
                    .map_err(|why| Error::field("workspace_id", why.to_string()))?;
                run_settled(conn, &workspace, told).await?;
            }
        }
        Ok(())
    }
}

/// The first figure stands: a turn that was settled otherwise keeps that charge. One that a meter watches is the meter's, and one
/// that is not known here was launched by nobody.
async fn run_settled(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    told: &RunSettled,
) -> Result<(), Error> {
    let turn: TurnId = told
        .turn_id
        .parse()
        .map_err(|_| Error::field("run_settled.turn_id", "is not a UUID"))?;
    let known = crate::store::turn::find(conn, workspace, turn).await?;
    let Some(known) = known else {
        tracing::warn!(%turn, "hypha told of a turn that nobody launched");
        return Ok(());
    };
    if known.target.body_name().is_some() && known.turn.state.is_live() {
        return Ok(());
    }
    let found = Found {
        finding: Finding {
            // What a broken meter measured counts as unmeasured: the cap is charged.
            cost_micro_usd: told.cost_micro_usd.filter(|cost| credible(*cost, &known)),
            declared_micro_usd: Some(told.declared_micro_usd),
            source: Source::Run,
            outcome: Outcome::Ended,
        },
        by: "service:hypha".to_owned(),
        evidence: json!({"run_id": told.run_id, "outcome": told.outcome}),
    };
    // A turn that never ran and cost nothing stays as it is: it was withdrawn, and nothing started late.
    let is_nothing = told.cost_micro_usd == Some(0);
    if known.turn.state == cambium_swarm::turn::State::Withdrawn && is_nothing {
        return Ok(());
    }
    settle(conn, workspace, turn, &found).await?;
    Ok(())
}

fn credible(cost: i64, known: &crate::store::turn::Stored) -> bool {
    cambium_swarm::charge::credible(cost, known.turn.cap).is_ok()
}

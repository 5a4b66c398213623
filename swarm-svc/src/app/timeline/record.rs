//! A meter's charge. What the turn started is ended first, and its cost added (design: swarm, section 7).

use cambium_kernel::{Usd, WorkspaceId};
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::call::Call;
use cambium_service_kit::receipt;
use cambium_swarm::TurnId;
use cambium_swarm::authority::{self, Action, Facts};
use cambium_swarm::charge::{Finding, Outcome, Source};
use serde_json::Value;

use super::settle::{Found, settle};
use crate::app::App;
use crate::convert::{self, timeline as wired};
use crate::error::Error;
use crate::peers::Closed;
use crate::store::{self, SCHEMA};

/// What a meter says.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    turn: TurnId,
    cost_micro_usd: Option<i64>,
    outcome: Outcome,
    evidence: Value,
}

impl Record {
    pub(crate) fn from_wire(request: &wire::RecordChargeRequest) -> Result<Self, Error> {
        let evidence = match request.evidence.as_slice() {
            [] => Value::Null,
            bytes => {
                serde_json::from_slice(bytes).map_err(|_| Error::field("evidence", "is no JSON"))?
            }
        };
        Ok(Self {
            turn: convert::id("turn_id", &request.turn_id)?,
            cost_micro_usd: request.cost_micro_usd,
            outcome: wired::outcome_from_wire(request.outcome)?,
            evidence,
        })
    }
}

impl App {
    pub(crate) async fn record_charge(
        &self,
        call: &Call,
        workspace: &WorkspaceId,
        record: &Record,
    ) -> Result<wire::RecordChargeResponse, Error> {
        let actor = convert::actor(&call.principal)?;
        authority::decide(&actor, Action::RecordCharge, &Facts::default())?;
        let mut conn = self.pool.acquire().await?;
        if let Some(reply) = receipt::find(&mut conn, SCHEMA, call, workspace).await? {
            return Ok(reply);
        }
        let found = self.found(&mut conn, call, workspace, record).await?;
        drop(conn);
        let mut tx = self.pool.begin().await?;
        let (settled, already) = settle(&mut tx, workspace, record.turn, &found).await?;
        let reply = wire::RecordChargeResponse {
            charge: Some(wired::charge_to_wire(&record.turn.to_string(), &settled)),
            already,
        };
        receipt::insert(&mut tx, SCHEMA, call, workspace, &reply).await?;
        tx.commit().await?;
        Ok(reply)
    }

    /// The meter's figure, with what the turn's own runs cost beside it.
    async fn found(
        &self,
        conn: &mut sqlx::PgConnection,
        call: &Call,
        workspace: &WorkspaceId,
        record: &Record,
    ) -> Result<Found, Error> {
        let stored = store::turn::find(conn, workspace, record.turn).await?;
        let is_live = stored.is_some_and(|stored| stored.turn.state.is_live());
        // None: of what ran beside, some was not measured, and so the whole is not.
        let beside = match (&self.hypha, is_live) {
            (Some(hypha), true) => {
                match hypha
                    .cancel(workspace, record.turn, "its body has ended")
                    .await
                {
                    Closed::Nothing => Some(0),
                    Closed::Ended(cost) => cost.map(Usd::as_micros),
                    Closed::Open => return Err(Error::RunsNotEnded),
                }
            }
            _ => Some(0),
        };
        Ok(Found {
            finding: Finding {
                cost_micro_usd: record
                    .cost_micro_usd
                    .and_then(|cost| Some(cost.saturating_add(beside?))),
                declared_micro_usd: None,
                source: Source::Meter,
                outcome: record.outcome,
            },
            by: call.principal.subject(),
            evidence: record.evidence.clone(),
        })
    }
}

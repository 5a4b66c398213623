//! A turn as it stands in its row.

use cambium_kernel::Usd;
use cambium_swarm::TurnId;
use cambium_swarm::charge::Outcome;
use cambium_swarm::dial::Reserve;
use cambium_swarm::share::{EffectiveShare, Factor};
use cambium_swarm::target::Target;
use cambium_swarm::turn::Turn;
use chrono::{DateTime, Utc};
use serde_json::Value;
use uuid::Uuid;

use super::{Stored, instance, state};
use crate::error::Error;

pub(crate) struct Row {
    pub(super) turn_id: Uuid,
    pub(super) instance: String,
    pub(super) epoch: i64,
    pub(super) slot: i32,
    pub(super) state: String,
    pub(super) outcome: Option<String>,
    pub(super) cap: i64,
    pub(super) share_ppm: i64,
    pub(super) haste_ppm: i64,
    pub(super) floor: i64,
    pub(super) reserve: String,
    pub(super) target: Value,
    pub(super) external_holder: Option<String>,
    pub(super) run_id: Option<Uuid>,
    pub(super) launched_at: DateTime<Utc>,
    pub(super) alive_until: DateTime<Utc>,
    pub(super) deadline: DateTime<Utc>,
    pub(super) ended_at: Option<DateTime<Utc>>,
    pub(super) closing: bool,
    pub(super) persona_version: Option<i32>,
}

pub(super) fn all(rows: Vec<Row>) -> Result<Vec<Stored>, Error> {
    rows.into_iter().map(Stored::try_from).collect()
}

impl TryFrom<Row> for Stored {
    type Error = Error;

    fn try_from(row: Row) -> Result<Self, Error> {
        let broken = |why: &str| Error::broken(format!("turn {}", row.turn_id), why);
        let target = Target::from_value(&row.target).ok_or_else(|| broken("its target"))?;
        let outcome = row.outcome.as_deref().map(Outcome::parse);
        Ok(Self {
            turn: Turn {
                id: TurnId::from_uuid(row.turn_id),
                instance: instance(&row.instance)?,
                epoch: row.epoch,
                slot: u32::try_from(row.slot).map_err(|_| broken("its slot"))?,
                state: state(&row.state)?,
                body: target.kind(),
                holder: row.external_holder,
                cap: Usd::from_micros(row.cap),
                share: EffectiveShare::from_ppm(row.share_ppm)?,
                haste: Factor::from_ppm(row.haste_ppm)?,
                floor: Usd::from_micros(row.floor),
                launched_at: row.launched_at,
                alive_until: row.alive_until,
                deadline: row.deadline,
            },
            reserve: Reserve::parse(&row.reserve).ok_or_else(|| broken("its reserve"))?,
            outcome: match outcome {
                None => None,
                Some(known) => Some(known.ok_or_else(|| broken("its outcome"))?),
            },
            target,
            run_id: row.run_id,
            ended_at: row.ended_at,
            is_closing: row.closing,
            persona_version: row.persona_version,
        })
    }
}

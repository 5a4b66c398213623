//! Standings and their ledgers.

use cambium_immune::{Badge, Band, Marks, ScoreKind};
use cambium_kernel::check_name;
use cambium_proto::immune::v1 as wire;

use super::{agent_from_wire, time_to_wire};
use crate::app::{Shown, Which};
use crate::error::Error;
use crate::store::ledger::Step;
use crate::store::standing::{Filter, Sort};

pub(crate) fn which_from_wire(agent_id: &str, name: &str) -> Result<Which, Error> {
    match (agent_id, name) {
        ("", "") => Err(Error::field("agent_id", "is missing, and so is `name`")),
        (id, "") => Ok(Which::Id(agent_from_wire("agent_id", id)?)),
        ("", name) => {
            check_name(name).map_err(|why| Error::field("name", why.to_string()))?;
            Ok(Which::Name(name.to_owned()))
        }
        (_, _) => Err(Error::field("name", "is given beside `agent_id`: give one")),
    }
}

pub(crate) fn sort_from_wire(sort: i32) -> Result<Sort, Error> {
    match wire::ScoreKind::try_from(sort) {
        Ok(wire::ScoreKind::Trust) => Ok(Sort::Trust),
        Ok(wire::ScoreKind::Unspecified | wire::ScoreKind::Generosity) => Ok(Sort::Generosity),
        Ok(wire::ScoreKind::Health) => Ok(Sort::Health),
        Err(_) => Err(Error::field("sort", "is no score")),
    }
}

pub(crate) fn filter_from_wire(badge: i32) -> Result<Filter, Error> {
    match wire::Badge::try_from(badge) {
        Ok(wire::Badge::Unspecified) => Ok(Filter::All),
        Ok(wire::Badge::Hoarding) => Ok(Filter::Hoarding),
        Ok(wire::Badge::Overextended) => Ok(Filter::Overextended),
        Ok(wire::Badge::Quarantined) => Ok(Filter::Quarantined),
        Ok(wire::Badge::New) => Ok(Filter::New),
        Err(_) => Err(Error::field("badge", "is no badge")),
    }
}

/// Which of trust, generosity and health are asked for.
pub(crate) fn scores_from_wire(score: i32) -> Result<[bool; 3], Error> {
    match wire::ScoreKind::try_from(score) {
        Ok(wire::ScoreKind::Unspecified) => Ok([true, true, true]),
        Ok(wire::ScoreKind::Trust) => Ok([true, false, false]),
        Ok(wire::ScoreKind::Generosity) => Ok([false, true, false]),
        Ok(wire::ScoreKind::Health) => Ok([false, false, true]),
        Err(_) => Err(Error::field("score", "is no score")),
    }
}

pub(crate) fn standing_to_wire(shown: &Shown) -> wire::Standing {
    let (account, standing) = (&shown.account, &shown.account.standing);
    let marks = Marks {
        generosity: standing.generosity.score,
        is_overextended: standing.is_overextended,
        is_quarantined: account.stay.is_some(),
        ledger_rows: standing.ledger_rows(),
    };
    let badges = marks.badges(&shown.policy).into_iter();
    wire::Standing {
        agent_id: shown.key.agent.to_string(),
        workspace_id: shown.key.workspace.to_string(),
        name: shown.name.clone(),
        trust: account.trust_at(shown.at).as_f64(),
        generosity: standing.generosity.score.as_f64(),
        health: standing.health.score.as_f64(),
        health_band: band_to_wire(Band::of(standing.health.score)).into(),
        badges: badges.map(|badge| badge_to_wire(badge).into()).collect(),
        quarantine_end_time: account.stay.map(|stay| time_to_wire(stay.until)),
        quarantine_reason: shown.quarantine_reason.clone(),
        closed: account.closed_at.is_some(),
        ledger_rows: standing.ledger_rows(),
        seq: account.seq,
        update_time: Some(time_to_wire(account.updated_at)),
    }
}

const fn band_to_wire(band: Band) -> wire::HealthBand {
    match band {
        Band::Healthy => wire::HealthBand::Healthy,
        Band::Stressed => wire::HealthBand::Stressed,
        Band::Critical => wire::HealthBand::Critical,
    }
}

const fn badge_to_wire(badge: Badge) -> wire::Badge {
    match badge {
        Badge::Hoarding => wire::Badge::Hoarding,
        Badge::Overextended => wire::Badge::Overextended,
        Badge::Quarantined => wire::Badge::Quarantined,
        Badge::New => wire::Badge::New,
    }
}

const fn kind_to_wire(kind: ScoreKind) -> wire::ScoreKind {
    match kind {
        ScoreKind::Trust => wire::ScoreKind::Trust,
        ScoreKind::Generosity => wire::ScoreKind::Generosity,
        ScoreKind::Health => wire::ScoreKind::Health,
    }
}

pub(crate) fn step_to_wire(step: &Step) -> wire::LedgerEntry {
    let entry = &step.entry;
    wire::LedgerEntry {
        seq: entry.seq,
        score: kind_to_wire(entry.kind).into(),
        event: entry.event.as_str().to_owned(),
        cause_id: step.cause.clone(),
        before: entry.before.as_f64(),
        delta: f64::from(entry.delta) / 1e6,
        after: entry.after.as_f64(),
        policy_version: entry.policy_version,
        reason: entry.reason.clone().unwrap_or_default(),
        counterpart_agent_id: step
            .counterpart
            .map(|agent| agent.to_string())
            .unwrap_or_default(),
        workflow_run_id: step.run.clone(),
        occur_time: Some(time_to_wire(step.occurred_at)),
        record_time: Some(time_to_wire(step.recorded_at)),
    }
}

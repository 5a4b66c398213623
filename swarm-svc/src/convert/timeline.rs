//! Turns, charges, grants, and the words of why there is none.

use cambium_proto::swarm::v1 as wire;
use cambium_swarm::Why;
use cambium_swarm::charge::{Outcome, Source};
use cambium_swarm::turn::State;
use cambium_swarm::wallet::{Limit, Period};
use chrono::{DateTime, Utc};

use super::mind::target_to_wire;
use super::time;
use crate::error::Error;
use crate::store::charge::Settled;
use crate::store::event::{Event, Kind};
use crate::store::grant::Grant;
use crate::store::turn::Stored;

pub(crate) fn turn_to_wire(stored: &Stored, charge: Option<&Settled>) -> wire::Turn {
    let turn = &stored.turn;
    wire::Turn {
        turn_id: turn.id.to_string(),
        instance: turn.instance.to_string(),
        epoch: turn.epoch,
        slot: i32::try_from(turn.slot).unwrap_or(i32::MAX),
        state: match turn.state {
            State::Granted => wire::TurnState::Granted,
            State::Running => wire::TurnState::Running,
            State::Settled => wire::TurnState::Settled,
            State::Withdrawn => wire::TurnState::Withdrawn,
        }
        .into(),
        outcome: stored
            .outcome
            .map_or(0, |outcome| outcome_to_wire(outcome).into()),
        cap_micro_usd: turn.cap.as_micros(),
        share_ppm: turn.share.as_ppm(),
        haste_ppm: turn.haste.as_ppm(),
        floor_micro_usd: turn.floor.as_micros(),
        target: Some(target_to_wire(&stored.target)),
        holder: turn.holder.clone().unwrap_or_default(),
        run_id: stored
            .run_id
            .map_or_else(String::new, |run| run.to_string()),
        launch_time: Some(time(turn.launched_at)),
        alive_until: Some(time(turn.alive_until)),
        deadline: Some(time(turn.deadline)),
        end_time: stored.ended_at.map(time),
        charge: charge.map(|settled| charge_to_wire(&turn.id.to_string(), settled)),
    }
}

pub(crate) fn charge_to_wire(turn_id: &str, settled: &Settled) -> wire::Charge {
    let charge = &settled.charge;
    wire::Charge {
        turn_id: turn_id.to_owned(),
        cost_micro_usd: charge.cost.as_micros(),
        measured: charge.is_measured,
        declared_micro_usd: charge.declared.map(cambium_kernel::Usd::as_micros),
        vdelta: charge.vdelta,
        source: match charge.source {
            Source::Run => wire::ChargeSource::Run,
            Source::Meter => wire::ChargeSource::Meter,
            Source::Sweep => wire::ChargeSource::Sweep,
        }
        .into(),
        settle_time: Some(time(settled.at)),
        overrun: charge.is_overrun,
    }
}

const fn outcome_to_wire(outcome: Outcome) -> wire::TurnOutcome {
    match outcome {
        Outcome::Ended => wire::TurnOutcome::Ended,
        Outcome::Orphaned => wire::TurnOutcome::Orphaned,
        Outcome::Overdue => wire::TurnOutcome::Overdue,
        Outcome::LateStart => wire::TurnOutcome::LateStart,
    }
}

/// What a meter may say of an end. That something started late is hypha's to say.
pub(crate) fn outcome_from_wire(outcome: i32) -> Result<Outcome, Error> {
    match wire::TurnOutcome::try_from(outcome) {
        Ok(wire::TurnOutcome::Unspecified | wire::TurnOutcome::Ended) => Ok(Outcome::Ended),
        Ok(wire::TurnOutcome::Orphaned) => Ok(Outcome::Orphaned),
        Ok(wire::TurnOutcome::Overdue) => Ok(Outcome::Overdue),
        Ok(wire::TurnOutcome::LateStart) | Err(_) => {
            Err(Error::field("outcome", "is none that a meter sees"))
        }
    }
}

pub(crate) fn grant_to_wire(grant: &Grant) -> wire::TurnGrant {
    let candidates = grant.candidates.iter().map(|one| wire::Candidate {
        instance: one.instance.to_string(),
        vtime: one.vtime.as_units(),
        effective_ppm: one.share.as_ppm(),
    });
    let passed_over = grant
        .passed_over
        .iter()
        .map(|(mind, why)| wire::PassedOver {
            instance: mind.to_string(),
            why: why_to_wire(*why).into(),
        });
    wire::TurnGrant {
        bucket_micro_usd: grant.bucket.as_micros(),
        reserved_micro_usd: grant.reserved.as_micros(),
        k: i32::try_from(grant.k).unwrap_or(i32::MAX),
        live: i32::try_from(grant.live).unwrap_or(i32::MAX),
        candidates: candidates.collect(),
        passed_over: passed_over.collect(),
    }
}

/// The wallet with what its period has cost, where there is one.
pub(crate) fn wallet_to_wire(limit: &Limit, now: DateTime<Utc>) -> Option<wire::Wallet> {
    let Limit::Of(wallet, spending) = limit else {
        return None;
    };
    Some(wire::Wallet {
        limit_micro_usd: wallet.limit.as_micros(),
        period: match wallet.period {
            Period::Day => wire::Period::Day,
            Period::Week => wire::Period::Week,
            Period::Month => wire::Period::Month,
        }
        .into(),
        spent_micro_usd: spending.spent.as_micros(),
        held_micro_usd: spending.held.as_micros(),
        period_end: Some(time(wallet.period.end(now))),
        ..wire::Wallet::default()
    })
}

pub(crate) fn event_to_wire(event: Event) -> wire::TimelineEvent {
    wire::TimelineEvent {
        seq: event.seq,
        at: Some(time(event.at)),
        kind: match event.kind {
            Kind::Granted => wire::TimelineEventKind::Granted,
            Kind::Running => wire::TimelineEventKind::Running,
            Kind::Settled => wire::TimelineEventKind::Settled,
            Kind::Withdrawn => wire::TimelineEventKind::Withdrawn,
            Kind::Clamped => wire::TimelineEventKind::Clamped,
            Kind::Control => wire::TimelineEventKind::Control,
        }
        .into(),
        instance: event.instance,
        turn_id: event.turn.map_or_else(String::new, |turn| turn.to_string()),
        body: event.body.to_string().into_bytes(),
    }
}

pub(crate) const fn why_to_wire(why: Why) -> wire::Why {
    match why {
        Why::Retired => wire::Why::Retired,
        Why::Brake => wire::Why::Brake,
        Why::Share => wire::Why::Share,
        Why::Session => wire::Why::Session,
        Why::Rest => wire::Why::Rest,
        Why::Persona => wire::Why::Persona,
        Why::Retry => wire::Why::Retry,
        Why::Idle => wire::Why::Idle,
        Why::Live => wire::Why::Live,
        Why::Dial => wire::Why::Dial,
        Why::Preempt => wire::Why::Preempt,
        Why::Slots => wire::Why::Slots,
        Why::Bucket => wire::Why::Bucket,
        Why::Wallet => wire::Why::Wallet,
        Why::Behind => wire::Why::Behind,
        Why::Nobody => wire::Why::Nobody,
    }
}

/// For people: what stands in the way, and what would change it.
pub(crate) const fn sentence(why: Option<Why>) -> &'static str {
    match why {
        None => "Nothing stands in its way: it is first.",
        Some(Why::Retired) => "It is not open.",
        Some(Why::Brake) => "Its brake is held: release it.",
        Some(Why::Share) => "It has no share: set one.",
        Some(Why::Session) => "Its operator works with it.",
        Some(Why::Rest) => "It rests.",
        Some(Why::Persona) => "Its persona cannot be read: it is looked at again later.",
        Some(Why::Retry) => "Its last launch came to nothing: it waits before the next.",
        Some(Why::Idle) => "It has no reason to wake: give it work, or let it wake always.",
        Some(Why::Live) => "It has a turn.",
        Some(Why::Dial) => "No dial is set.",
        Some(Why::Preempt) => "An operator's session keeps all others waiting.",
        Some(Why::Slots) => "As many turns are alive as may be.",
        Some(Why::Bucket) => "The pace has not earned the next turn yet.",
        Some(Why::Wallet) => "The wallet's period has no room for another turn.",
        Some(Why::Behind) => "Others have used less for their share, and go first.",
        Some(Why::Nobody) => "No mind can go.",
    }
}

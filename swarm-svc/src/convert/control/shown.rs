//! What operators set, as it is shown.

use cambium_kernel::Usd;
use cambium_proto::swarm::v1 as wire;
use cambium_swarm::Instance;
use cambium_swarm::dial::{Dial, Reserve};
use cambium_swarm::share::{self, EffectiveShare};
use cambium_swarm::wallet::{Period, Spending, Wallet};
use cambium_swarm::warning::Warning;
use chrono::{DateTime, Utc};

use crate::convert::time;
use crate::store;
use crate::store::setting::Set;

/// A wallet with what its period has cost and holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held<'a> {
    pub(crate) set: &'a Set<Wallet>,
    pub(crate) spending: Spending,
    pub(crate) now: DateTime<Utc>,
}

/// A share with the haste that holds now. `effective` is what is left of it after loans.
pub(crate) fn share_to_wire(
    set: &store::share::Set,
    effective: EffectiveShare,
    now: DateTime<Utc>,
) -> wire::Share {
    let held = set.haste.filter(|haste| now < haste.until);
    wire::Share {
        instance: set.instance.to_string(),
        share_ppm: set.share.as_ppm(),
        effective_ppm: effective.as_ppm(),
        haste_ppm: share::haste(set.haste.as_ref(), now).as_ppm(),
        haste_until: held.map(|haste| time(haste.until)),
        set_at: Some(time(set.at)),
        set_by: set.by.clone(),
    }
}

pub(crate) fn dial_to_wire(set: &Set<Dial>) -> wire::Dial {
    let (dial, setting) = (&set.value, set.value.setting());
    wire::Dial {
        heat_ppm: setting.heat_ppm,
        base_rate_micro_usd_per_h: setting.base_rate_micro_usd_per_h,
        base_run_micro_usd: setting.base_run_micro_usd,
        k: setting.k,
        reserve: match setting.reserve {
            Reserve::Cap => wire::Reserve::Cap,
            Reserve::None => wire::Reserve::None,
        }
        .into(),
        burst_micro_usd: dial.burst().as_micros(),
        floor_micro_usd: dial.floor().as_micros(),
        turn_max_s: dial.turn_max().num_seconds(),
        pace_micro_usd_per_h: dial.pace().as_micros(),
        cap_micro_usd: dial.cap().as_micros(),
        fits: dial.fits().into(),
        set_at: Some(time(set.at)),
        set_by: set.by.clone(),
    }
}

pub(crate) fn wallet_to_wire(held: &Held<'_>) -> wire::Wallet {
    let wallet = &held.set.value;
    wire::Wallet {
        limit_micro_usd: wallet.limit.as_micros(),
        period: match wallet.period {
            Period::Day => wire::Period::Day,
            Period::Week => wire::Period::Week,
            Period::Month => wire::Period::Month,
        }
        .into(),
        spent_micro_usd: Usd::as_micros(held.spending.spent),
        held_micro_usd: Usd::as_micros(held.spending.held),
        period_end: Some(time(wallet.period.end(held.now))),
        set_at: Some(time(held.set.at)),
        set_by: held.set.by.clone(),
    }
}

pub(crate) fn brake_to_wire(set: store::brake::Set) -> wire::Brake {
    let (set_by, set_at) = set.by.unzip();
    wire::Brake {
        instance: set.instance.to_string(),
        released: set.is_released,
        reason: set.reason,
        set_at: set_at.map(time),
        set_by: set_by.unwrap_or_default(),
    }
}

pub(crate) fn session_to_wire(kept: &store::session::Kept) -> wire::Session {
    let session = &kept.session;
    wire::Session {
        session_id: session.id.to_string(),
        instance: session.instance.to_string(),
        preempt: session.is_preempting,
        opened_by: kept.opened_by.clone(),
        open_time: Some(time(session.opened_at)),
        until: Some(time(session.until)),
        close_time: session.closed_at.map(time),
    }
}

pub(crate) fn warnings_to_wire(warnings: impl IntoIterator<Item = Warning>) -> Vec<wire::Warning> {
    let warnings = warnings.into_iter().map(|warning| wire::Warning {
        reason: warning.reason().to_owned(),
        instance: warning.mind().map_or_else(String::new, Instance::to_string),
        text: warning.to_string(),
    });
    warnings.collect()
}

pub(crate) fn entry_to_wire(kept: &store::audit::Kept) -> wire::AuditEntry {
    wire::AuditEntry {
        seq: kept.seq,
        at: Some(time(kept.at)),
        actor: kept.actor.clone(),
        action: kept.action.clone(),
        instance: kept.instance.clone(),
        turn_id: kept
            .turn_id
            .map_or_else(String::new, |turn| turn.to_string()),
        allowed: kept.allowed,
        reason: kept.reason.clone(),
        body: kept.body.to_string().into_bytes(),
    }
}

//! What operators set: shares, haste, dial, wallet, brakes and sessions, with what they are to be told of it.
//! Lets nothing pass whose numbers are outside their bounds.

mod shown;

use cambium_kernel::WorkspaceId;
use cambium_proto::swarm::v1 as wire;
use cambium_service_kit::principal::Principal;
use cambium_swarm::dial::{Dial, Reserve, Setting};
use cambium_swarm::share::Share;
use cambium_swarm::wallet::{Period, Wallet};
use cambium_swarm::{Instance, SessionId, text};
use chrono::{DateTime, Utc};

use super::{id, time_from_wire, workspace};
use crate::error::Error;

pub(crate) use shown::{
    Held, brake_to_wire, dial_to_wire, entry_to_wire, session_to_wire, share_to_wire,
    wallet_to_wire, warnings_to_wire,
};

/// What is wished for one mind.
#[derive(Clone, Debug)]
pub(crate) struct OfMind<T> {
    pub(crate) workspace: WorkspaceId,
    pub(crate) instance: Instance,
    pub(crate) value: T,
}

/// What is wished for the whole swarm.
#[derive(Clone, Debug)]
pub(crate) struct OfSwarm<T> {
    pub(crate) workspace: WorkspaceId,
    pub(crate) value: T,
}

/// What is wished for a session.
#[derive(Clone, Debug)]
pub(crate) struct OfSession<T> {
    pub(crate) workspace: WorkspaceId,
    pub(crate) id: SessionId,
    pub(crate) value: T,
}

/// A factor, and until when; whether that lies ahead is known when it is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HasteWish {
    pub(crate) factor_ppm: i64,
    pub(crate) until: Option<DateTime<Utc>>,
}

/// Whom to hold, and why.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    /// None: every mind.
    pub(crate) instance: Option<Instance>,
    pub(crate) reason: String,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Operate {
    pub(crate) preempts: bool,
    pub(crate) ttl_s: Option<i64>,
}

fn of_mind<T>(caller: &Principal, place: (&str, &str), value: T) -> Result<OfMind<T>, Error> {
    Ok(OfMind {
        workspace: workspace(caller, place.0)?,
        instance: Instance::parse(place.1)?,
        value,
    })
}

fn of_session<T>(caller: &Principal, place: (&str, &str), value: T) -> Result<OfSession<T>, Error> {
    Ok(OfSession {
        workspace: workspace(caller, place.0)?,
        id: id("session_id", place.1)?,
        value,
    })
}

pub(crate) fn share_from_wire(
    caller: &Principal,
    request: &wire::SetShareRequest,
) -> Result<OfMind<Share>, Error> {
    let place = (request.workspace_id.as_str(), request.instance.as_str());
    of_mind(caller, place, Share::from_ppm(request.share_ppm)?)
}

/// None ends the haste.
pub(crate) fn haste_from_wire(
    caller: &Principal,
    request: &wire::SetHasteRequest,
) -> Result<OfMind<Option<HasteWish>>, Error> {
    let place = (request.workspace_id.as_str(), request.instance.as_str());
    let until = time_from_wire("until", request.until)?;
    let wish = match (request.haste_ppm, until) {
        (Some(factor_ppm), until) => Some(HasteWish { factor_ppm, until }),
        (None, None) => None,
        // Whoever forgot the factor did not mean to end the haste.
        (None, Some(_)) => return Err(Error::field("until", "ends nothing without a factor")),
    };
    of_mind(caller, place, wish)
}

pub(crate) fn removal_from_wire(
    caller: &Principal,
    request: &wire::RemoveShareRequest,
) -> Result<OfMind<()>, Error> {
    of_mind(caller, (&request.workspace_id, &request.instance), ())
}

pub(crate) fn dial_from_wire(
    caller: &Principal,
    request: &wire::SetDialRequest,
) -> Result<OfSwarm<Dial>, Error> {
    let reserve = match wire::Reserve::try_from(request.reserve) {
        Ok(wire::Reserve::Unspecified | wire::Reserve::Cap) => Reserve::Cap,
        Ok(wire::Reserve::None) => Reserve::None,
        Err(_) => return Err(unknown_word("reserve")),
    };
    let setting = Setting {
        heat_ppm: request.heat_ppm,
        base_rate_micro_usd_per_h: request.base_rate_micro_usd_per_h,
        base_run_micro_usd: request.base_run_micro_usd,
        k: request.k,
        reserve,
        burst_micro_usd: request.burst_micro_usd,
        floor_micro_usd: request.floor_micro_usd,
        turn_max_s: request.turn_max_s,
    };
    Ok(OfSwarm {
        workspace: workspace(caller, &request.workspace_id)?,
        value: Dial::new(setting)?,
    })
}

/// None takes the wallet away.
pub(crate) fn wallet_from_wire(
    caller: &Principal,
    request: &wire::SetWalletRequest,
) -> Result<OfSwarm<Option<Wallet>>, Error> {
    let period = match wire::Period::try_from(request.period) {
        Ok(wire::Period::Unspecified) => None,
        Ok(wire::Period::Day) => Some(Period::Day),
        Ok(wire::Period::Week) => Some(Period::Week),
        Ok(wire::Period::Month) => Some(Period::Month),
        Err(_) => return Err(unknown_word("period")),
    };
    let value = match (request.limit_micro_usd, period) {
        (Some(limit), Some(period)) => Some(Wallet::new(limit, period)?),
        (Some(_), None) => return Err(Error::field("period", "is missing")),
        (None, None) => None,
        // Whoever forgot the limit did not mean to lift it.
        (None, Some(_)) => {
            return Err(Error::field(
                "limit_micro_usd",
                "is missing: a period alone limits nothing",
            ));
        }
    };
    Ok(OfSwarm {
        workspace: workspace(caller, &request.workspace_id)?,
        value,
    })
}

pub(crate) fn hold_from_wire(
    caller: &Principal,
    request: wire::HoldBrakeRequest,
) -> Result<OfSwarm<Hold>, Error> {
    let instance = match request.instance.as_str() {
        "" => None,
        name => Some(Instance::parse(name)?),
    };
    // Stopping is always easy: it needs no reason.
    if !request.reason.is_empty() {
        line("reason", &request.reason)?;
    }
    Ok(OfSwarm {
        workspace: workspace(caller, &request.workspace_id)?,
        value: Hold {
            instance,
            reason: request.reason,
        },
    })
}

pub(crate) fn release_from_wire(
    caller: &Principal,
    request: &wire::ReleaseBrakeRequest,
) -> Result<OfMind<()>, Error> {
    of_mind(caller, (&request.workspace_id, &request.instance), ())
}

pub(crate) fn operate_from_wire(
    caller: &Principal,
    request: &wire::OperateMindRequest,
) -> Result<OfMind<Operate>, Error> {
    let wish = Operate {
        preempts: request.preempt,
        ttl_s: request.ttl_s,
    };
    of_mind(caller, (&request.workspace_id, &request.instance), wish)
}

/// With how many seconds it is to go on.
pub(crate) fn extension_from_wire(
    caller: &Principal,
    request: &wire::ExtendSessionRequest,
) -> Result<OfSession<i64>, Error> {
    let place = (request.workspace_id.as_str(), request.session_id.as_str());
    of_session(caller, place, request.ttl_s)
}

pub(crate) fn closing_from_wire(
    caller: &Principal,
    request: &wire::CloseSessionRequest,
) -> Result<OfSession<()>, Error> {
    of_session(caller, (&request.workspace_id, &request.session_id), ())
}

/// With the reason for it.
pub(crate) fn reset_from_wire(
    caller: &Principal,
    request: wire::ResetTimelineRequest,
) -> Result<OfSwarm<String>, Error> {
    line("reason", &request.reason)?;
    Ok(OfSwarm {
        workspace: workspace(caller, &request.workspace_id)?,
        value: request.reason,
    })
}

fn line(field: &str, given: &str) -> Result<(), Error> {
    let field = field.to_owned();
    text::line(given).map_err(|why| cambium_swarm::Error::Text { field, why }.into())
}

fn unknown_word(field: &'static str) -> Error {
    cambium_swarm::Error::UnknownWord { field }.into()
}

//! Turns from the wire: given by swarm, and by nobody else.

use cambium_hypha::turn::Turn;
use cambium_hypha::{Mind, TurnId};
use cambium_proto::hypha::v1 as wire;
use cambium_service_kit::principal::{Kind, Principal};

use crate::error::Error;

pub(crate) fn id(field: &'static str, text: &str) -> Result<TurnId, Error> {
    text.parse()
        .map_err(|_| Error::field(field, format!("`{text}` is not a UUID")))
}

/// The turn that a mind's token names: whatever the mind starts is under it. What an operator does with a mind in a session is no
/// turn's, and the operator's to start.
pub(crate) fn of_mind(principal: &Principal) -> Result<Option<Turn>, Error> {
    if principal.kind != Kind::Mind {
        return Ok(None);
    }
    let fence = principal.fence.as_ref();
    let turn = fence.and_then(|fence| fence.turn_id.as_deref()?.parse().ok());
    let mind = Mind::parse(&principal.name);
    let (Some(id), Some(mind)) = (turn, mind) else {
        return Err(Error::Denied("a mind starts runs in its turns only"));
    };
    Ok(Some(Turn {
        id,
        mind,
        is_root: false,
    }))
}

/// The turn that a run is to be started for, with its cap in micro-USD. Swarm starts runs for turns only, and it alone.
pub(crate) fn start(
    request: &wire::StartRunRequest,
    is_swarm: bool,
) -> Result<Option<(Turn, i64)>, Error> {
    match (is_swarm, request.turn_id.is_empty()) {
        (true, false) => of_swarm(request).map(Some),
        (true, true) => Err(Error::Denied("swarm starts runs for turns only")),
        (false, false) => Err(Error::Denied("swarm alone starts runs for turns")),
        (false, true) if !request.instance.is_empty() => {
            Err(Error::field("instance", "is given without a turn"))
        }
        (false, true) if request.cap_micro_usd != 0 => {
            Err(Error::field("cap_micro_usd", "is given without a turn"))
        }
        (false, true) => Ok(None),
    }
}

fn of_swarm(request: &wire::StartRunRequest) -> Result<(Turn, i64), Error> {
    if request.request_key != request.turn_id {
        return Err(Error::field("request_key", "is not the turn's id"));
    }
    let mind = Mind::parse(&request.instance)
        .ok_or_else(|| Error::field("instance", "is not `[a-z][a-z0-9-]{0,47}`"))?;
    if request.cap_micro_usd < 1 {
        return Err(Error::field("cap_micro_usd", "is below 1"));
    }
    let turn = Turn {
        id: id("turn_id", &request.turn_id)?,
        mind,
        is_root: true,
    };
    Ok((turn, request.cap_micro_usd))
}

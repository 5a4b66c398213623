//! Work, and where it is.

use cambium_proto::swarm::v1 as wire;
use cambium_swarm::work::State;

use super::record::ref_to_wire;
use super::time;
use crate::error::Error;
use crate::store::work::Item;

pub(crate) const fn state_to_wire(state: &State) -> wire::WorkState {
    match state {
        State::Unrouted => wire::WorkState::Unrouted,
        State::Held(_) => wire::WorkState::Held,
        State::Offered { .. } => wire::WorkState::Offered,
        State::Done => wire::WorkState::Done,
        State::Withdrawn => wire::WorkState::Withdrawn,
    }
}

/// As it is stored; none where it is left out.
pub(crate) fn state_from_wire(state: i32) -> Result<Option<&'static str>, Error> {
    Ok(Some(match wire::WorkState::try_from(state) {
        Ok(wire::WorkState::Unrouted) => "unrouted",
        Ok(wire::WorkState::Held) => "held",
        Ok(wire::WorkState::Offered) => "offered",
        Ok(wire::WorkState::Done) => "done",
        Ok(wire::WorkState::Withdrawn) => "withdrawn",
        Ok(wire::WorkState::Unspecified) => return Ok(None),
        Err(_) => {
            return Err(Error::field(
                "state",
                "is none of the states that there are",
            ));
        }
    }))
}

pub(crate) fn work_to_wire(item: &Item) -> wire::Work {
    let offered_to = match &item.work.state {
        State::Offered { to, .. } => to.to_string(),
        State::Unrouted | State::Held(_) | State::Done | State::Withdrawn => String::new(),
    };
    wire::Work {
        work_id: item.id.to_string(),
        title: item.title.clone(),
        body: item.body.clone(),
        refs: item.refs.iter().map(ref_to_wire).collect(),
        addressed: item.work.is_addressed,
        holder: item
            .work
            .holder()
            .map_or_else(String::new, |holder| holder.to_string()),
        state: state_to_wire(&item.work.state).into(),
        submitted_by: item.submitted_by.clone(),
        returned_by: item.returned_by.clone().unwrap_or_default(),
        done_ref: item.done_ref.clone().unwrap_or_default(),
        submit_time: Some(time(item.submitted_at)),
        offered_to,
    }
}

//! Minds and their targets.

use cambium_proto::swarm::v1 as wire;
use cambium_swarm::authority::Organ;
use cambium_swarm::member::{Agenda, Wakes};
use cambium_swarm::mind::Shown;
use cambium_swarm::target::Target;

use super::time;
use crate::error::Error;
use crate::store::mind::Mind;

/// A mind, as it stands.
pub(crate) struct Seen<'a> {
    pub(crate) workspace: &'a str,
    pub(crate) mind: &'a Mind,
    pub(crate) shown: Shown,
    pub(crate) agenda: &'a Agenda,
    pub(crate) is_lead: bool,
    pub(crate) share_ppm: i64,
}

pub(crate) fn mind_to_wire(seen: &Seen<'_>) -> wire::Mind {
    let (mind, agenda) = (seen.mind, seen.agenda);
    wire::Mind {
        workspace_id: seen.workspace.to_owned(),
        instance: mind.instance.to_string(),
        display_name: mind.display_name.clone(),
        mission: mind.mission.clone(),
        host: mind.host.clone().unwrap_or_default(),
        state: shown_to_wire(seen.shown).into(),
        target: mind.target.as_ref().map(target_to_wire),
        proposed_by: mind.proposed_by.clone(),
        open_time: mind.opened_at.map(time),
        close_time: mind.closed_at.map(time),
        moved_to: mind.moved_to.clone().unwrap_or_default(),
        wakes: match agenda.wakes {
            Wakes::Work => wire::Wakes::Work,
            Wakes::Always => wire::Wakes::Always,
        }
        .into(),
        wake_at: agenda.wake_at.map(time),
        rest_until: agenda.rest_until.map(time),
        retirement_asked_at: agenda.retirement_asked_at.map(time),
        is_lead: seen.is_lead,
        share_ppm: seen.share_ppm,
        reason: mind.reason.clone(),
    }
}

pub(crate) const fn shown_to_wire(shown: Shown) -> wire::MindState {
    match shown {
        Shown::Proposed => wire::MindState::Proposed,
        Shown::Declined => wire::MindState::Declined,
        Shown::Asleep => wire::MindState::Asleep,
        Shown::Awake => wire::MindState::Awake,
        Shown::Resting => wire::MindState::Resting,
        Shown::InSession => wire::MindState::InSession,
        Shown::Acting => wire::MindState::Acting,
        Shown::Retired => wire::MindState::Retired,
        Shown::Moved => wire::MindState::Moved,
    }
}

pub(crate) fn target_to_wire(target: &Target) -> wire::Target {
    let target = match target {
        Target::Graph { name, version } => wire::target::Target::Graph(wire::GraphTarget {
            name: name.clone(),
            version: version.unwrap_or(0),
        }),
        Target::Body { name, organs } => wire::target::Target::Body(wire::BodyTarget {
            name: name.clone(),
            organs: organs
                .iter()
                .map(|organ| organ_to_wire(*organ).into())
                .collect(),
        }),
    };
    wire::Target {
        target: Some(target),
    }
}

pub(crate) const fn organ_to_wire(organ: Organ) -> wire::Organ {
    match organ {
        Organ::Persona => wire::Organ::Persona,
        Organ::Own => wire::Organ::Self_,
    }
}

/// None where it is left out.
pub(crate) fn target_from_wire(target: Option<wire::Target>) -> Result<Option<Target>, Error> {
    let Some(target) = target else {
        return Ok(None);
    };
    match target.target {
        None => Err(Error::field("target", "names neither a graph nor a body")),
        Some(wire::target::Target::Graph(graph)) => {
            Ok(Some(Target::graph(&graph.name, graph.version)?))
        }
        Some(wire::target::Target::Body(body)) => {
            let organs: Result<Vec<Organ>, Error> = body.organs().map(organ_from_wire).collect();
            Ok(Some(Target::body(&body.name, &organs?)?))
        }
    }
}

fn organ_from_wire(organ: wire::Organ) -> Result<Organ, Error> {
    match organ {
        wire::Organ::Persona => Ok(Organ::Persona),
        wire::Organ::Self_ => Ok(Organ::Own),
        wire::Organ::Unspecified => Err(Error::field(
            "target.body.organs",
            "holds none that is known",
        )),
    }
}

/// None where it is left out.
pub(crate) fn wakes_from_wire(wakes: i32) -> Result<Option<Wakes>, Error> {
    match wire::Wakes::try_from(wakes) {
        Ok(wire::Wakes::Unspecified) => Ok(None),
        Ok(wire::Wakes::Work) => Ok(Some(Wakes::Work)),
        Ok(wire::Wakes::Always) => Ok(Some(Wakes::Always)),
        Err(_) => Err(Error::field("wakes", "is none of the words that it may be")),
    }
}

/// None where all are meant.
pub(crate) fn shown_from_wire(state: i32) -> Result<Option<Shown>, Error> {
    let state = wire::MindState::try_from(state)
        .map_err(|_| Error::field("state", "is none of the words that it may be"))?;
    Ok(match state {
        wire::MindState::Unspecified => None,
        wire::MindState::Proposed => Some(Shown::Proposed),
        wire::MindState::Declined => Some(Shown::Declined),
        wire::MindState::Asleep => Some(Shown::Asleep),
        wire::MindState::Awake => Some(Shown::Awake),
        wire::MindState::Resting => Some(Shown::Resting),
        wire::MindState::InSession => Some(Shown::InSession),
        wire::MindState::Acting => Some(Shown::Acting),
        wire::MindState::Retired => Some(Shown::Retired),
        wire::MindState::Moved => Some(Shown::Moved),
    })
}

//! Learnings, and the records that they come from.

use cambium_genesis::{LearningId, PatternKind};
use cambium_kernel::Score;
use cambium_proto::genesis::v1 as wire;

use super::time_to_wire;
use crate::error::Error;
use crate::store::compost::{Compost, Fared};
use crate::store::confirmation::Confirmation;
use crate::store::learning::{Learning, State};
use crate::store::pattern::{self, Kept};

pub(crate) fn learning_id(text: &str) -> Result<LearningId, Error> {
    text.parse()
        .map_err(|_| Error::field("learning_id", "is not a UUID"))
}

pub(crate) fn learning_to_wire(learning: &Learning) -> wire::Learning {
    let weighed = &learning.weighed;
    let kind = weighed.pattern.kind();
    wire::Learning {
        learning_id: weighed.id.to_string(),
        template: learning.template.to_string(),
        kind: kind_to_wire(kind).into(),
        pattern: weighed.pattern.to_string(),
        context: kind.context().to_owned(),
        source_agent_count: i32::try_from(weighed.voices).unwrap_or(i32::MAX),
        success_correlation: weighed.correlation().as_f64(),
        losses: i32::try_from(weighed.losses).unwrap_or(i32::MAX),
        first_observe_time: Some(time_to_wire(learning.first_at)),
        last_confirm_time: Some(time_to_wire(learning.confirmed_at)),
        state: state_to_wire(learning.state).into(),
        remove_time: learning.removed_at.map(time_to_wire),
        remove_reason: learning.remove_reason.clone(),
        removed_by: learning.removed_by.clone(),
        flagged: learning.is_flagged,
    }
}

const fn kind_to_wire(kind: PatternKind) -> wire::LearningKind {
    match kind {
        PatternKind::Failure => wire::LearningKind::Failure,
        PatternKind::Routing => wire::LearningKind::Routing,
    }
}

const fn state_to_wire(state: State) -> wire::LearningState {
    match state {
        State::Active => wire::LearningState::Active,
        State::Pruned => wire::LearningState::Pruned,
        State::RolledBack => wire::LearningState::RolledBack,
    }
}

/// A confirmation of this learning.
pub(crate) fn confirmation_to_wire(
    learning: &Learning,
    confirmation: &Confirmation,
) -> wire::Confirmation {
    let pattern = match confirmation.pattern.as_str() {
        own if own == learning.weighed.pattern.as_str() => String::new(),
        other => other.to_owned(),
    };
    wire::Confirmation {
        agent_id: confirmation.agent.to_string(),
        agent_name: confirmation.agent_name.clone(),
        root_agent_id: confirmation.root.to_string(),
        success_rate: confirmation.success.as_f64(),
        time: Some(time_to_wire(confirmation.at)),
        pattern,
        flagged: confirmation.is_flagged,
    }
}

pub(crate) fn fared_to_wire(fared: Fared) -> wire::Fared {
    let count = |number: i64| u64::try_from(number).unwrap_or_default();
    let most = count(fared.agents).saturating_mul(1_000_000);
    wire::Fared {
        agents: fared.agents,
        mean_success_rate: Score::ratio(count(fared.success_sum), most).as_f64(),
    }
}

/// A record and its patterns.
pub(crate) fn compost_to_wire(compost: &Compost, patterns: &[&Kept]) -> wire::Compost {
    let origin = compost.origin.as_ref();
    wire::Compost {
        agent_id: compost.agent.to_string(),
        agent_name: compost.agent_name.to_string(),
        template: origin.map_or_else(String::new, |origin| origin.template.to_string()),
        template_version: origin.map_or(0, |origin| origin.version),
        root_agent_id: compost.root.to_string(),
        success_rate: compost.success.as_f64(),
        tasks_succeeded: compost.evidence.succeeded,
        tasks_ended: compost.evidence.ended,
        enroll_time: Some(time_to_wire(compost.enrolled_at)),
        compost_time: Some(time_to_wire(compost.composted_at)),
        number: compost.number,
        patterns: patterns.iter().map(|kept| pattern_to_wire(kept)).collect(),
        match_version: compost.match_version,
        match_threshold: compost.match_threshold.as_f64(),
        incomplete: compost.is_incomplete,
    }
}

fn pattern_to_wire(kept: &Kept) -> wire::CompostPattern {
    let found = &kept.found;
    wire::CompostPattern {
        kind: kind_to_wire(found.pattern.kind()).into(),
        pattern: found.pattern.to_string(),
        evidence: found.is_evidence,
        times: i64::try_from(found.times).unwrap_or(i64::MAX),
        candidate: match kept.state {
            pattern::State::None => wire::CandidateState::None,
            pattern::State::Waiting => wire::CandidateState::Waiting,
            pattern::State::Promoted => wire::CandidateState::Promoted,
            pattern::State::Withdrawn => wire::CandidateState::Withdrawn,
        }
        .into(),
    }
}

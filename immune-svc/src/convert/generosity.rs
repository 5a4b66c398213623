//! Facts that callers record, and the numbers by which they count.

use cambium_immune::{Action, Policy};
use cambium_kernel::{Score, WorkspaceId};
use cambium_proto::immune::v1 as wire;
use cambium_service_kit::principal::{Kind, Principal};
use prost_types::Timestamp;

use super::{agent_from_wire, reason_from_wire, score_from_wire, text_from_wire, time_from_wire};
use crate::app::fact::{Fact, What};
use crate::error::Error;
use crate::store::Key;

/// What the three Record calls have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recorded<'a> {
    pub(crate) cause_id: &'a str,
    pub(crate) agent_id: &'a str,
    pub(crate) workflow_run_id: &'a str,
    pub(crate) occur_time: Option<&'a Timestamp>,
    pub(crate) reason: &'a str,
}

/// The fact that `recorder` may record, or an operator who says why.
pub(crate) fn fact_of(
    principal: &Principal,
    recorder: &str,
    workspace: WorkspaceId,
    recorded: Recorded<'_>,
    what: What,
) -> Result<Fact, Error> {
    let said = match principal.kind {
        Kind::Operator => {
            let reason = reason_from_wire("reason", recorded.reason)?;
            format!("{}: {reason}", principal.subject())
        }
        Kind::Service if principal.name == recorder => String::new(),
        Kind::Service
        | Kind::Agent
        | Kind::Worker
        | Kind::Viewer
        | Kind::Mind
        | Kind::Scheduler
        | Kind::Meter => {
            return Err(Error::NotYours(principal.name.clone()));
        }
    };
    let at = recorded
        .occur_time
        .map(|at| time_from_wire("occur_time", at));
    Ok(Fact {
        key: Key {
            workspace,
            agent: agent_from_wire("agent_id", recorded.agent_id)?,
        },
        what,
        cause: cause(recorded.cause_id)?,
        run: text_from_wire("workflow_run_id", recorded.workflow_run_id, 128)?,
        occurred_at: at.transpose()?,
        intensity: Score::ratio(1, 2),
        depth: 0,
        said,
        opens: false,
    })
}

fn cause(text: &str) -> Result<String, Error> {
    if text.is_empty() {
        return Err(Error::field("cause_id", "is missing: name the fact"));
    }
    if text.chars().any(char::is_control) {
        return Err(Error::field("cause_id", "holds a control character"));
    }
    text_from_wire("cause_id", text, 300)
}

pub(crate) const fn action_to_wire(action: Action) -> wire::GenerosityAction {
    match action {
        Action::None => wire::GenerosityAction::None,
        Action::HoardingDetected => wire::GenerosityAction::HoardingDetected,
        Action::OverextensionDetected => wire::GenerosityAction::OverextensionDetected,
    }
}

pub(crate) fn policy_from_wire(policy: Option<&wire::Policy>) -> Result<Policy, Error> {
    let policy = policy.ok_or_else(|| Error::field("policy", "is missing"))?;
    let score = |field: &str, score| score_from_wire(&format!("policy.{field}"), score);
    let cap = |field: &str, cap: i32| {
        u32::try_from(cap).map_err(|_| Error::field(format!("policy.{field}"), "is below 0"))
    };
    Ok(Policy {
        version: policy.version,
        contribution_bonus: score("contribution_bonus", policy.contribution_bonus)?,
        consumption_penalty: score("consumption_penalty", policy.consumption_penalty)?,
        knowledge_share_bonus: score("knowledge_share_bonus", policy.knowledge_share_bonus)?,
        hoarding_threshold: score("hoarding_threshold", policy.hoarding_threshold)?,
        overextension_check: policy.overextension_check,
        pair_daily_cap: cap("pair_daily_cap", policy.pair_daily_cap)?,
        share_daily_cap: cap("share_daily_cap", policy.share_daily_cap)?,
    })
}

pub(crate) fn policy_to_wire(policy: &Policy) -> wire::Policy {
    let cap = |cap: u32| i32::try_from(cap).unwrap_or(i32::MAX);
    wire::Policy {
        version: policy.version,
        contribution_bonus: policy.contribution_bonus.as_f64(),
        consumption_penalty: policy.consumption_penalty.as_f64(),
        knowledge_share_bonus: policy.knowledge_share_bonus.as_f64(),
        hoarding_threshold: policy.hoarding_threshold.as_f64(),
        overextension_check: policy.overextension_check,
        pair_daily_cap: cap(policy.pair_daily_cap),
        share_daily_cap: cap(policy.share_daily_cap),
    }
}

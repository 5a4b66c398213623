//! Signals that immune hears, as facts about agents. What is about no agent, or of a type it does not know, is none.

use cambium_immune::{Outcome, Settlement};
use cambium_kernel::{AgentId, WorkspaceId, check_name};
use cambium_proto::signal::v1 as wire;
use cambium_proto::signal::v1::signal::Payload;
use chrono::{DateTime, TimeDelta, Utc};

use super::{agent_from_wire, score_from_wire, text_from_wire, time_from_wire};
use crate::app::fact::{Fact, What};
use crate::error::Error;
use crate::store::Key;
use crate::store::agent::Agent;

/// The first word of markers that hold knowledge.
const KNOWLEDGE: &str = "knowledge.";
/// A task's id holds a run's and a node's.
const LONGEST_ID: usize = 300;
const MOST_CAPABILITIES: usize = 1_000;

/// What a signal says about an agent: whose, what, and the name of the fact.
struct Said {
    agent: AgentId,
    what: What,
    cause: String,
}

pub(crate) fn fact_from_wire(signal: &wire::Signal) -> Result<Option<Fact>, Error> {
    let at = signal
        .emit_time
        .as_ref()
        .map(|at| time_from_wire("emit_time", at));
    let at = at.transpose()?;
    let Some(said) = said(signal, at)? else {
        return Ok(None);
    };
    let workspace = WorkspaceId::parse(&signal.workspace_id)
        .map_err(|why| Error::field("workspace_id", why.to_string()))?;
    Ok(Some(Fact {
        key: Key {
            workspace,
            agent: said.agent,
        },
        what: said.what,
        cause: said.cause,
        run: text_from_wire("workflow_run_id", &signal.workflow_run_id, 128)?,
        occurred_at: at,
        intensity: score_from_wire("intensity", signal.intensity)?,
        depth: signal.causal_depth,
        said: String::new(),
        opens: true,
    }))
}

/// By type as well as payload: a type says who may say it.
fn said(signal: &wire::Signal, at: Option<DateTime<Utc>>) -> Result<Option<Said>, Error> {
    let Some(payload) = &signal.payload else {
        return Ok(None);
    };
    match (signal.r#type.as_str(), payload) {
        ("coord.gratitude", Payload::Gratitude(gratitude)) => thanked(gratitude),
        ("coord.dead_end", Payload::DeadEnd(dead_end)) => {
            let agent = agent_from_wire("dead_end.agent_id", &dead_end.agent_id)?;
            let run = id("dead_end.workflow_run_id", &dead_end.workflow_run_id)?;
            Ok(Some(Said {
                agent,
                what: What::Consumption,
                cause: format!("dead_end:{run}:{agent}"),
            }))
        }
        ("coord.task_settled", Payload::TaskSettled(settled)) => settlement(settled, at),
        ("coord.marker_placed", Payload::MarkerPlaced(placed)) => shared(placed),
        ("stress.rate_limited", Payload::RateLimited(limited)) => {
            let agent = agent_from_wire("rate_limited.agent_id", &limited.agent_id)?;
            Ok(Some(Said {
                agent,
                what: What::RateLimited,
                cause: format!("limited:{}", signal.signal_id),
            }))
        }
        ("coord.agent_spawned", Payload::AgentSpawned(spawned)) => born(spawned),
        ("coord.agent_retired", Payload::AgentRetired(retired)) => {
            let agent = agent_from_wire("agent_retired.agent_id", &retired.agent_id)?;
            let is_draining = retired.draining;
            Ok(Some(Said {
                agent,
                what: What::Retired { is_draining },
                cause: format!("retired:{agent}"),
            }))
        }
        _ => Ok(None),
    }
}

/// An output without an agent earns nobody anything.
fn thanked(gratitude: &wire::Gratitude) -> Result<Option<Said>, Error> {
    if gratitude.from_agent_id.is_empty() {
        return Ok(None);
    }
    let receiver = match gratitude.to_agent_id.as_str() {
        "" => None,
        id => Some(agent_from_wire("gratitude.to_agent_id", id)?),
    };
    let run = id("gratitude.workflow_run_id", &gratitude.workflow_run_id)?;
    let from = id("gratitude.from_task_id", &gratitude.from_task_id)?;
    let to = id("gratitude.to_task_id", &gratitude.to_task_id)?;
    Ok(Some(Said {
        agent: agent_from_wire("gratitude.from_agent_id", &gratitude.from_agent_id)?,
        what: What::Contribution { receiver },
        cause: format!("gratitude:{run}:{from}:{to}"),
    }))
}

/// Only knowledge, and only an agent's.
fn shared(placed: &wire::MarkerPlaced) -> Result<Option<Said>, Error> {
    if placed.agent_id.is_empty() || !placed.marker_type.starts_with(KNOWLEDGE) {
        return Ok(None);
    }
    let marker = id("marker_placed.marker_id", &placed.marker_id)?;
    Ok(Some(Said {
        agent: agent_from_wire("marker_placed.agent_id", &placed.agent_id)?,
        what: What::KnowledgeShare,
        cause: format!("marker:{marker}"),
    }))
}

fn settlement(
    settled: &wire::TaskSettled,
    at: Option<DateTime<Utc>>,
) -> Result<Option<Said>, Error> {
    let outcome = match settled.outcome() {
        wire::TaskOutcome::Succeeded => Some(Outcome::Succeeded),
        wire::TaskOutcome::Failed => Some(Outcome::Failed),
        wire::TaskOutcome::InvalidOutput => Some(Outcome::InvalidOutput),
        wire::TaskOutcome::LeaseLost => Some(Outcome::LeaseLost),
        wire::TaskOutcome::Stale => None,
        // Of a newer sender, or a slip: it says nothing that immune could weigh.
        wire::TaskOutcome::Unspecified => return Ok(None),
    };
    // A task that no agent did is nobody's evidence.
    if settled.agent_id.is_empty() {
        return Ok(None);
    }
    let agent = agent_from_wire("task_settled.agent_id", &settled.agent_id)?;
    let task = id("task_settled.task_id", &settled.task_id)?;
    let epoch = settled.epoch;
    let Some(outcome) = outcome else {
        return Ok(Some(Said {
            agent,
            what: What::Stale,
            cause: format!("stale:{task}:{epoch}"),
        }));
    };
    let duration = settled.duration.unwrap_or_default();
    let settlement = Settlement {
        outcome,
        // Without a time there is nothing to tell minutes by, but the outcome counts.
        ended_at: at.unwrap_or_default(),
        duration: TimeDelta::seconds(duration.seconds.clamp(0, 86_400))
            + TimeDelta::nanoseconds(duration.nanos.into()),
        slots: u32::try_from(settled.slots).unwrap_or(0),
        busy: u32::try_from(settled.busy).unwrap_or(0),
    };
    Ok(Some(Said {
        agent,
        what: What::Settled(settlement),
        cause: format!("settled:{task}:{epoch}"),
    }))
}

fn born(spawned: &wire::AgentSpawned) -> Result<Option<Said>, Error> {
    let agent = agent_from_wire("agent_spawned.agent_id", &spawned.agent_id)?;
    let name = |field: &str, text: &str| {
        check_name(text).map_err(|why| Error::field(field, why.to_string()))
    };
    name("agent_spawned.name", &spawned.name)?;
    if spawned.capabilities.len() > MOST_CAPABILITIES {
        return Err(Error::field("agent_spawned.capabilities", "are too many"));
    }
    for capability in &spawned.capabilities {
        name("agent_spawned.capabilities", capability)?;
    }
    Ok(Some(Said {
        agent,
        what: What::Spawned {
            agent: Agent {
                name: spawned.name.clone(),
                capabilities: spawned.capabilities.clone(),
            },
            is_external: spawned.template.is_empty(),
        },
        cause: format!("spawned:{agent}"),
    }))
}

fn id<'a>(field: &str, text: &'a str) -> Result<&'a str, Error> {
    if text.is_empty() {
        return Err(Error::field(field, "is empty"));
    }
    text_from_wire(field, text, LONGEST_ID)?;
    Ok(text)
}

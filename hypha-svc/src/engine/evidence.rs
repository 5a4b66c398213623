//! Evidence: how each attempt ended, as its agent's employer saw it (design: architecture, "Signals"). Judges nobody: what it
//! says of an agent is for immune, and what there is to learn from it for genesis.

use std::collections::BTreeMap;

use cambium_hypha::payload;
use cambium_kernel::{AgentId, SignalId};
use cambium_proto::signal::v1 as wire;
use chrono::{DateTime, TimeDelta, Utc};

use super::Engine;
use super::cache::RunInfo;
use super::edges::sources_of;
use super::op::Usage;
use super::plan::Plan;
use super::thank::signal;
use crate::convert;
use crate::store::engine::TaskKey;
use crate::store::standing::Drained;

pub(crate) const TASK_SETTLED: &str = "coord.task_settled";
pub(crate) const AGENT_DRAINED: &str = "coord.agent_drained";

/// Characters of a failure's detail that are passed on.
const DETAIL: usize = 200;

/// An attempt that ended in this transaction.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    pub(crate) task: TaskKey,
    pub(crate) epoch: i32,
    pub(crate) agent: AgentId,
    pub(crate) outcome: wire::TaskOutcome,
    pub(crate) code: String,
    pub(crate) detail: String,
    pub(crate) usage: Option<Usage>,
    pub(crate) leased_at: Option<DateTime<Utc>>,
    /// Packed nodes; none: all that the graph says.
    pub(crate) sources: Option<Vec<u8>>,
}

/// What a failure is evidence of.
pub(crate) fn outcome(code: &str) -> wire::TaskOutcome {
    if code == payload::INVALID {
        wire::TaskOutcome::InvalidOutput
    } else {
        wire::TaskOutcome::Failed
    }
}

/// How many attempts of each agent end in this transaction and are told, by agent.
pub(crate) fn counts(engine: &Engine, plan: &Plan) -> Vec<(AgentId, i64)> {
    let mut counts: BTreeMap<AgentId, i64> = BTreeMap::new();
    if engine.routes.receivers(AGENT_DRAINED).is_empty() {
        return Vec::new();
    }
    for one in &plan.evidence {
        *counts.entry(one.agent).or_default() += 1;
    }
    counts.into_iter().collect()
}

/// The signals of all that ended, for whoever hears them.
pub(crate) fn testify(engine: &Engine, plan: &mut Plan, at: DateTime<Utc>) -> Vec<wire::Signal> {
    let evidence = std::mem::take(&mut plan.evidence);
    if engine.routes.receivers(TASK_SETTLED).is_empty() {
        return Vec::new();
    }
    let told = evidence.into_iter().filter_map(|one| {
        let info = &plan.runs.get(&one.task.run)?.info;
        Some(settled(engine, info, one, at))
    });
    told.collect()
}

fn settled(engine: &Engine, info: &RunInfo, one: Evidence, at: DateTime<Utc>) -> wire::Signal {
    let graph = info.graph();
    let node = &graph.nodes()[one.task.n as usize];
    let sources = sources_of(info, one.task.n, one.sources.as_deref());
    let upstream = sources
        .iter()
        .map(|source| graph.nodes()[*source as usize].key.to_string());
    let (slots, busy) = engine.offers.roster(|roster| roster.load(one.agent));
    let took = one.leased_at.map_or(TimeDelta::zero(), |from| at - from);
    let payload = wire::TaskSettled {
        task_id: convert::id::task(graph, one.task),
        epoch: one.epoch,
        agent_id: one.agent.to_string(),
        outcome: one.outcome.into(),
        duration: Some(duration(took.max(TimeDelta::zero()))),
        failure_code: one.code,
        detail: one.detail.chars().take(DETAIL).collect(),
        cost_micro_usd: one.usage.map_or(0, |usage| usage.micro_usd),
        cost_measured: one.usage.is_some_and(|usage| usage.measured),
        slots: i32::try_from(slots).unwrap_or(i32::MAX),
        // Its own slot is free again here, and was taken when it ended.
        busy: i32::try_from(busy + 1).unwrap_or(i32::MAX),
        requires: convert::graph::requires(node),
        upstream: upstream.collect(),
    };
    let payload = wire::signal::Payload::TaskSettled(payload);
    signal(info, TASK_SETTLED, payload, Some(at))
}

/// Tells that a completion came under a lease that held no longer.
pub(crate) fn stale(
    info: &RunInfo,
    task: TaskKey,
    epoch: i32,
    agent: AgentId,
    at: DateTime<Utc>,
) -> wire::Signal {
    let payload = wire::TaskSettled {
        task_id: convert::id::task(info.graph(), task),
        epoch,
        agent_id: agent.to_string(),
        outcome: wire::TaskOutcome::Stale.into(),
        ..wire::TaskSettled::default()
    };
    let payload = wire::signal::Payload::TaskSettled(payload);
    signal(info, TASK_SETTLED, payload, Some(at))
}

/// Tells that a draining agent holds nothing any more.
pub(crate) fn drained(one: &Drained, at: DateTime<Utc>) -> wire::Signal {
    let payload = wire::AgentDrained {
        agent_id: one.agent.to_string(),
        settled_count: one.settled,
    };
    wire::Signal {
        signal_id: SignalId::generate().to_string(),
        r#type: AGENT_DRAINED.to_owned(),
        class: wire::SignalClass::Coordination.into(),
        intensity: 0.5,
        workspace_id: one.workspace.clone(),
        source: "hypha".to_owned(),
        emit_time: Some(convert::time_to_wire(at)),
        payload: Some(wire::signal::Payload::AgentDrained(payload)),
        ..wire::Signal::default()
    }
}

fn duration(took: TimeDelta) -> prost_types::Duration {
    prost_types::Duration {
        seconds: took.num_seconds(),
        nanos: took.subsec_nanos(),
    }
}

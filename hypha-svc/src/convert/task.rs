//! Tasks to the wire.

use std::collections::HashMap;

use cambium_proto::hypha::v1 as wire;

use super::{id, time_to_wire};
use crate::engine::cache::RunInfo;
use crate::engine::edges::sources_of;
use crate::engine::plan::hot;
use crate::store::engine::TaskKey;
use crate::store::hot::Seen;
use crate::store::task::End;

/// Members of the fan-outs of a run, by node.
pub(crate) type Members = HashMap<u32, u32>;

pub(crate) fn ended(info: &RunInfo, end: &End, members: &Members) -> wire::Task {
    wire::Task {
        task_id: id::task(info.graph(), end.task),
        key: id::node(info.graph(), end.task.n, end.task.i),
        state: end.state.into(),
        epoch: end.epoch,
        agent_id: end.agent.map(|agent| agent.to_string()).unwrap_or_default(),
        failures: end.failures.into(),
        lease_losses: end.losses.into(),
        code: end.code.clone().unwrap_or_default(),
        detail: end.detail.clone().unwrap_or_default(),
        end_time: Some(time_to_wire(end.at)),
        input_source_task_ids: sources(info, end, members),
        cost: end.cost.map(|(micro_usd, measured)| wire::Cost {
            micro_usd,
            measured,
        }),
    }
}

fn sources(info: &RunInfo, end: &End, members: &Members) -> Vec<String> {
    if end.state != 6 || end.epoch == 0 {
        return Vec::new();
    }
    let nodes = sources_of(info, end.task.n, end.sources.as_deref());
    let mut ids: Vec<String> = nodes
        .into_iter()
        .flat_map(|n| {
            let items = match members.get(&n) {
                Some(total) => 1..=*total,
                None => 0..=0,
            };
            items.map(move |i| TaskKey {
                run: end.task.run,
                n,
                i,
            })
        })
        .map(|task| id::task(info.graph(), task))
        .collect();
    ids.sort();
    ids
}

/// Of a task with a hot row in this state.
pub(crate) fn hot_state(state: i16) -> wire::TaskState {
    match state {
        hot::READY | hot::HELD => wire::TaskState::Ready,
        hot::LEASED => wire::TaskState::Running,
        hot::BACKING_OFF => wire::TaskState::BackingOff,
        hot::PARKED => wire::TaskState::Parked,
        _ => wire::TaskState::Waiting,
    }
}

pub(crate) fn open(info: &RunInfo, task: TaskKey, row: Option<&Seen>) -> wire::Task {
    wire::Task {
        task_id: id::task(info.graph(), task),
        key: id::node(info.graph(), task.n, task.i),
        state: row
            .map_or(wire::TaskState::Waiting, |row| hot_state(row.state))
            .into(),
        epoch: row.map_or(0, |row| row.epoch),
        agent_id: row
            .filter(|row| row.state == hot::LEASED)
            .and_then(|row| row.agent)
            .map(|agent| agent.to_string())
            .unwrap_or_default(),
        failures: row.map_or(0, |row| row.failures.into()),
        lease_losses: row.map_or(0, |row| row.losses.into()),
        ..wire::Task::default()
    }
}

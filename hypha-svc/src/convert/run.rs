//! Runs to the wire.

use cambium_hypha::gift::Metrics;
use cambium_kernel::RunId;
use cambium_proto::hypha::v1 as wire;

use super::graph::hex;
use super::time_to_wire;
use crate::store::run::Full;
use crate::store::turn::Progress;

pub(crate) fn state_to_wire(state: i16) -> wire::RunState {
    wire::RunState::try_from(i32::from(state)).unwrap_or(wire::RunState::Unspecified)
}

pub(crate) fn run_to_wire(run: &Full) -> wire::Run {
    let turn = run.turn.as_ref();
    wire::Run {
        run_id: run.run.to_string(),
        workspace_id: run.workspace.clone(),
        request_key: run.request_key.clone(),
        graph: Some(wire::GraphVersion {
            name: run.graph_name.clone(),
            version: count32(run.graph_version),
            hash: hex(&run.graph_hash),
            nodes: count32(run.graph_nodes),
            edges: count32(run.graph_edges),
        }),
        state: state_to_wire(run.state).into(),
        paused: run.paused,
        start_time: Some(time_to_wire(run.started_at)),
        end_time: run.ended_at.map(time_to_wire),
        tasks: Some(counts(run)),
        gift: gift(run),
        gratitude: run.gratitude.into(),
        dead_ends: run.dead_ends.unwrap_or(0).into(),
        cost: Some(wire::Cost {
            micro_usd: run.cost_micro_usd,
            measured: run.unmeasured == 0,
        }),
        seq: run.seq.into(),
        parent_run_id: named(run.parent.map(|task| task.run)),
        parent_task_id: String::new(),
        rerun_of_run_id: named(run.rerun_of),
        turn_id: turn.map_or_else(String::new, |turn| turn.id.to_string()),
        instance: turn.map_or_else(String::new, |turn| turn.mind.as_str().to_owned()),
    }
}

pub(crate) fn progress_to_wire(progress: Progress) -> wire::RunProgress {
    wire::RunProgress {
        request_key: progress.request_key,
        run_id: RunId::from_uuid(progress.run).to_string(),
        state: state_to_wire(progress.state).into(),
        turn_ended: progress.has_ended,
        cost_micro_usd: progress.cost_micro_usd,
    }
}

fn named(run: Option<RunId>) -> String {
    run.map(|run| run.to_string()).unwrap_or_default()
}

fn count32(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

fn counts(run: &Full) -> wire::TaskCounts {
    let ended = run.succeeded + run.failed + run.skipped + run.omitted + run.cancelled;
    wire::TaskCounts {
        total: run.total.into(),
        succeeded: run.succeeded.into(),
        failed: run.failed.into(),
        skipped: run.skipped.into(),
        omitted: run.omitted.into(),
        cancelled: run.cancelled.into(),
        open: (run.total - ended).into(),
        reused: run.reused.into(),
    }
}

fn gift(run: &Full) -> Option<wire::GiftMetrics> {
    let count = |value: Option<i32>| value.and_then(|value| u32::try_from(value).ok());
    let metrics = Metrics {
        chain_length: count(run.chain_length)?,
        chain_breadth: count(run.chain_breadth)?,
        total_handoffs: count(run.total_handoffs)?.into(),
        consumed_outputs: count(run.consumed_outputs)?.into(),
        total_outputs: count(run.total_outputs)?.into(),
    };
    Some(wire::GiftMetrics {
        chain_length: metrics.chain_length.into(),
        chain_breadth: metrics.chain_breadth.into(),
        total_handoffs: signed(metrics.total_handoffs),
        circulation_score: circulation(&metrics),
        consumed_outputs: signed(metrics.consumed_outputs),
        total_outputs: signed(metrics.total_outputs),
    })
}

/// The score as a double, from the exact counts that are stored.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn circulation(metrics: &Metrics) -> f64 {
    if metrics.total_outputs == 0 {
        0.0
    } else {
        metrics.consumed_outputs as f64 / metrics.total_outputs as f64
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

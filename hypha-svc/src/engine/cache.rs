//! What may be forgotten at any moment: parsed graphs, runs' fixed parts, fresh outputs, registrations.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use cambium_hypha::turn::Turn;
use cambium_hypha::{Graph, Mind};
use cambium_kernel::{AgentId, RegistrationId, RunId, WorkspaceId};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::registration::Registration;
use crate::store::engine::TaskKey;
use crate::store::graph::Version;

/// A graph as one workspace runs it.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) hash: Vec<u8>,
    pub(crate) graph: Graph,
    /// Whose turns it is run under so; none: nobody's.
    pub(crate) mind: Option<Mind>,
    /// The queue of each node.
    pub(crate) queues: Vec<i32>,
}

/// What never changes about a run.
#[derive(Debug)]
pub(crate) struct RunInfo {
    pub(crate) run: RunId,
    pub(crate) workspace: WorkspaceId,
    pub(crate) pinned: Arc<Pinned>,
    pub(crate) input: Bytes,
    /// Nodes taken over from the run that this one repeats, a bit each; empty: none.
    pub(crate) reused: Bytes,
    pub(crate) turn: Option<Turn>,
}

impl RunInfo {
    pub(crate) fn graph(&self) -> &Graph {
        &self.pinned.graph
    }

    /// Whether a node's end was taken over from another run.
    pub(crate) fn is_reused(&self, n: u32) -> bool {
        let byte = self.reused.get(n as usize / 8).copied().unwrap_or(0);
        byte & (1 << (n % 8)) != 0
    }
}

/// The bits that [`RunInfo::is_reused`] reads.
pub(crate) fn reused_bits(reused: impl IntoIterator<Item = bool>) -> Bytes {
    let mut bits = Vec::new();
    for (n, is_reused) in reused.into_iter().enumerate() {
        if n % 8 == 0 {
            bits.push(0);
        }
        if let Some(byte) = bits.last_mut() {
            *byte |= u8::from(is_reused) << (n % 8);
        }
    }
    Bytes::from(bits)
}

/// An output, and whose it is.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) agent: Option<AgentId>,
    pub(crate) bytes: Bytes,
}

#[derive(Clone, Debug)]
struct ByBytes;

impl Weighter<TaskKey, Output> for ByBytes {
    fn weight(&self, _: &TaskKey, output: &Output) -> u64 {
        output.bytes.len() as u64 + 64
    }
}

#[derive(Clone, Debug)]
struct ByInput;

impl Weighter<RunId, Arc<RunInfo>> for ByInput {
    fn weight(&self, _: &RunId, info: &Arc<RunInfo>) -> u64 {
        (info.input.len() + info.reused.len()) as u64 + 256
    }
}

/// A workspace, the hash of a graph, and whose turns it is run under.
type GraphKey = (WorkspaceId, Vec<u8>, Option<Mind>);

#[derive(Clone, Debug)]
struct BySize;

impl Weighter<GraphKey, Arc<Pinned>> for BySize {
    fn weight(&self, _: &GraphKey, pinned: &Arc<Pinned>) -> u64 {
        (pinned.graph.nodes().len() * 512 + pinned.graph.edges().len() * 64) as u64
    }
}

#[derive(Debug)]
pub(crate) struct Caches {
    /// Versions by workspace, name and number.
    pub(crate) versions: Cache<(WorkspaceId, String, u32), Version>,
    pub(crate) graphs: Graphs,
    pub(crate) runs: Runs,
    pub(crate) outputs: Outputs,
    pub(crate) registrations: Registrations,
    /// What agents inherited, for those that inherited anything or were asked for. It never changes.
    pub(crate) learnings: Cache<AgentId, Bytes>,
}

impl Caches {
    /// Deleted runs leave nothing behind here. Other replicas may remember them a while: whoever reads what is remembered
    /// asks the store whether the run is still there.
    pub(crate) fn forget(&self, runs: &[RunId]) {
        for run in runs {
            self.runs.0.remove(run);
        }
        self.outputs.0.retain(|task, _| !runs.contains(&task.run));
    }
}

#[derive(Debug)]
pub(crate) struct Graphs(Cache<GraphKey, Arc<Pinned>, BySize>);

impl Graphs {
    pub(crate) fn get(
        &self,
        workspace: &WorkspaceId,
        hash: &[u8],
        mind: Option<&Mind>,
    ) -> Option<Arc<Pinned>> {
        self.0
            .get(&(workspace.clone(), hash.to_vec(), mind.cloned()))
    }

    pub(crate) fn insert(&self, workspace: &WorkspaceId, pinned: Arc<Pinned>) {
        let key = (workspace.clone(), pinned.hash.clone(), pinned.mind.clone());
        self.0.insert(key, pinned);
    }
}

#[derive(Debug)]
pub(crate) struct Runs(Cache<RunId, Arc<RunInfo>, ByInput>);

impl Runs {
    pub(crate) fn get(&self, run: RunId) -> Option<Arc<RunInfo>> {
        self.0.get(&run)
    }

    pub(crate) fn insert(&self, info: Arc<RunInfo>) {
        self.0.insert(info.run, info);
    }
}

#[derive(Debug)]
pub(crate) struct Outputs(Cache<TaskKey, Output, ByBytes>);

impl Outputs {
    pub(crate) fn get(&self, task: TaskKey) -> Option<Output> {
        self.0.get(&task)
    }

    pub(crate) fn insert(&self, task: TaskKey, output: Output) {
        self.0.insert(task, output);
    }

    /// Does not replace what knows its agent.
    pub(crate) fn insert_if_absent(&self, task: TaskKey, output: Output) {
        if self.0.peek(&task).is_none() {
            self.0.insert(task, output);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Registrations(Cache<RegistrationId, Arc<Registration>>);

impl Registrations {
    pub(crate) fn get(&self, id: RegistrationId) -> Option<Arc<Registration>> {
        self.0.get(&id)
    }

    pub(crate) fn insert(&self, id: RegistrationId, registration: &Arc<Registration>) {
        self.0.insert(id, registration.clone());
    }

    /// Those that are known here and not known to be drained.
    pub(crate) fn active(&self) -> Vec<RegistrationId> {
        let known = self.0.iter();
        known
            .filter(|(_, registration)| !registration.draining.load(Ordering::Relaxed))
            .map(|(id, _)| id)
            .collect()
    }

    /// Newer incarnations have registered: these get nothing more.
    pub(crate) fn note_draining(&self, ids: &[RegistrationId]) {
        for id in ids {
            if let Some(registration) = self.0.get(id) {
                registration.draining.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl Default for Caches {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            versions: Cache::new(1024),
            graphs: Graphs(Cache::with_weighter(256, 64 * MIB, BySize)),
            runs: Runs(Cache::with_weighter(10_000, 8 * MIB, ByInput)),
            outputs: Outputs(Cache::with_weighter(20_000, 16 * MIB, ByBytes)),
            registrations: Registrations(Cache::new(4096)),
            learnings: Cache::new(4096),
        }
    }
}

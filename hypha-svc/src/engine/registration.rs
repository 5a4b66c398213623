//! Announced incarnations of workers, and what each could do. Chooses nobody.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};

use cambium_hypha::turn::serves;
use cambium_kernel::{AgentId, Capability, Score, WorkspaceId};

use crate::store::queue::Queue;

/// An agent as one worker offers it.
#[derive(Clone, Debug)]
pub(crate) struct Offered {
    pub(crate) id: AgentId,
    pub(crate) has: BTreeSet<String>,
    pub(crate) serves_minds: Vec<String>,
}

impl Offered {
    fn is_able(&self, queue: &Queue) -> bool {
        let has = |need| self.has.contains(need);
        queue.requires.iter().all(has) && serves(&self.serves_minds, &queue.mind)
    }
}

/// An announced incarnation, with what its agents can do.
#[derive(Debug)]
pub(crate) struct Registration {
    pub(crate) reg: i32,
    pub(crate) workspace: WorkspaceId,
    pub(crate) owner: String,
    pub(crate) slots: u32,
    pub(crate) agents: Vec<Offered>,
    pub(crate) draining: AtomicBool,
    /// Able agents by queue, as far as asked.
    able: RwLock<HashMap<i32, Arc<[AgentId]>>>,
}

impl Registration {
    pub(crate) fn new(
        reg: i32,
        workspace: WorkspaceId,
        owner: String,
        slots: u32,
        agents: Vec<Offered>,
        draining: bool,
    ) -> Self {
        Self {
            reg,
            workspace,
            owner,
            slots,
            agents,
            draining: AtomicBool::new(draining),
            able: RwLock::default(),
        }
    }

    /// The agents that can do the work of a queue, whatever else speaks against them now.
    pub(super) fn able(&self, queue: &Queue) -> Arc<[AgentId]> {
        if let Some(known) = self
            .able
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&queue.queue)
        {
            return known.clone();
        }
        let agents: Arc<[AgentId]> = if queue.workspace == self.workspace.as_str() {
            let able = self.agents.iter().filter(|agent| agent.is_able(queue));
            able.map(|agent| agent.id).collect()
        } else {
            Arc::from([])
        };
        self.able
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(queue.queue, agents.clone());
        agents
    }

    /// The share of what a node prefers that one of its agents has; one if nothing is preferred.
    pub(super) fn preferred(&self, agent: AgentId, prefers: &[Capability]) -> Score {
        if prefers.is_empty() {
            return Score::ONE;
        }
        let offered = self.agents.iter().find(|one| one.id == agent);
        let met = offered.map_or(0, |offered| {
            let met = prefers
                .iter()
                .filter(|one| offered.has.contains(one.as_str()));
            met.count()
        });
        Score::ratio(met as u64, prefers.len() as u64)
    }
}

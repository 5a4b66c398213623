//! Gift chains: how far outputs travelled, and whose went nowhere. Measures what happened; scores nobody.

mod dead_end;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use cambium_kernel::{AgentId, Score};

use crate::EndState;

/// Names one task of a run: a node, or one member of its fan-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskRef {
    pub node: u32,
    /// The member's place in the list; 0 where there is no fan-out.
    pub item: u32,
}

impl TaskRef {
    /// The one task of a node without fan-out.
    #[must_use]
    pub const fn node(node: u32) -> Self {
        Self { node, item: 0 }
    }
}

/// What became of one task. A fan-out has one of these for each member, and none for the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    pub id: TaskRef,
    pub state: EndState,
    /// Whose attempt ended it.
    pub agent: Option<AgentId>,
    /// Upstream tasks whose output fed it.
    pub sources: Vec<TaskRef>,
    /// Agents to which an attempt with at least one data input was leased, whatever came of it.
    pub consumed_by: Vec<AgentId>,
}

/// That one task's output fed another that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handoff {
    pub from: TaskRef,
    pub to: TaskRef,
}

/// How far the outputs of a run travelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Longest path of handoffs.
    pub chain_length: u32,
    /// Most consumers of one output.
    pub chain_breadth: u32,
    pub total_handoffs: u64,
    pub consumed_outputs: u64,
    pub total_outputs: u64,
}

impl Metrics {
    /// Outputs consumed over outputs produced; 0 when none was produced.
    #[must_use]
    pub fn circulation_score(&self) -> Score {
        Score::ratio(self.consumed_outputs, self.total_outputs)
    }
}

/// The realised lineage of a run, finished or not.
#[derive(Debug)]
pub struct Lineage<'a> {
    executions: &'a [Execution],
    /// Where each execution's producers start in `producers`; one more for the end.
    starts: Vec<usize>,
    /// Places of executions, consumer by consumer.
    producers: Vec<u32>,
}

impl<'a> Lineage<'a> {
    /// Keeps the pairs whose producer and consumer both succeeded, each once.
    #[must_use]
    pub fn of(executions: &'a [Execution]) -> Self {
        let index = Index::of(executions);
        let mut starts = Vec::with_capacity(executions.len() + 1);
        let mut producers = Vec::new();
        let mut own = Vec::new();
        for consumer in executions {
            starts.push(producers.len());
            if is_output(consumer) {
                own.extend(
                    consumer
                        .sources
                        .iter()
                        .filter_map(|source| index.find(source)),
                );
                own.sort_unstable();
                own.dedup();
                producers.append(&mut own);
            }
        }
        starts.push(producers.len());
        Self {
            executions,
            starts,
            producers,
        }
    }

    /// The handoffs, consumer by consumer.
    #[must_use]
    pub fn compute_chain(&self) -> Vec<Handoff> {
        let consumers = self.executions.iter().enumerate();
        let handoffs = consumers.flat_map(|(at, consumer)| {
            let from = |&producer: &u32| self.executions[producer as usize].id;
            self.producers(at).iter().map(move |it| Handoff {
                from: from(it),
                to: consumer.id,
            })
        });
        handoffs.collect()
    }

    /// The measures, in time proportional to executions and handoffs.
    #[must_use]
    pub fn compute_metrics(&self) -> Metrics {
        let consumers = self.consumers();
        let outputs = self
            .executions
            .iter()
            .filter(|execution| is_output(execution))
            .count();
        Metrics {
            chain_length: self.longest_path(&consumers),
            chain_breadth: consumers.iter().copied().max().unwrap_or(0),
            total_handoffs: self.producers.len() as u64,
            consumed_outputs: consumers.iter().filter(|&&count| count > 0).count() as u64,
            total_outputs: outputs as u64,
        }
    }

    fn producers(&self, consumer: usize) -> &[u32] {
        &self.producers[self.starts[consumer]..self.starts[consumer + 1]]
    }

    /// How many consumers each execution's output had.
    fn consumers(&self) -> Vec<u32> {
        let mut consumers = vec![0; self.executions.len()];
        for &producer in &self.producers {
            consumers[producer as usize] += 1;
        }
        consumers
    }

    /// Peels the lineage from its last consumers back, so that each producer is reached when all that took from it have
    /// been. Tasks that wait on one another cannot have run; a record that says so is never reached and has no length.
    // By hand rather than by petgraph's toposort, which costs ten times as much at a million handoffs.
    fn longest_path(&self, consumers: &[u32]) -> u32 {
        let mut open = consumers.to_vec();
        let mut length = vec![0_u32; consumers.len()];
        let mut ends: Vec<_> = (0..consumers.len())
            .filter(|&at| consumers[at] == 0)
            .collect();
        let mut longest = 0;
        while let Some(consumer) = ends.pop() {
            longest = longest.max(length[consumer]);
            let reached = length[consumer] + 1;
            for &producer in self.producers(consumer) {
                let producer = producer as usize;
                length[producer] = length[producer].max(reached);
                open[producer] -= 1;
                if open[producer] == 0 {
                    ends.push(producer);
                }
            }
        }
        longest
    }
}

fn is_output(execution: &Execution) -> bool {
    execution.state == EndState::Succeeded
}

fn succeeded(executions: &[Execution]) -> impl Iterator<Item = (usize, &Execution)> {
    executions
        .iter()
        .enumerate()
        .filter(|(_, execution)| is_output(execution))
}

/// Finds what was handed on, by task.
struct Index(HashMap<TaskRef, u32, BuildHasherDefault<Spread>>);

impl Index {
    fn of(executions: &[Execution]) -> Self {
        let outputs = (0..)
            .zip(executions)
            .filter(|(_, execution)| is_output(execution));
        Self(outputs.map(|(at, execution)| (execution.id, at)).collect())
    }

    fn find(&self, task: &TaskRef) -> Option<u32> {
        self.0.get(task).copied()
    }
}

/// A hash for two small numbers that nobody outside chooses: a run of a million handoffs looks up a million of them.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
}

#[cfg(test)]
mod tests;

//! Repeats part of an ended run: finds what is done again, says what is reused, and starts it.

use std::sync::Arc;

use cambium_hypha::EndState;
use cambium_hypha::rerun::{Ended, done_again};
use cambium_hypha::turn::Turn;
use cambium_kernel::{RunId, WorkspaceId};
use cambium_proto::hypha::v1 as wire;
use sha2::{Digest, Sha256};

use super::App;
use super::graph::pinned;
use crate::convert;
use crate::engine::cache::{RunInfo, reused_bits};
use crate::engine::edges::edge_outcomes;
use crate::engine::launch::{Launch, Parent, TakeOver, launch};
use crate::engine::losers::NOT_NEEDED;
use crate::engine::op::{EdgeOutcome, Start};
use crate::engine::plan::end_state;
use crate::error::Error;
use crate::store;
use crate::store::run::Full;

/// A checked wish to repeat part of a run.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) workspace: WorkspaceId,
    pub(crate) request_key: String,
    pub(crate) run: RunId,
    pub(crate) nodes: Vec<String>,
    pub(crate) dry_run: bool,
}

/// What of a run is kept.
struct Split {
    source: Full,
    info: Arc<RunInfo>,
    again: Vec<bool>,
    ends: Vec<(u32, EndState)>,
}

impl App {
    pub(crate) async fn rerun_from(
        &self,
        wish: &Wish,
        parent: Option<Parent>,
    ) -> Result<wire::RerunFromResponse, Error> {
        let split = self.split(wish).await?;
        let mut reply = reply(&split);
        if !wish.dry_run {
            let launching = self.to_launch(wish, &split, parent).await?;
            let started = launch(&self.engine, launching).await?;
            reply.run_id = started.run.to_string();
        }
        Ok(reply)
    }

    /// A rerun is under the turn of whoever starts it, whatever the run was under that it repeats.
    async fn to_launch(
        &self,
        wish: &Wish,
        split: &Split,
        parent: Option<Parent>,
    ) -> Result<Launch, Error> {
        let from = &split.info;
        let turn = parent.as_ref().and_then(|parent| parent.info.turn.as_ref());
        let turn = turn.map(Turn::of_child);
        let mind = turn.as_ref().map(|turn| &turn.mind);
        let mut conn = self.pool.acquire().await?;
        let (workspace, hash) = (&from.workspace, &from.pinned.hash);
        let info = RunInfo {
            run: RunId::generate(),
            workspace: workspace.clone(),
            pinned: pinned(&mut conn, &self.engine, workspace, hash, mind).await?,
            input: from.input.clone(),
            reused: reused_bits(split.again.iter().map(|again| !again)),
            turn,
        };
        Ok(Launch {
            start: Start {
                info: Arc::new(info),
                request_key: wish.request_key.clone(),
                body_hash: body_hash(wish),
                graph_name: split.source.graph_name.clone(),
                graph_version: split.source.graph_version,
                signals: Vec::new(),
            },
            parent,
            take_over: Some(TakeOver {
                from: from.clone(),
                ends: split.ends.clone(),
            }),
            cap: None,
        })
    }

    async fn split(&self, wish: &Wish) -> Result<Split, Error> {
        let info = self.info(&wish.workspace, wish.run).await?;
        let mut conn = self.pool.acquire().await?;
        let source = store::run::full(&mut conn, &wish.workspace, wish.run).await?;
        let source = source.ok_or(Error::NoRun(wish.run))?;
        if source.ended_at.is_none() {
            return Err(Error::RunNotEnded(wish.run));
        }
        let named = named(&info, &wish.nodes)?;
        let stored = store::task::node_ends(&mut conn, wish.run).await?;
        let mut states = vec![None; info.graph().nodes().len()];
        for (n, state, code) in stored {
            if let (Some(place), Some(state)) = (states.get_mut(n as usize), end_state(state)) {
                *place = Some(Ended {
                    state,
                    accepted: is_accepted(&info, n, state, code.as_deref()),
                });
            }
        }
        // An ended run has an end for every node; a missing one would be done again.
        let unknown = Ended {
            state: EndState::Cancelled,
            accepted: false,
        };
        let ends: Vec<Ended> = states
            .into_iter()
            .map(|end| end.unwrap_or(unknown))
            .collect();
        let again = done_again(info.graph(), &ends, &named);
        if !again.contains(&true) {
            return Err(Error::field(
                "nodes",
                "names none, and nothing failed or was cancelled",
            ));
        }
        let kept = (0..).zip(&ends).filter(|(n, _)| !again[*n as usize]);
        Ok(Split {
            source,
            ends: kept.map(|(n, end)| (n, end.state)).collect(),
            info,
            again,
        })
    }
}

fn named(info: &RunInfo, nodes: &[String]) -> Result<Vec<u32>, Error> {
    let graph = info.graph();
    let unknown: Vec<&str> = nodes
        .iter()
        .map(String::as_str)
        .filter(|key| graph.index_of(key).is_none())
        .take(20)
        .collect();
    if !unknown.is_empty() {
        let why = format!(
            "names nodes that the graph does not have: {}",
            unknown.join(", ")
        );
        return Err(Error::field("nodes", why));
    }
    Ok(nodes.iter().filter_map(|key| graph.index_of(key)).collect())
}

/// Whether a failure was handled, or a cancelled task the loser of a join.
fn is_accepted(info: &RunInfo, n: u32, state: EndState, code: Option<&str>) -> bool {
    match state {
        EndState::Failed => {
            let graph = info.graph();
            let outcomes = edge_outcomes(info, n, state, None);
            let mut edges = graph.outgoing(n).iter().zip(outcomes);
            edges.any(|(_, outcome)| outcome == EdgeOutcome::Fired)
        }
        EndState::Cancelled => code == Some(NOT_NEEDED),
        EndState::Succeeded | EndState::Skipped | EndState::Omitted => true,
    }
}

fn reply(split: &Split) -> wire::RerunFromResponse {
    let graph = split.info.graph();
    let keys = |again: bool| {
        let nodes = graph.nodes().iter().zip(&split.again);
        let wanted = nodes.filter(move |(_, is_again)| **is_again == again);
        wanted.map(|(node, _)| node.key.to_string()).collect()
    };
    wire::RerunFromResponse {
        run_id: String::new(),
        graph: convert::run::run_to_wire(&split.source).graph,
        reused: keys(false),
        rerun: keys(true),
    }
}

/// What a rerun is started with: the same key with anything else is another request.
fn body_hash(wish: &Wish) -> Vec<u8> {
    let mut nodes = wish.nodes.clone();
    nodes.sort_unstable();
    nodes.dedup();
    let mut hash = Sha256::new();
    hash.update(b"rerun");
    hash.update(wish.run.as_uuid().as_bytes());
    for node in nodes {
        hash.update((node.len() as u64).to_le_bytes());
        hash.update(node.as_bytes());
    }
    hash.finalize().to_vec()
}

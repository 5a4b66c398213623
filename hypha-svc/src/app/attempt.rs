//! From leased rows to attempts as workers get them: inputs, items, checkpoints.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use bytes::Bytes;
use cambium_kernel::{AgentId, RunId};
use cambium_proto::hypha::v1 as wire;
use prost::Message;
use sqlx::PgPool;

use crate::convert;
use crate::engine::Engine;
use crate::engine::cache::Output;
use crate::engine::edges::sources_of;
use crate::engine::grant::{Granted, Grants};
use crate::error::Error;
use crate::store;
use crate::store::engine::TaskKey;
use crate::store::park::Park;

/// Inputs that travel in one reply; what is over is fetched by `GetOutput`.
const INLINE: usize = 1 << 20;
/// What a reply holds in all, below the 4 MiB that clients of every language take by default.
const REPLY: usize = 7 << 19;

/// What a reply's attempts need beside their rows.
#[derive(Debug, Default)]
struct Loaded {
    outputs: HashMap<(RunId, u32), Bytes>,
    items: HashMap<TaskKey, Vec<u8>>,
    parks: HashMap<TaskKey, Park>,
    learnings: HashMap<AgentId, Bytes>,
}

/// Builds the attempts. If that fails they go back to the queue.
pub(crate) async fn build(
    pool: &PgPool,
    engine: &Engine,
    grants: Grants,
) -> Result<Vec<wire::Attempt>, Error> {
    if grants.as_slice().is_empty() {
        return Ok(Vec::new());
    }
    let loaded = load(pool, engine, grants.as_slice()).await?;
    let engine_lease = engine.settings.lease;
    let mut inline = INLINE;
    let mut left = REPLY;
    let mut attempts = Vec::new();
    let mut granted = grants.take().into_iter();
    while let Some(next) = granted.next() {
        let mut attempt = attempt(&next, &loaded, engine_lease);
        let size = attempt.encoded_len();
        if size > left && !attempts.is_empty() {
            // One reply has its limit: the rest goes back, and comes with the next poll.
            let rest = std::iter::once(next).chain(granted).collect();
            engine.give_back(rest);
            break;
        }
        left = left.saturating_sub(size);
        inline = inline.min(left);
        let before = inline;
        attempt.inputs = inputs(&next, &loaded, &mut inline);
        left = left.saturating_sub(before - inline);
        attempts.push(attempt);
    }
    Ok(attempts)
}

async fn load(pool: &PgPool, engine: &Engine, grants: &[Granted]) -> Result<Loaded, Error> {
    let mut loaded = Loaded::default();
    let mut missing: BTreeSet<(RunId, u32)> = BTreeSet::new();
    for granted in grants {
        for n in sources_of(&granted.info, granted.task.n, granted.sources.as_deref()) {
            let task = TaskKey {
                run: granted.task.run,
                n,
                i: 0,
            };
            match engine.caches.outputs.get(task) {
                Some(output) => {
                    loaded.outputs.insert((task.run, n), output.bytes);
                }
                None => {
                    missing.insert((task.run, n));
                }
            }
        }
    }
    let members: Vec<TaskKey> = grants
        .iter()
        .map(|granted| granted.task)
        .filter(|task| task.i > 0)
        .collect();
    let resumed: Vec<TaskKey> = grants
        .iter()
        .filter(|granted| granted.resumed)
        .map(|granted| granted.task)
        .collect();
    let strangers = known_learnings(engine, grants, &mut loaded);
    if missing.is_empty() && members.is_empty() && resumed.is_empty() && strangers.is_empty() {
        return Ok(loaded);
    }
    let mut conn = pool.acquire().await?;
    for agent in store::agent::find(&mut conn, &strangers).await? {
        let learnings = Bytes::from(agent.learnings);
        engine.caches.learnings.insert(agent.id, learnings.clone());
        loaded.learnings.insert(agent.id, learnings);
    }
    if !missing.is_empty() {
        let missing: Vec<_> = missing.into_iter().collect();
        let found = outputs(&mut conn, engine, &missing).await?;
        loaded.outputs.extend(found);
    }
    if !members.is_empty() {
        let items = store::tally::items(&mut conn, &members).await?;
        loaded.items.extend(items);
    }
    if !resumed.is_empty() {
        let parks = store::park::of(&mut conn, &resumed).await?;
        loaded
            .parks
            .extend(parks.into_iter().map(|park| (park.task, park)));
    }
    Ok(loaded)
}

/// What the agents inherited, as far as it is remembered. Answers those of whom it is not.
fn known_learnings(engine: &Engine, grants: &[Granted], loaded: &mut Loaded) -> Vec<AgentId> {
    let agents: BTreeSet<AgentId> = grants.iter().map(|granted| granted.agent).collect();
    let strangers = agents.into_iter().filter(|agent| {
        let known = engine.caches.learnings.get(agent);
        let is_stranger = known.is_none();
        if let Some(learnings) = known {
            loaded.learnings.insert(*agent, learnings);
        }
        is_stranger
    });
    strangers.collect()
}

/// Outputs of nodes from the store; a fan-out's is the list of its members' outputs.
pub(crate) async fn outputs(
    conn: &mut sqlx::PgConnection,
    engine: &Engine,
    nodes: &[(RunId, u32)],
) -> Result<HashMap<(RunId, u32), Bytes>, Error> {
    let mut by_node: HashMap<(RunId, u32), Vec<(u32, Bytes)>> = HashMap::new();
    for (task, output) in store::task::outputs(conn, nodes).await? {
        by_node
            .entry((task.run, task.n))
            .or_default()
            .push((task.i, output));
    }
    let mut outputs = HashMap::new();
    for ((run, n), found) in by_node {
        let is_single = found.len() == 1 && found[0].0 == 0;
        if let Some(bytes) = gather(found.into_iter()) {
            if is_single {
                let output = Output {
                    agent: None,
                    bytes: bytes.clone(),
                };
                let task = TaskKey { run, n, i: 0 };
                engine.caches.outputs.insert_if_absent(task, output);
            }
            outputs.insert((run, n), bytes);
        }
    }
    Ok(outputs)
}

/// One output of what a node's rows hold, in the order of members: its own, or the list of its members'.
pub(crate) fn gather(rows: impl Iterator<Item = (u32, Bytes)>) -> Option<Bytes> {
    let rows: Vec<(u32, Bytes)> = rows.collect();
    if rows.iter().any(|(member, _)| *member > 0) {
        let members = rows.iter().filter(|(member, _)| *member > 0);
        let list = convert::payload::list(members.map(|(_, output)| output.as_ref()));
        return Some(Bytes::from(list));
    }
    rows.into_iter().next().map(|(_, output)| output)
}

fn attempt(granted: &Granted, loaded: &Loaded, lease: Duration) -> wire::Attempt {
    let info = &granted.info;
    let node = &info.graph().nodes()[granted.task.n as usize];
    let lease_ms = u32::try_from(lease.as_millis()).unwrap_or(u32::MAX);
    let deadline = granted.at + lease;
    wire::Attempt {
        lease: Some(wire::Lease {
            task_id: convert::id::task(info.graph(), granted.task),
            lease_id: granted.lease.to_string(),
            epoch: granted.epoch,
        }),
        agent_id: granted.agent.to_string(),
        deadline: Some(convert::time_to_wire(deadline)),
        lease_ms,
        node: node.key.to_string(),
        instructions: node.instructions.clone(),
        config: Bytes::from(node.config.clone()),
        run_input: info.input.clone(),
        inputs: Vec::new(),
        item: loaded
            .items
            .get(&granted.task)
            .map(|item| Bytes::from(item.clone()))
            .unwrap_or_default(),
        index: granted.task.i.checked_sub(1),
        attempt: i32::from(granted.failures) + 1,
        resumption: loaded.parks.get(&granted.task).map(resumption),
        traceparent: String::new(),
        workspace_id: info.workspace.to_string(),
        inherited_learnings: loaded
            .learnings
            .get(&granted.agent)
            .cloned()
            .unwrap_or_default(),
    }
}

fn inputs(granted: &Granted, loaded: &Loaded, room: &mut usize) -> Vec<wire::Input> {
    let info = &granted.info;
    let sources = sources_of(info, granted.task.n, granted.sources.as_deref());
    let found = sources.into_iter().filter_map(|n| {
        let output = loaded.outputs.get(&(granted.task.run, n))?;
        Some((n, output.clone()))
    });
    found
        .map(|(n, output)| {
            let task = TaskKey {
                run: granted.task.run,
                n,
                i: 0,
            };
            let content = if output.len() <= *room {
                *room -= output.len();
                wire::input::Content::Inline(output)
            } else {
                wire::input::Content::Size(output.len() as u64)
            };
            wire::Input {
                key: convert::id::node(info.graph(), n, 0),
                task_id: convert::id::task(info.graph(), task),
                content: Some(content),
            }
        })
        .collect()
}

fn resumption(park: &Park) -> wire::Resumption {
    wire::Resumption {
        checkpoint: Bytes::from(park.checkpoint.clone()),
        signal: park.signal.clone(),
        payload: park.payload.clone().map(Bytes::from).unwrap_or_default(),
        timed_out: park.timed_out,
    }
}

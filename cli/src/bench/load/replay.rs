//! A recorded workflow, done by the runtime that real workers have, with work that only takes its recorded time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bytes::Bytes;
use cambium_client::worker::{Options, Outcome, Runtime, Simulate, Task, Work};
use cambium_proto::hypha::v1::{Graph, ImportGraphRequest, Run, RunState};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::parent::Parent;
use super::shape::Shape;
use super::site::{NAME, Site, Stored};
use super::{Workers, beside};
use crate::bench::job::{Closed, Loaded, Replay};
use crate::bench::replay::import;
use crate::bench::spread::{percentile_ms, rounded};
use crate::context::{Context, request_id};
use crate::{file, follow, run};

/// Small runs first, to warm up.
const WARM_UP: u32 = 20;
/// Between looks at a run whose tasks have all been worked on.
const SOON: Duration = Duration::from_millis(1);
/// Between looks at any other: some of its tasks may never come to a worker.
const LATER: Duration = Duration::from_millis(250);

pub(super) async fn run(
    replay: &Replay,
    context: &Context,
    parent: &mut Parent,
) -> anyhow::Result<()> {
    let content = file::read(&replay.path)?;
    let graph = import(&content, replay.graph.as_deref())?.graph;
    let site = Site::enter(context, &capabilities(&graph)).await?;
    let warm = site.put(Shape::Diamond.graph()).await?;
    let recorded = store(&site, context, content, replay).await?;

    let worked = Arc::new(Worked::default());
    let mut workers = Workers::new();
    workers.spawn(work(&site, context, replay, &worked)?);
    let stage = Stage {
        site: &site,
        worked: &worked,
    };
    beside(
        &mut workers,
        stage.measure(replay, [&warm, &recorded], parent),
    )
    .await
}

/// The worker's whole life.
fn work(
    site: &Site<'_>,
    context: &Context,
    replay: &Replay,
    worked: &Arc<Worked>,
) -> anyhow::Result<impl Future<Output = anyhow::Result<()>> + Send + 'static> {
    let options = Options {
        workspace: context.workspace(),
        worker: NAME.to_owned(),
        agent_ids: site.agent_ids.clone(),
        slots: replay.slots,
        capabilities: Vec::new(),
    };
    let simulate = Simulate {
        speed: replay.speed,
        micro_usd: 0,
    };
    let counted = Counted(simulate, worked.clone());
    let runtime = Runtime::new(&site.worker_connection()?, options, counted);
    Ok(async move {
        runtime.run(std::future::pending()).await?;
        Ok(())
    })
}

async fn store(
    site: &Site<'_>,
    context: &Context,
    content: Vec<u8>,
    replay: &Replay,
) -> anyhow::Result<Stored> {
    let request = ImportGraphRequest {
        workspace_id: context.workspace(),
        request_id: request_id(),
        content: content.into(),
        format: String::new(),
        graph: replay.graph.clone().unwrap_or_default(),
        companion: Bytes::new(),
        name: String::new(),
    };
    let reply = run::import(&site.operator, request).await?;
    let version = reply.version.context("the graph has no version")?;
    Ok(Stored {
        workspace: context.workspace(),
        name: version.name,
        version: version.version,
        tasks: version.nodes,
    })
}

/// All that any node requires: one agent does everything.
fn capabilities(graph: &Graph) -> Vec<String> {
    let required: BTreeSet<&String> = graph.nodes.iter().flat_map(|node| &node.requires).collect();
    required.into_iter().cloned().collect()
}

/// How many tasks have been worked on.
#[derive(Debug, Default)]
struct Worked {
    tasks: AtomicU64,
    news: Notify,
}

#[derive(Debug)]
struct Counted(Simulate, Arc<Worked>);

impl Work for Counted {
    async fn run(&self, task: Task) -> Outcome {
        let outcome = self.0.run(task).await;
        self.1.tasks.fetch_add(1, Ordering::Relaxed);
        self.1.news.notify_one();
        outcome
    }
}

struct Stage<'a> {
    site: &'a Site<'a>,
    worked: &'a Worked,
}

impl Stage<'_> {
    async fn measure(
        &self,
        replay: &Replay,
        [warm, recorded]: [&Stored; 2],
        parent: &mut Parent,
    ) -> anyhow::Result<()> {
        let mut closed = Closed::default();
        for _ in 0..WARM_UP {
            closed.tasks += tasks(&self.play(warm).await?.0);
        }
        parent.begin().await?;
        let begun = Instant::now();
        let (mut loaded, mut makespans, mut failed) = (Loaded::default(), Vec::new(), 0_u64);
        for _ in 0..replay.runs {
            let (run, makespan) = self.play(recorded).await?;
            loaded.tasks += tasks(&run);
            failed += u64::from(run.state() != RunState::Succeeded);
            makespans.push(makespan);
        }
        loaded.wall_s = begun.elapsed().as_secs_f64();
        makespans.sort_unstable();
        sum_up(&mut loaded, &makespans, failed, replay);
        closed.tasks += loaded.tasks;
        parent.loaded(&loaded).await?;
        parent.closed(closed).await
    }

    /// One run from its start to its end, however many of its tasks come to a worker.
    async fn play(&self, stored: &Stored) -> anyhow::Result<(Run, Duration)> {
        let before = self.worked.tasks.load(Ordering::Relaxed);
        let all = before + u64::from(stored.tasks);
        let operator = &self.site.operator;
        let start = Instant::now();
        let id = stored.start(operator).await?.to_string();
        loop {
            self.wait(all).await;
            let run = follow::get(operator, &stored.workspace, &id).await?;
            if run.end_time.is_some() {
                return Ok((run, start.elapsed()));
            }
        }
    }

    /// Until the run may have ended. Looking costs the service something, so it is not done while tasks are known to be open.
    async fn wait(&self, all: u64) {
        if self.worked.tasks.load(Ordering::Relaxed) >= all {
            return tokio::time::sleep(SOON).await;
        }
        let worked = async {
            while self.worked.tasks.load(Ordering::Relaxed) < all {
                self.worked.news.notified().await;
            }
        };
        let _ = timeout(LATER, worked).await;
    }
}

fn tasks(run: &Run) -> u64 {
    let total = run.tasks.map_or(0, |tasks| tasks.total);
    u64::try_from(total).unwrap_or(0)
}

fn sum_up(loaded: &mut Loaded, makespans: &[Duration], failed: u64, replay: &Replay) {
    loaded.workflows = makespans.len() as u64;
    loaded.p50_ms = percentile_ms(makespans, 50);
    loaded.p99_ms = percentile_ms(makespans, 99);
    let extra = &mut loaded.extra;
    let makespan = rounded(loaded.p50_ms / 1_000.0, 3);
    extra.insert("makespan_s".to_owned(), makespan.into());
    extra.insert("speed".to_owned(), replay.speed.into());
    if failed > 0 {
        extra.insert("failed_runs".to_owned(), failed.into());
    }
}

#[cfg(test)]
mod tests {
    use cambium_proto::hypha::v1::Node;
    use serde_json::json;

    use super::*;

    #[test]
    fn one_agent_has_what_any_node_requires() {
        let node = |requires: &[&str]| Node {
            requires: requires.iter().map(|&one| one.to_owned()).collect(),
            ..Node::default()
        };
        let graph = Graph {
            nodes: vec![node(&["b", "a"]), node(&[]), node(&["a"])],
            ..Graph::default()
        };

        assert_eq!(capabilities(&graph), ["a", "b"]);
    }

    #[test]
    fn the_makespan_is_the_median_of_the_runs() {
        let replay = Replay {
            path: "x.json".into(),
            graph: None,
            speed: Some(100.0),
            runs: 3,
            slots: 1,
        };
        let makespans = [1_000, 2_500, 9_000].map(Duration::from_millis);
        let mut loaded = Loaded::default();

        sum_up(&mut loaded, &makespans, 0, &replay);

        assert_eq!(loaded.workflows, 3);
        assert_eq!(
            serde_json::Value::Object(loaded.extra),
            json!({"makespan_s": 2.5, "speed": 100.0})
        );
    }
}

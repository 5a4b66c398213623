//! After a commit: caches, deciders, watchers, workers and callers hear of it. Nothing here can undo or fail what was
//! decided; whatever is not heard is found again by a sweep.

use std::collections::HashSet;

use cambium_kernel::RunId;
use tokio::sync::oneshot;

use super::Engine;
use super::assign::{Again, Assigned};
use super::commit::Done;
use super::grant::{DecideJob, Grants};
use super::op::{Op, Settled, SettledAll, Start, Started};
use super::plan::{Plan, hot};
use crate::error::Error;
use crate::store;
use crate::store::engine::Written;

/// After the commit: caches, deciders, watchers, workers, callers.
pub(crate) async fn answer(engine: &Engine, ops: Vec<Op>, done: Done) -> Again {
    let Done {
        plan,
        assigned,
        written,
        went,
        mut next,
        started_as,
    } = done;
    let started: HashSet<RunId> = written.started.iter().copied().collect();
    let again = publish(engine, plan, assigned, &written, &started);
    for (at, op) in ops.into_iter().enumerate() {
        match op {
            Op::Start(start, reply) => {
                let run = started_as.get(&at).filter(|run| started.contains(run));
                let answer = match run {
                    Some(run) => Ok(Started {
                        run: *run,
                        is_new: true,
                    }),
                    None => existing(engine, &start).await,
                };
                drop(reply.send(answer));
            }
            Op::Settle(settles, reply) => {
                let list = (0..settles.list.len()).map(|k| match went.get(&(at, k)) {
                    Some(state) => Settled::Done {
                        went: super::plan::stored(*state),
                    },
                    None => Settled::Fenced,
                });
                let answer = SettledAll {
                    list: list.collect(),
                    next: next.remove(&at).map_or_else(Grants::none, received),
                };
                drop(reply.send(Ok(answer)));
            }
            Op::Look => {}
        }
    }
    again
}

/// What an inline offer got: it was delivered before anybody is answered.
fn received(mut answer: oneshot::Receiver<Grants>) -> Grants {
    answer.try_recv().unwrap_or_else(|_| Grants::none())
}

/// Makes a commit known: to caches, deciders, watchers and waiting workers.
pub(crate) fn publish(
    engine: &Engine,
    plan: Plan,
    assigned: Assigned,
    written: &Written,
    started: &HashSet<RunId>,
) -> Again {
    let void = |run: RunId| {
        plan.runs
            .get(&run)
            .is_some_and(|plan| plan.fresh && !started.contains(&run))
    };
    for (task, output) in &plan.outputs {
        engine.caches.outputs.insert(*task, output.clone());
    }
    for (id, run) in &plan.runs {
        if !void(*id) {
            engine.caches.runs.insert(run.info.clone());
            // Nobody watches: fine.
            let _ = engine.news.send(*id);
        }
    }
    for planned in plan.hot.iter().filter(|p| p.row.state == hot::DECIDING) {
        let run = plan.runs.get(&planned.row.task.run);
        if let (Some(run), Some(lease), false) =
            (run, planned.row.lease, void(planned.row.task.run))
        {
            engine.decide(DecideJob {
                info: run.info.clone(),
                task: planned.row.task,
                epoch: planned.row.epoch,
                lease,
                sources: planned.row.sources.clone(),
            });
        }
    }
    assigned.done(engine, written.at, void)
}

/// The run that a taken key names, if it was started with the same content.
async fn existing(engine: &Engine, start: &Start) -> Result<Started, Error> {
    let mut conn = engine.pool.acquire().await?;
    let key = &start.request_key;
    match store::run::by_key(&mut conn, &start.info.workspace, key).await? {
        Some((run, hash)) if hash == start.body_hash => Ok(Started { run, is_new: false }),
        Some(_) => Err(Error::KeyTaken(key.clone())),
        None if store::turn::is_spent_key(&mut conn, &start.info.workspace, key).await? => {
            Err(Error::TurnLost(key.clone()))
        }
        None => Err(Error::Contended),
    }
}

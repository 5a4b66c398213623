//! The decider: evaluates conditions, join expressions and fan-outs outside any transaction, and hands the verdict in.

use std::sync::Arc;

use bytes::Bytes;
use cambium_hypha::condition::{CODE, Condition, Scope};
use cambium_hypha::path::{Path, Root};
use cambium_hypha::{EndState, Join, fan_out};
use cambium_service_kit::shutdown::Stop;
use serde_json::Value;
use sqlx::PgPool;
use tokio::sync::{Semaphore, mpsc};

use crate::app::attempt::outputs;
use crate::engine::Engine;
use crate::engine::edges::sources_of;
use crate::engine::grant::DecideJob;
use crate::engine::op::{Settle, Verdict};
use crate::engine::plan::end_state;
use crate::error::Error;
use crate::store;

/// Decisions at once: they are short, but a list may be long.
const AT_ONCE: usize = 4;

pub(crate) async fn decide(
    engine: Engine,
    pool: PgPool,
    mut jobs: mpsc::UnboundedReceiver<DecideJob>,
    stop: Stop,
) {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let job = tokio::select! {
            job = jobs.recv() => job,
            () = stop.stopped() => return,
        };
        let (Some(job), Ok(permit)) = (job, room.clone().acquire_owned().await) else {
            return;
        };
        let (engine, pool) = (engine.clone(), pool.clone());
        tokio::spawn(async move {
            let lease = job.lease;
            let decided = verdict(&engine, &pool, &job).await;
            // The next one may begin while this one waits for its commit.
            drop(permit);
            if let Err(error) = hand_in(&engine, job, decided).await {
                // The sweep hands it out again.
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "a decision failed and will be repeated");
            }
            engine.decided(lease);
        });
    }
}

async fn hand_in(
    engine: &Engine,
    job: DecideJob,
    decided: Result<Verdict, Error>,
) -> Result<(), Error> {
    let settle = Settle::verdict(job.info, job.task, job.epoch, job.lease, decided?);
    engine.settle(settle).await?;
    Ok(())
}

/// Join first, then the condition, then the fan-out (design: hypha, section 2).
async fn verdict(engine: &Engine, pool: &PgPool, job: &DecideJob) -> Result<Verdict, Error> {
    let node = &job.info.graph().nodes()[job.task.n as usize];
    if let Join::Expr(condition) = &node.join
        && let Some(end) = join(pool, job, condition).await?
    {
        return Ok(end);
    }
    if let Some(condition) = &node.when
        && let Some(end) = when(engine, pool, job, condition).await?
    {
        return Ok(end);
    }
    match &node.fan_out {
        Some(path) => fan_out_over(engine, pool, job, path).await,
        None => Ok(Verdict::Run),
    }
}

fn end(state: EndState, code: Option<&str>, detail: Option<String>) -> Verdict {
    Verdict::End {
        state,
        code: code.map(str::to_owned),
        detail,
    }
}

fn fault(fault: &cambium_hypha::condition::ConditionFault) -> Verdict {
    end(EndState::Failed, Some(CODE), Some(fault.to_string()))
}

async fn join(
    pool: &PgPool,
    job: &DecideJob,
    condition: &Condition,
) -> Result<Option<Verdict>, Error> {
    let graph = job.info.graph();
    let upstream: Vec<u32> = graph
        .incoming(job.task.n)
        .iter()
        .map(|edge| graph.edges()[*edge as usize].from)
        .collect();
    let mut conn = pool.acquire().await?;
    let ended = store::task::states(&mut conn, job.task.run, &upstream).await?;
    let states: Vec<(&str, EndState)> = ended
        .into_iter()
        .filter_map(|(n, state)| Some((graph.nodes()[n as usize].key.as_str(), end_state(state)?)))
        .collect();
    let scope = Scope {
        states: &states,
        ..Scope::default()
    };
    Ok(match condition.evaluate(&scope) {
        Ok(true) => None,
        Ok(false) => Some(end(EndState::Omitted, None, None)),
        Err(why) => Some(fault(&why)),
    })
}

async fn when(
    engine: &Engine,
    pool: &PgPool,
    job: &DecideJob,
    condition: &Condition,
) -> Result<Option<Verdict>, Error> {
    let inputs = inputs(engine, pool, job, condition.reads()).await?;
    let inputs: Vec<(&str, &[u8])> = inputs
        .iter()
        .map(|(key, output)| (key.as_str(), output.as_ref()))
        .collect();
    let scope = Scope {
        input: Some(&job.info.input),
        inputs: &inputs,
        ..Scope::default()
    };
    Ok(match condition.evaluate(&scope) {
        Ok(true) => None,
        Ok(false) => Some(end(EndState::Skipped, None, None)),
        Err(why) => Some(fault(&why)),
    })
}

/// Those of the named outputs that the task takes.
async fn inputs(
    engine: &Engine,
    pool: &PgPool,
    job: &DecideJob,
    named: &[Path],
) -> Result<Vec<(String, Bytes)>, Error> {
    let graph = job.info.graph();
    let sources = sources_of(&job.info, job.task.n, job.sources.as_deref());
    let wanted: Vec<_> = named
        .iter()
        .filter_map(|path| match path.root() {
            Root::Inputs(key) => graph.index_of(key.as_str()),
            Root::Input | Root::Output | Root::State(_) => None,
        })
        .filter(|n| sources.contains(n))
        .map(|n| (job.task.run, n))
        .collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut conn = pool.acquire().await?;
    let found = outputs(&mut conn, engine, &wanted).await?;
    let named = found.into_iter().map(|((_, n), output)| {
        let key = graph.nodes()[n as usize].key.to_string();
        (key, output)
    });
    Ok(named.collect())
}

async fn fan_out_over(
    engine: &Engine,
    pool: &PgPool,
    job: &DecideJob,
    path: &Path,
) -> Result<Verdict, Error> {
    let document = match path.root() {
        Root::Input => Some(job.info.input.clone()),
        Root::Inputs(_) => {
            let found = inputs(engine, pool, job, std::slice::from_ref(path)).await?;
            found.into_iter().next().map(|(_, output)| output)
        }
        Root::Output | Root::State(_) => None,
    };
    let document: Value = document
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or(Value::Null);
    Ok(match fan_out::items(path, &document) {
        Ok(items) if items.is_empty() => end(
            EndState::Skipped,
            None,
            Some("the list is empty".to_owned()),
        ),
        Ok(items) => Verdict::FanOut(
            items
                .iter()
                .map(|item| item.to_string().into_bytes())
                .collect(),
        ),
        Err(why) => end(EndState::Failed, Some(why.code()), Some(why.to_string())),
    })
}

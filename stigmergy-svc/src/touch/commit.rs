//! One transaction for many calls. Whatever happens, every caller is answered.

use cambium_service_kit::database::Fault;
use cambium_service_kit::outbox;
use tokio::time::{Duration, sleep};

use super::plan::Plan;
use super::{Answer, Op, Toucher};
use crate::error::Error;
use crate::store;

/// How often a transaction that lost to another writer is tried again.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(10);

/// What a committed batch came to.
struct Done {
    answers: Vec<Result<Answer, Error>>,
    plan: Plan,
}

/// Runs a batch to its end. When it fails as no batch should, its calls are tried one by one: a bad one must not fail
/// its neighbours.
pub(crate) async fn run(toucher: &Toucher, ops: Vec<Op>) {
    let mut tries = 0;
    let fault = loop {
        tries += 1;
        match attempt(toucher, &ops).await {
            Ok(done) => return finish(toucher, ops, done),
            Err(error) => match error.fault() {
                Some(Fault::Conflict) if tries < TRIES => sleep(PAUSE * tries).await,
                Some(fault @ (Fault::Unavailable | Fault::StorageFull)) => break fault,
                _ if ops.len() > 1 => return Box::pin(one_by_one(toucher, ops)).await,
                _ => return refuse_one(ops, error),
            },
        }
    };
    for op in ops {
        op.answer(Err(Error::Shared(fault)));
    }
}

async fn one_by_one(toucher: &Toucher, ops: Vec<Op>) {
    tracing::warn!(
        calls = ops.len(),
        "a batch failed; its calls are tried one by one"
    );
    for op in ops {
        run(toucher, vec![op]).await;
    }
}

/// The error is the caller's alone.
fn refuse_one(ops: Vec<Op>, error: Error) {
    if let Some(op) = ops.into_iter().next() {
        op.answer(Err(error));
    }
}

async fn attempt(toucher: &Toucher, ops: &[Op]) -> Result<Done, Error> {
    let workspaces = ops.iter().map(|op| &op.workspace);
    let mut tx = store::workspace::begin(&toucher.pool, workspaces).await?;
    let asked: Vec<_> = ops.iter().map(Op::asked).collect();
    let (now, loaded) = store::touch::load(&mut tx, &asked).await?;
    let mut plan = Plan::new(now, ops, loaded);
    let authors = plan.authors();
    if !authors.is_empty() {
        let standings = store::standing::of_pairs(&mut tx, &authors).await?;
        plan.know(standings);
    }
    let answers = ops.iter().map(|op| plan.decide(op)).collect();
    if plan.is_empty() {
        tx.rollback().await?;
        return Ok(Done { answers, plan });
    }
    let signals = outbox::rows(&toucher.routes, plan.take_signals());
    let has_signals = !signals.is_empty();
    let mut written = plan.written();
    written.signals = signals;
    store::touch::write(&mut tx, &written).await?;
    tx.commit().await?;
    if has_signals {
        toucher.relay.notify();
    }
    Ok(Done { answers, plan })
}

/// Answers the calls, and says what happened to whoever is to know.
fn finish(toucher: &Toucher, ops: Vec<Op>, done: Done) {
    for (op, answer) in ops.into_iter().zip(done.answers) {
        op.answer(answer);
    }
    for workspace in done.plan.news() {
        // Nobody may be watching.
        let _ = toucher.news.send(workspace.clone());
    }
    for refused in done.plan.refused {
        // Full: immune hears of the next one.
        let _ = toucher.tell.try_send(refused);
    }
}

//! One transaction for many calls: its stages, in the order that keeps locks free of cycles.

use std::collections::BTreeMap;

use cambium_hypha::graph::Spec;
use cambium_hypha::turn::Bill;
use cambium_kernel::RunId;
use cambium_proto::hypha::v1::RunEventKind;
use cambium_service_kit::{database, outbox};
use chrono::{DateTime, Utc};
use prost::Message;
use sqlx::{PgConnection, PgPool};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::answer::answer;
use super::assign::{Again, Assigned, assign};
use super::cache::RunInfo;
use super::grant::Grants;
use super::offer::OfferId;
use super::op::{Op, Start};
use super::plan::{Plan, RUNNING, RunPlan};
use super::settle::{Stopped, Went, settle_all};
use super::{Engine, cascade, close, evidence, finish, losers, prune, thank, turn};
use crate::error::Error;
use crate::store;
use crate::store::engine::{Counts, NewEvents, NewRun, RunHead, Write, Written};
use crate::store::event::{Transition, Transitions};

/// Calls of one transaction, at most.
pub(crate) const BATCH: usize = 256;

/// How many dead connections a transaction may meet before it finds a live one: as many as the pool can hold.
const DEAD: u32 = 20;

/// How often a transaction that lost to another writer is tried again.
const TRIES: u32 = 3;

/// Runs a batch to its end: every caller is answered, whatever happens.
pub(crate) async fn run(engine: &Engine, mut ops: Vec<Op>) -> Again {
    if ops.iter().any(Op::judges_a_lease)
        && let Err(error) = engine.listen().await
    {
        refuse(ops, &error);
        return Again::default();
    }
    let mut tries = 0;
    while tries < TRIES && !ops.is_empty() {
        match attempt(engine, &ops).await {
            Ok(done) => return answer(engine, ops, done).await,
            Err(Stopped::ByOne(at, error)) => {
                refuse(vec![ops.remove(at)], &error);
                continue;
            }
            Err(Stopped::All(error)) if error.is_conflict() => {}
            Err(Stopped::All(error)) if error.is_ours() && ops.len() > 1 => {
                return one_by_one(engine, ops).await;
            }
            Err(Stopped::All(error)) => {
                refuse(ops, &error);
                return Again::default();
            }
        }
        tries += 1;
    }
    if ops.len() > 1 {
        return one_by_one(engine, ops).await;
    }
    refuse(std::mem::take(&mut ops), &Error::Contended);
    Again::default()
}

/// One bad request must not fail its neighbours.
async fn one_by_one(engine: &Engine, ops: Vec<Op>) -> Again {
    let mut again = Again::default();
    for op in ops {
        let alone = Box::pin(run(engine, vec![op])).await;
        again.now |= alone.now;
        again.later |= alone.later;
    }
    again
}

fn refuse(ops: Vec<Op>, error: &Error) {
    for op in ops {
        // Whoever stopped waiting needs no answer.
        match op {
            Op::Start(_, reply) => drop(reply.send(Err(error.for_another()))),
            Op::Settle(_, reply) => drop(reply.send(Err(error.for_another()))),
            Op::Look => {}
        }
    }
}

/// What a committed batch did.
pub(crate) struct Done {
    pub(crate) plan: Plan,
    pub(crate) assigned: Assigned,
    pub(crate) written: Written,
    /// Where each settled task went; absent for those whose fence did not hold.
    pub(crate) went: Went,
    /// Slots that completions asked to have filled in their replies, by call.
    pub(crate) next: BTreeMap<usize, oneshot::Receiver<Grants>>,
    pub(crate) started_as: BTreeMap<usize, RunId>,
}

async fn attempt(engine: &Engine, ops: &[Op]) -> Result<Done, Stopped> {
    let mut tx = begin(&engine.pool).await?;
    let mut plan = Plan::default();
    let mut new_runs = Vec::new();
    let mut started_as = BTreeMap::new();
    let went = settle_all(&mut tx, &mut plan, ops).await?;
    for (at, op) in ops.iter().enumerate() {
        if let Op::Start(start, _) = op {
            new_runs.push(start_run(&mut plan, start));
            started_as.insert(at, start.info.run);
        }
    }
    let next = open_next(engine, ops, &went);
    let outcome = conclude(tx, engine, &mut plan, new_runs).await;
    // An offer that got nothing is closed: its completion answers now.
    let mut answers = BTreeMap::new();
    for (at, (id, answer)) in next {
        let got = outcome
            .as_ref()
            .is_ok_and(|(assigned, _)| assigned.slots.iter().any(|(slot, _)| slot.offer == id));
        if !got {
            engine.offers.withdraw(id);
        }
        answers.insert(at, answer);
    }
    let (assigned, written) = outcome?;
    Ok(Done {
        plan,
        assigned,
        written,
        went,
        next: answers,
        started_as,
    })
}

/// Opens the offers of calls that ask for more in their replies, where anything of theirs passed.
fn open_next(
    engine: &Engine,
    ops: &[Op],
    went: &Went,
) -> BTreeMap<usize, (OfferId, oneshot::Receiver<Grants>)> {
    let mut next = BTreeMap::new();
    for (at, op) in ops.iter().enumerate() {
        let Op::Settle(settles, _) = op else {
            continue;
        };
        let passed = went.range((at, 0)..(at + 1, 0)).next().is_some();
        if let (Some((registration, count)), true) = (&settles.next, passed) {
            next.insert(at, engine.offers.open_first(registration.clone(), *count));
        }
    }
    next
}

/// A transaction of the engine. Its login has the time limits; its plans are generic (design: hot-path, trap 2).
pub(crate) async fn begin(
    pool: &PgPool,
) -> Result<sqlx::Transaction<'static, sqlx::Postgres>, Error> {
    for _ in 0..DEAD {
        match pool.begin().await {
            // It had died unnoticed, and nothing was done on it yet.
            Err(sqlx::Error::Io(_)) => {}
            begun => return Ok(begun?),
        }
    }
    Ok(pool.begin().await?)
}

/// How long a run is kept, where its graph says something else than usual.
pub(crate) fn retain_days(info: &RunInfo) -> Option<i16> {
    let days = info.graph().retain_days();
    (days != Spec::RETAIN_DAYS).then(|| i16::try_from(days).unwrap_or(i16::MAX))
}

fn start_run(plan: &mut Plan, start: &Start) -> NewRun {
    let run = start.info.run;
    let nodes = i32::try_from(start.info.graph().nodes().len()).unwrap_or(i32::MAX);
    plan.runs.insert(
        run,
        RunPlan {
            info: start.info.clone(),
            head: RunHead {
                state: RUNNING,
                paused: false,
                failing: false,
                open: nodes,
                seq: 0,
                unhandled: 0,
                succeeded: 0,
                total: nodes,
                in_vain: 0,
            },
            fresh: true,
            add: Counts::default(),
            bill: Bill::default(),
            has_left: false,
            events: vec![Transition::of_run(RunEventKind::RunStarted.into())],
            frontier: Vec::new(),
            members: BTreeMap::new(),
            decided: Vec::new(),
            closing: None,
        },
    );
    cascade::start_roots(plan, run, start.info.graph().roots());
    if !start.signals.is_empty() {
        plan.start_signals.push(start.clone());
    }
    NewRun {
        run,
        workspace: start.info.workspace.to_string(),
        request_key: start.request_key.clone(),
        body_hash: start.body_hash.clone(),
        graph_hash: start.info.pinned.hash.clone(),
        graph_name: start.graph_name.clone(),
        graph_version: start.graph_version,
        retain_days: retain_days(&start.info),
        input: start.info.input.clone(),
        open: nodes,
        seq: 0,
    }
}

/// The stages after the fence, to the commit. On an error all promises to waiting workers are taken back.
pub(crate) async fn conclude(
    mut tx: sqlx::Transaction<'static, sqlx::Postgres>,
    engine: &Engine,
    plan: &mut Plan,
    new_runs: Vec<NewRun>,
) -> Result<(Assigned, Written), Error> {
    let grace = i64::try_from(engine.settings.grace.as_millis()).unwrap_or(i64::MAX);
    cascade::follow(&mut tx, plan).await?;
    while close::close(&mut tx, plan, grace).await? || losers::cancel(&mut tx, plan, grace).await? {
        cascade::follow(&mut tx, plan).await?;
    }
    let over = turn::account(&mut tx, plan, grace).await?;
    write_rare(&mut tx, plan).await?;
    let mut signals = thank::thank(&mut tx, engine, plan).await?;
    signals.extend(over);
    engine.offers.roster(|roster| roster.release(&plan.freed));
    plan.settled = evidence::counts(engine, plan);
    if let Some(at) = plan.at {
        signals.extend(evidence::testify(engine, plan, at));
    }
    let outcome = assign_and_commit(tx, engine, plan, new_runs, signals).await;
    engine.offers.roster(|roster| match &outcome {
        Ok(_) => roster.settle(&plan.freed),
        Err(_) => roster.unrelease(&plan.freed),
    });
    outcome
}

async fn assign_and_commit(
    mut tx: sqlx::Transaction<'static, sqlx::Postgres>,
    engine: &Engine,
    plan: &mut Plan,
    new_runs: Vec<NewRun>,
    signals: Vec<cambium_proto::signal::v1::Signal>,
) -> Result<(Assigned, Written), Error> {
    let assigned = assign(&mut tx, engine, plan).await?;
    match write_and_commit(tx, engine, plan, new_runs, signals, &assigned).await {
        Ok(written) => Ok((assigned, written)),
        Err(error) => {
            assigned.undo(engine);
            Err(error)
        }
    }
}

/// What most batches have none of.
async fn write_rare(conn: &mut PgConnection, plan: &mut Plan) -> Result<(), sqlx::Error> {
    if !plan.attempts.is_empty() {
        store::task::insert_attempts(conn, &plan.attempts).await?;
    }
    if !plan.arrivals.is_empty() {
        store::tally::insert_arrivals(conn, &plan.arrivals).await?;
    }
    for park in &plan.parks {
        store::park::upsert(conn, park).await?;
    }
    for (task, payload) in &plan.park_ends {
        store::park::end(conn, *task, payload.as_deref()).await?;
    }
    Ok(())
}

async fn write_and_commit(
    mut tx: sqlx::Transaction<'static, sqlx::Postgres>,
    engine: &Engine,
    plan: &mut Plan,
    mut new_runs: Vec<NewRun>,
    signals: Vec<cambium_proto::signal::v1::Signal>,
    assigned: &Assigned,
) -> Result<Written, Error> {
    let (changes, to_measure) = finish::changes(plan);
    for new in &mut new_runs {
        if let Some(run) = plan.runs.get(&new.run) {
            new.seq = i32::try_from(run.events.len()).unwrap_or(i32::MAX);
        }
    }
    let is_empty = plan.runs.is_empty() && plan.hot.is_empty();
    let write = Write {
        runs: new_runs,
        changes,
        hot: plan.hot.iter().map(|planned| planned.row.clone()).collect(),
        ends: std::mem::take(&mut plan.ends),
        events: events(plan),
        outbox: outbox::rows(&engine.routes, signals),
        settled: std::mem::take(&mut plan.settled),
        notify: (!assigned.left.is_empty() && engine.may_notify()).then(|| engine.name.clone()),
    };
    if is_empty {
        tx.commit().await?;
        return Ok(Written::nothing());
    }
    if !assigned.claims.is_empty() {
        store::engine::lease(&mut tx, &assigned.claims).await?;
    }
    let written = store::engine::write(&mut tx, &write).await?;
    prune::prune(&mut tx, engine.settings.event_limit, &write.events).await?;
    store_signals(&mut tx, plan, &written.started).await?;
    let spawning = spawning(plan, &written.started);
    if !spawning.is_empty() {
        store::spawn::allow(&mut tx, &spawning).await?;
    }
    if !to_measure.is_empty() {
        let dead_ends = finish::measure(&mut tx, plan, &to_measure).await?;
        let rows = outbox::rows(&engine.routes, dead_ends);
        outbox::insert(&mut tx, store::SCHEMA, &rows).await?;
    }
    tx.commit().await?;
    if !write.outbox.is_empty() || !to_measure.is_empty() {
        engine.relay.notify();
    }
    Ok(written)
}

/// The events of each run, numbered on from its last.
fn events(plan: &mut Plan) -> Vec<NewEvents> {
    let mut events = Vec::new();
    for (id, run) in &mut plan.runs {
        if run.events.is_empty() {
            continue;
        }
        let list = std::mem::take(&mut run.events);
        let k = i32::try_from(list.len()).unwrap_or(i32::MAX);
        events.push(NewEvents {
            run: *id,
            fresh: run.fresh,
            last_seq: run.head.seq + k,
            k,
            body: Transitions { list }.encode_to_vec(),
        });
    }
    events
}

/// Those of the runs whose graphs let agents be spawned.
fn spawning(plan: &Plan, started: &[RunId]) -> Vec<Uuid> {
    let spawns = |run: &RunId| {
        let run = plan.runs.get(run);
        run.is_some_and(|run| run.info.graph().spawns())
    };
    let started = started.iter().copied();
    started.filter(spawns).map(RunId::as_uuid).collect()
}

/// Signals that came with the start of runs, for those that did start.
async fn store_signals(
    conn: &mut PgConnection,
    plan: &Plan,
    started: &[RunId],
) -> Result<(), sqlx::Error> {
    for start in plan
        .start_signals
        .iter()
        .filter(|start| started.contains(&start.info.run))
    {
        for (name, payload) in &start.signals {
            let new = store::signal::New {
                workspace: start.info.workspace.as_str(),
                run: Some(start.info.run),
                request_key: &start.request_key,
                name,
                payload,
            };
            store::signal::insert(conn, &new).await?;
        }
    }
    Ok(())
}

impl Written {
    fn nothing() -> Self {
        Self {
            at: DateTime::<Utc>::UNIX_EPOCH,
            started: Vec::new(),
        }
    }
}

impl Error {
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self.fault(), Some(database::Fault::Conflict))
    }

    fn is_ours(&self) -> bool {
        matches!(self.fault(), Some(database::Fault::Internal))
    }
}

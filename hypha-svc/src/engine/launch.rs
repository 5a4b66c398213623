//! Runs that start in a transaction of their own: a task's child, under the lock of its parent, a turn's own run, what a mind starts in
//! its turn, and a rerun, which takes over much at once. All are rare beside plain starts, which share transactions (`commit`).

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use cambium_hypha::EndState;
use cambium_kernel::RunId;
use cambium_proto::hypha::v1::RunEventKind;
use sqlx::PgConnection;

use super::cache::RunInfo;
use super::edges::edge_outcomes;
use super::op::{Start, Started};
use super::plan::{Plan, RUNNING, RunPlan, Settled};
use super::{Engine, answer, cascade, commit};
use crate::app::attempt::outputs;
use crate::convert;
use crate::error::Error;
use crate::store;
use crate::store::engine::{RunHead, TaskKey, signed};
use crate::store::event::Transition;
use crate::store::run::{Launched, TakenOver};

/// The attempt that starts a run.
#[derive(Clone, Debug)]
pub(crate) struct Parent {
    pub(crate) info: Arc<RunInfo>,
    pub(crate) task: TaskKey,
    pub(crate) epoch: i32,
}

/// What a rerun takes over: the nodes that the new run's [`RunInfo`] marks as reused, with how they ended.
#[derive(Clone, Debug)]
pub(crate) struct TakeOver {
    pub(crate) from: Arc<RunInfo>,
    /// End states of the reused nodes.
    pub(crate) ends: Vec<(u32, EndState)>,
}

#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) start: Start,
    pub(crate) parent: Option<Parent>,
    pub(crate) take_over: Option<TakeOver>,
    /// Of a turn's own run: what all runs under the turn may cost, in micro-USD.
    pub(crate) cap: Option<i64>,
}

/// How often a start that lost to another writer is tried again.
const TRIES: u32 = 5;

/// Starts the run, or finds the one that its key names. In a task of its own: a caller that gives up must not leave a
/// transaction half told.
pub(crate) async fn launch(engine: &Engine, wish: Launch) -> Result<Started, Error> {
    let engine = engine.clone();
    let launched = tokio::spawn(async move {
        for _ in 0..TRIES {
            match once(&engine, &wish).await {
                Err(error) if error.is_conflict() => {}
                done => return done,
            }
        }
        Err(Error::Contended)
    });
    launched.await.map_err(|_| Error::Stopping)?
}

async fn once(engine: &Engine, wish: &Launch) -> Result<Started, Error> {
    // A child's start is fenced by its parent's lease.
    engine.listen().await?;
    let mut tx = commit::begin(&engine.pool).await?;
    if let Some(known) = known(&mut tx, &wish.start).await? {
        return Ok(known);
    }
    let mut plan = Plan::default();
    if let Some(parent) = &wish.parent {
        admit(&mut tx, &mut plan, parent, &wish.start).await?;
    }
    if let Some(known) = open_turn(&mut tx, wish).await? {
        return Ok(known);
    }
    insert(&mut tx, wish).await?;
    match &wish.take_over {
        Some(take_over) => resume(&mut tx, engine, &mut plan, &wish.start, take_over).await?,
        None => begin(&mut plan, &wish.start, TakenOver::default()),
    }
    let run = wish.start.info.run;
    let (assigned, written) = commit::conclude(tx, engine, &mut plan, Vec::new()).await?;
    answer::publish(engine, plan, assigned, &written, &[run].into());
    engine.look();
    Ok(Started { run, is_new: true })
}

async fn known(conn: &mut PgConnection, start: &Start) -> Result<Option<Started>, Error> {
    let key = &start.request_key;
    if store::turn::is_spent_key(conn, &start.info.workspace, key).await? {
        return Err(Error::TurnLost(key.clone()));
    }
    match store::run::by_key(conn, &start.info.workspace, key).await? {
        Some((run, hash)) if hash == start.body_hash => Ok(Some(Started { run, is_new: false })),
        Some(_) => Err(Error::KeyTaken(key.clone())),
        None => Ok(None),
    }
}

/// Opens the turn that the run is started for. Somebody may have been quicker: then the run is his. A turn in which a mind starts
/// a run need not be known: its body is not here.
async fn open_turn(conn: &mut PgConnection, wish: &Launch) -> Result<Option<Started>, Error> {
    let info = &wish.start.info;
    let Some(turn) = info.turn.as_ref().filter(|_| wish.parent.is_none()) else {
        return Ok(None);
    };
    let Some(cap) = wish.cap else {
        return match store::turn::enter(conn, &info.workspace, turn.id).await? {
            true => Ok(None),
            false => Err(Error::TurnLost(turn.id.to_string())),
        };
    };
    if store::turn::open(conn, &info.workspace, turn, info.run, cap).await? {
        return Ok(None);
    }
    let known = known(conn, &wish.start).await?;
    known
        .map(Some)
        .ok_or_else(|| Error::TurnLost(turn.id.to_string()))
}

/// Whether the attempt may start a run: its turn must not be over, it must hold its lease, and its run must go on. Tells the
/// parent.
async fn admit(
    conn: &mut PgConnection,
    plan: &mut Plan,
    parent: &Parent,
    start: &Start,
) -> Result<(), Error> {
    let run = parent.info.run;
    let head = store::run::lock(conn, run)
        .await?
        .ok_or(Error::NoRun(run))?;
    if let Some(turn) = &start.info.turn
        && !store::turn::join(conn, &start.info.workspace, turn.id).await?
    {
        return Err(Error::TurnLost(turn.id.to_string()));
    }
    if head.state != RUNNING || head.failing {
        return Err(Error::RunEnded(run));
    }
    if !store::hot::is_leased(conn, parent.task, parent.epoch).await? {
        let task = convert::id::task(parent.info.graph(), parent.task);
        return Err(Error::LeaseLost(task));
    }
    plan.lock(&parent.info, head);
    if let Some(run) = plan.run(run) {
        let kind = RunEventKind::ChildStarted.into();
        let told = Transition::of_task(kind, parent.task, parent.epoch);
        run.events
            .push(told.because("", &start.info.run.to_string()));
    }
    Ok(())
}

/// Inserts the run's row and the signals that come with it.
async fn insert(conn: &mut PgConnection, wish: &Launch) -> Result<(), Error> {
    let (start, info) = (&wish.start, &wish.start.info);
    let new = Launched {
        run: info.run,
        workspace: &info.workspace,
        request_key: &start.request_key,
        body_hash: &start.body_hash,
        graph_hash: &info.pinned.hash,
        graph_name: &start.graph_name,
        graph_version: start.graph_version,
        retain_days: commit::retain_days(info),
        input: &info.input,
        parent: wish.parent.as_ref().map(|parent| parent.task),
        rerun_of: wish.take_over.as_ref().map(|take_over| take_over.from.run),
        reused: (!info.reused.is_empty()).then_some(&info.reused[..]),
        turn: info.turn.as_ref(),
    };
    if !store::run::launch(conn, &new).await? {
        // Somebody was quicker: the next try finds it by its key.
        return Err(Error::Contended);
    }
    if info.graph().spawns() {
        store::spawn::allow(conn, &[info.run.as_uuid()]).await?;
    }
    for (name, payload) in &start.signals {
        let signal = store::signal::New {
            workspace: info.workspace.as_str(),
            run: Some(info.run),
            request_key: &start.request_key,
            name,
            payload,
        };
        store::signal::insert(conn, &signal).await?;
    }
    Ok(())
}

/// Makes the run's roots ready; in a rerun, those that are done again.
fn begin(plan: &mut Plan, start: &Start, taken: TakenOver) {
    let info = &start.info;
    let graph = info.graph();
    let again = (0..)
        .zip(graph.nodes())
        .filter(|(n, _)| !info.is_reused(*n))
        .count();
    let open = i32::try_from(again).unwrap_or(i32::MAX);
    // The row holds none of these numbers yet: they are added with this transaction's.
    let head = RunHead {
        state: RUNNING,
        paused: false,
        failing: false,
        open: 0,
        seq: 0,
        unhandled: 0,
        succeeded: 0,
        total: 0,
        in_vain: 0,
    };
    plan.lock(info, head);
    if let Some(run) = plan.run(info.run) {
        count(run, open, taken);
        run.events
            .push(Transition::of_run(RunEventKind::RunStarted.into()));
    }
    let roots: Vec<u32> = graph.roots().filter(|n| !info.is_reused(*n)).collect();
    cascade::start_roots(plan, info.run, roots);
}

fn count(run: &mut RunPlan, open: i32, taken: TakenOver) {
    run.add.open += open;
    run.add.total += open + taken.tasks;
    run.add.succeeded += taken.succeeded;
    run.add.failed += taken.failed;
    run.add.skipped += taken.skipped;
    run.add.omitted += taken.omitted;
    run.add.cancelled +=
        taken.tasks - taken.succeeded - taken.failed - taken.skipped - taken.omitted;
}

/// Takes ended nodes over, and lets their edges say to the nodes that are done again what they said before.
async fn resume(
    conn: &mut PgConnection,
    engine: &Engine,
    plan: &mut Plan,
    start: &Start,
    take_over: &TakeOver,
) -> Result<(), Error> {
    let info = &start.info;
    let from = take_over.from.run;
    if !store::run::hold(conn, from).await? {
        return Err(Error::NoRun(from));
    }
    let nodes: Vec<i32> = take_over.ends.iter().map(|(n, _)| signed(*n)).collect();
    let taken = store::run::take_over(conn, from, info.run, &nodes).await?;
    begin(plan, start, taken);
    let graph = info.graph();
    let looks = |n: u32| {
        graph
            .outgoing(n)
            .iter()
            .any(|e| graph.edges()[*e as usize].when.is_some())
    };
    let succeeded = take_over
        .ends
        .iter()
        .filter(|(_, state)| *state == EndState::Succeeded);
    let read: Vec<(RunId, u32)> = succeeded
        .filter(|(n, _)| looks(*n))
        .map(|(n, _)| (info.run, *n))
        .collect();
    let read: HashMap<(RunId, u32), Bytes> = if read.is_empty() {
        HashMap::new()
    } else {
        outputs(conn, engine, &read).await?
    };
    let mut settled = Vec::new();
    for (n, state) in &take_over.ends {
        let output = read.get(&(info.run, *n)).map(Bytes::as_ref);
        let outcomes = edge_outcomes(info, *n, *state, output);
        let edges = graph.outgoing(*n).iter().zip(outcomes);
        let again = edges.filter(|(edge, _)| !info.is_reused(graph.edges()[**edge as usize].to));
        settled.extend(again.map(|(edge, outcome)| Settled {
            edge: *edge,
            succeeded: *state == EndState::Succeeded,
            outcome,
        }));
    }
    if let Some(run) = plan.run(info.run) {
        run.frontier.extend(settled);
    }
    Ok(())
}

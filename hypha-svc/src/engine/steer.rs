//! Steering a run: cancel, pause, resume and signal, each in a transaction of its own with its receipt.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use cambium_proto::hypha::v1::{RunEventKind, RunState};
use cambium_service_kit::call::Call;
use cambium_service_kit::receipt;
use prost::Message;
use sqlx::PgConnection;

use super::cache::RunInfo;
use super::op::{Change, Settle};
use super::plan::{CANCELLED, CANCELLING, Closing, Plan, RUNNING};
use super::{Engine, answer, cascade, close, commit, settle};
use crate::error::Error;
use crate::store;
use crate::store::engine::Fence;
use crate::store::event::Transition;

/// What an operator, or whoever started the run, asks of it.
#[derive(Clone, Debug)]
pub(crate) enum Steer {
    Cancel { grace_ms: i64, reason: String },
    Pause,
    Resume,
    Signal { name: String, payload: Bytes },
}

/// What came of it, for the reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steered {
    pub(crate) state: RunState,
    /// A parked task took the signal.
    pub(crate) delivered: bool,
}

/// Steers a run once per request id.
pub(crate) async fn steer<R: Message + Default>(
    engine: &Engine,
    call: &Call,
    info: &Arc<RunInfo>,
    wish: &Steer,
    reply: impl Fn(Steered) -> R,
) -> Result<R, Error> {
    let mut tx = commit::begin(&engine.pool).await?;
    if let Some(known) = receipt::find(&mut tx, store::SCHEMA, call, &info.workspace).await? {
        return Ok(known);
    }
    let mut plan = Plan::default();
    let (steered, places) = apply(&mut tx, engine, &mut plan, info, wish).await?;
    let reply = reply(steered);
    receipt::insert(&mut tx, store::SCHEMA, call, &info.workspace, &reply).await?;
    conclude(tx, engine, plan, places).await?;
    Ok(reply)
}

/// Stops a run whose parent was stopped.
pub(crate) async fn stop_orphan(engine: &Engine, info: &Arc<RunInfo>) -> Result<(), Error> {
    let mut tx = commit::begin(&engine.pool).await?;
    let mut plan = Plan::default();
    let Some(head) = store::run::lock(&mut tx, info.run).await? else {
        return Ok(());
    };
    plan.lock(info, head);
    let grace = store::orphan::take(&mut tx, info.run).await?;
    if let (Some(grace_ms), RUNNING) = (grace, head.state) {
        // What stopped the parent may be their turn: then it stops this one too, and for the same reason.
        let how = match stop_of_turn(&mut tx, info).await? {
            Some(how) => how,
            None => (
                Closing::Cancel { grace_ms },
                "its parent run was stopped".to_owned(),
            ),
        };
        stop(&mut tx, engine, &mut plan, info, how).await?;
    }
    conclude(tx, engine, plan, Vec::new()).await
}

/// Stops a run whose turn is to stop.
pub(crate) async fn stop_under(engine: &Engine, info: &Arc<RunInfo>) -> Result<(), Error> {
    let mut tx = commit::begin(&engine.pool).await?;
    let mut plan = Plan::default();
    let Some(head) = store::run::lock(&mut tx, info.run).await? else {
        return Ok(());
    };
    plan.lock(info, head);
    if head.state == RUNNING
        && let Some(how) = stop_of_turn(&mut tx, info).await?
    {
        stop(&mut tx, engine, &mut plan, info, how).await?;
    }
    conclude(tx, engine, plan, Vec::new()).await
}

/// How and why a run is to stop because of its turn, if it is.
async fn stop_of_turn(
    conn: &mut PgConnection,
    info: &RunInfo,
) -> Result<Option<(Closing, String)>, Error> {
    let Some(turn) = &info.turn else {
        return Ok(None);
    };
    let stop = store::turn::stop(conn, &info.workspace, turn.id).await?;
    Ok(stop.map(|stop| {
        let grace_ms = stop.grace_ms;
        let closing = if stop.is_spent {
            Closing::Spent { grace_ms }
        } else {
            Closing::Cancel { grace_ms }
        };
        (closing, stop.reason)
    }))
}

async fn stop(
    conn: &mut PgConnection,
    engine: &Engine,
    plan: &mut Plan,
    info: &Arc<RunInfo>,
    (closing, reason): (Closing, String),
) -> Result<(), Error> {
    tell(plan, info, RunEventKind::RunCancelRequested, &reason);
    cancel(conn, engine, plan, info, closing).await
}

/// Delivers a signal that was stored before its task parked, or before its run started.
pub(crate) async fn redeliver(
    engine: &Engine,
    info: &Arc<RunInfo>,
    name: &str,
) -> Result<(), Error> {
    let mut tx = commit::begin(&engine.pool).await?;
    let mut plan = Plan::default();
    let Some(head) = store::run::lock(&mut tx, info.run).await? else {
        return Ok(());
    };
    plan.lock(info, head);
    if head.state == RUNNING
        && store::hot::parked_on(&mut tx, info.run, name)
            .await?
            .is_some()
        && let Some(payload) = store::signal::take(&mut tx, info.run, name).await?
    {
        resume_parked(&mut tx, &mut plan, info, name, &Bytes::from(payload)).await?;
    }
    conclude(tx, engine, plan, Vec::new()).await
}

async fn conclude(
    tx: sqlx::Transaction<'static, sqlx::Postgres>,
    engine: &Engine,
    mut plan: Plan,
    places: Vec<(i32, i16)>,
) -> Result<(), Error> {
    let (assigned, written) = commit::conclude(tx, engine, &mut plan, Vec::new()).await?;
    answer::publish(engine, plan, assigned, &written, &HashSet::new());
    engine.offers.note_news(places);
    engine.look();
    Ok(())
}

async fn apply(
    conn: &mut PgConnection,
    engine: &Engine,
    plan: &mut Plan,
    info: &Arc<RunInfo>,
    wish: &Steer,
) -> Result<(Steered, Vec<(i32, i16)>), Error> {
    let head = store::run::lock(conn, info.run)
        .await?
        .ok_or(Error::NoRun(info.run))?;
    plan.lock(info, head);
    let is_cancel = matches!(wish, Steer::Cancel { .. });
    let already = is_cancel && (head.state == CANCELLING || head.state == CANCELLED);
    if head.state > CANCELLING && !already {
        return Err(Error::RunEnded(info.run));
    }
    let mut delivered = false;
    let mut places = Vec::new();
    match wish {
        Steer::Cancel { .. } if already => {}
        Steer::Cancel { grace_ms, reason } => {
            let grace_ms = *grace_ms;
            let how = (Closing::Cancel { grace_ms }, reason.clone());
            stop(conn, engine, plan, info, how).await?;
        }
        Steer::Pause if !head.paused => {
            tell(plan, info, RunEventKind::RunPaused, "");
            set_paused(plan, info, true);
            store::hot::hold(conn, info.run).await?;
        }
        Steer::Resume if head.paused => {
            tell(plan, info, RunEventKind::RunResumed, "");
            set_paused(plan, info, false);
            places = store::hot::unhold(conn, info.run).await?;
        }
        Steer::Pause | Steer::Resume => {}
        Steer::Signal { name, payload } => {
            tell(plan, info, RunEventKind::SignalReceived, name);
            delivered = signal(conn, plan, info, name, payload).await?;
        }
    }
    let steered = Steered {
        state: state_of(plan, info),
        delivered,
    };
    Ok((steered, places))
}

async fn cancel(
    conn: &mut PgConnection,
    engine: &Engine,
    plan: &mut Plan,
    info: &Arc<RunInfo>,
    closing: Closing,
) -> Result<(), Error> {
    if let Some(run) = plan.run(info.run) {
        run.closing = Some(closing);
    }
    let grace = i64::try_from(engine.settings.grace.as_millis()).unwrap_or(i64::MAX);
    close::close(conn, plan, grace).await?;
    cascade::follow(conn, plan).await?;
    Ok(())
}

/// Gives the signal to the task that has parked on it longest, or keeps it for the one that will.
async fn signal(
    conn: &mut PgConnection,
    plan: &mut Plan,
    info: &Arc<RunInfo>,
    name: &str,
    payload: &Bytes,
) -> Result<bool, Error> {
    if resume_parked(conn, plan, info, name, payload).await? {
        return Ok(true);
    }
    let new = store::signal::New {
        workspace: info.workspace.as_str(),
        run: Some(info.run),
        request_key: "",
        name,
        payload,
    };
    store::signal::insert(conn, &new).await?;
    Ok(false)
}

async fn resume_parked(
    conn: &mut PgConnection,
    plan: &mut Plan,
    info: &Arc<RunInfo>,
    name: &str,
    payload: &Bytes,
) -> Result<bool, Error> {
    let Some((task, epoch)) = store::hot::parked_on(conn, info.run, name).await? else {
        return Ok(false);
    };
    let settle = Settle {
        info: info.clone(),
        task,
        epoch,
        fence: Fence::Parked,
        change: Change::Resume {
            payload: payload.clone(),
        },
        body_hash: None,
    };
    let went = settle::settle_fenced(conn, plan, &[&settle]).await?;
    Ok(!went.is_empty())
}

fn tell(plan: &mut Plan, info: &RunInfo, kind: RunEventKind, text: &str) {
    if let Some(run) = plan.run(info.run) {
        run.events
            .push(Transition::of_run(kind.into()).because(text, ""));
    }
}

fn set_paused(plan: &mut Plan, info: &RunInfo, paused: bool) {
    if let Some(run) = plan.run(info.run) {
        run.head.paused = paused;
    }
}

fn state_of(plan: &mut Plan, info: &RunInfo) -> RunState {
    match plan.run(info.run) {
        Some(run) if run.head.state == CANCELLING && close::is_over(run) => RunState::Cancelled,
        Some(run) => crate::convert::run::state_to_wire(run.head.state),
        None => RunState::Unspecified,
    }
}

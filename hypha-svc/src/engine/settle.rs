//! The first stage of a transaction: which of the changes that were asked for may be made, and what each turns into.

use std::collections::BTreeMap;

use cambium_proto::hypha::v1::TaskState;
use sqlx::PgConnection;

use super::op::{Change, Op, Settle};
use super::plan::{Plan, RUNNING};
use super::progress::{self, Facts};
use crate::error::Error;
use crate::store;
use crate::store::engine::{Fence, FenceRequest, Fenced};

/// Where tasks went, by the call and the place in it.
pub(crate) type Went = BTreeMap<(usize, usize), TaskState>;

/// Why a transaction was given up.
pub(crate) enum Stopped {
    All(Error),
    /// One of the calls, by its place, may not do what it asks: the others go on without it.
    ByOne(usize, Error),
}

impl<E: Into<Error>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::All(error.into())
    }
}

/// Fences all settlements together, and makes those that passed in the plan.
pub(crate) async fn settle_all(
    conn: &mut PgConnection,
    plan: &mut Plan,
    ops: &[Op],
) -> Result<Went, Stopped> {
    let mut places = Vec::new();
    let mut settles = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        if let Op::Settle(together, _) = op {
            places.extend((0..together.list.len()).map(|k| (at, k)));
            settles.extend(&together.list);
        }
    }
    let mut went = Went::new();
    if settles.is_empty() {
        return Ok(went);
    }
    for (fenced, state) in settle_fenced(conn, plan, &settles).await? {
        went.insert(places[fenced], state);
    }
    refuse_foreign(conn, ops, &went).await?;
    Ok(went)
}

/// Of changes that come together, another worker's lease among them stops all (design: security, "UseLease").
async fn refuse_foreign(conn: &mut PgConnection, ops: &[Op], went: &Went) -> Result<(), Stopped> {
    for (at, op) in ops.iter().enumerate() {
        let Op::Settle(together, _) = op else {
            continue;
        };
        if together.list.len() == 1 {
            // Nothing was changed for it, and its caller looks whose it is.
            continue;
        }
        for (k, settle) in together.list.iter().enumerate() {
            let Fence::Live { lease, reg } = settle.fence else {
                continue;
            };
            if went.contains_key(&(at, k)) {
                continue;
            }
            let holder = store::hot::holder(conn, settle.task, lease).await?;
            if holder.is_some() && holder != reg {
                let task = crate::convert::id::task(settle.info.graph(), settle.task);
                return Err(Stopped::ByOne(at, Error::NotYourLease(task)));
            }
        }
    }
    Ok(())
}

/// Fences settlements and makes those that passed in the plan. Answers which (by index), and where their tasks went.
pub(crate) async fn settle_fenced(
    conn: &mut PgConnection,
    plan: &mut Plan,
    settles: &[&Settle],
) -> Result<Vec<(usize, TaskState)>, Error> {
    let mut order: Vec<usize> = (0..settles.len()).collect();
    // Rows are taken in the order of their tasks: two transactions never wait for each other crosswise.
    order.sort_by_key(|at| settles[*at].task);
    let requests: Vec<FenceRequest> = order
        .iter()
        .map(|at| FenceRequest {
            task: settles[*at].task,
            epoch: settles[*at].epoch,
            fence: settles[*at].fence,
        })
        .collect();
    let fenced = store::engine::fence(conn, &requests).await?;
    for one in &fenced {
        plan.lock(&settles[order[one.request]].info, one.head);
    }
    plan.at = fenced.first().map(|one| one.at).or(plan.at);
    let mut went = Vec::with_capacity(fenced.len());
    for one in fenced {
        let at = order[one.request];
        let facts = facts(conn, settles[at], &one).await?;
        let state = progress::apply(plan, settles[at], one.row, facts);
        went.push((at, state));
    }
    Ok(went)
}

/// Reads what the change needs to know from this transaction.
async fn facts(
    conn: &mut PgConnection,
    settle: &Settle,
    fenced: &Fenced,
) -> Result<Facts, sqlx::Error> {
    let mut facts = Facts {
        jitter: rand::random(),
        ..Facts::default()
    };
    match &settle.change {
        Change::TimeOut => facts.now = Some(store::now(conn).await?),
        Change::Park { signal, .. } if fenced.head.state == RUNNING && !fenced.head.failing => {
            // One that was sent to the key ahead of the run may still lie there.
            store::signal::attach_to(conn, settle.task.run).await?;
            facts.signal = store::signal::take(conn, settle.task.run, signal).await?;
        }
        _ => {}
    }
    Ok(facts)
}

//! The first act of everything that holds the bucket: it is refilled, and whoever has become a member, or is one no longer, is moved.

use std::collections::{BTreeMap, BTreeSet};

use cambium_kernel::WorkspaceId;
use cambium_swarm::bucket::Bucket;
use cambium_swarm::dial::Dial;
use cambium_swarm::timeline::{Cause, Seat, Step, Timeline};
use cambium_swarm::{Instance, TurnId};
use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;

use crate::error::Error;
use crate::store::standing::Placed;
use crate::store::timeline::Row;
use crate::store::turn::Stored;
use crate::store::{self, bucket, event, launch, setting, standing, timeline};

/// The bucket's row is ours until the transaction ends.
pub(in crate::app) struct Held {
    pub(in crate::app) now: DateTime<Utc>,
    /// None where it is absent, unreadable or out of bounds.
    pub(in crate::app) dial: Option<Dial>,
    /// Refilled; not yet written.
    pub(in crate::app) bucket: Bucket,
    /// The turn that it was taken for, locked as well.
    pub(in crate::app) turn: Option<Stored>,
    /// Some mind's place was looked at, or the bucket was made again: it would be made anew for ever if that were not kept.
    pub(in crate::app) has_moved: bool,
    /// Where minds were put by that: told by [`Held::news`].
    pub(in crate::app) steps: Vec<Step>,
}

impl Held {
    /// What watches are to be told of the minds that were put elsewhere. Events are written last of all: their number is locked until
    /// the commit, and a mind that changes something about itself has its launch's lock before it.
    pub(in crate::app) fn news(&self) -> Vec<event::New> {
        let told = |step: &Step| event::New {
            kind: event::Kind::Clamped,
            instance: Some(step.instance.clone()),
            turn: None,
            body: json!({
                "cause": step.cause.as_str(),
                "before": step.before.as_units(),
                "after": step.after.as_units(),
            }),
        };
        self.steps.iter().map(told).collect()
    }

    /// Tells it.
    pub(in crate::app) async fn tell(
        &self,
        conn: &mut PgConnection,
        workspace: &WorkspaceId,
    ) -> Result<(), Error> {
        for told in self.news() {
            event::insert(conn, workspace, told).await?;
        }
        Ok(())
    }
}

/// Takes the bucket's row, then the turn's, reads the clock, and syncs the timeline.
pub(in crate::app) async fn hold(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    turn: Option<TurnId>,
) -> Result<Held, Error> {
    let (row, was_lost) = locked(conn, workspace).await?;
    let turn = match turn {
        Some(id) => store::turn::lock(conn, workspace, id).await?,
        None => None,
    };
    let dial = setting::dial(conn, workspace).await?;
    let now = store::now(conn).await?;
    let bucket = match &dial {
        Some(dial) => row.refilled(dial, now),
        None => row,
    };
    let steps = sync(conn, workspace, now).await?;
    Ok(Held {
        now,
        dial,
        bucket,
        turn,
        has_moved: steps.is_some() || was_lost,
        steps: steps.unwrap_or_default(),
    })
}

/// The bucket, locked, and whether it was lost: then it comes back as a debt, since loss mints no money.
async fn locked(conn: &mut PgConnection, workspace: &WorkspaceId) -> Result<(Bucket, bool), Error> {
    if let Some(bucket) = bucket::lock(conn, workspace).await? {
        return Ok((bucket, false));
    }
    let now = store::now(conn).await?;
    let dial = setting::dial(conn, workspace).await?;
    let made = match &dial {
        Some(dial) => Bucket::lost(dial, now),
        None => Bucket::empty(now),
    };
    if !bucket::make(conn, workspace, &made).await? {
        // Another was faster, and may have charged it since.
        let bucket = bucket::lock(conn, workspace).await?;
        return Ok((bucket.unwrap_or(made), false));
    }
    let levels = (made.level, made.level);
    bucket::log(conn, workspace, bucket::Kind::Lost, levels, None).await?;
    Ok((made, dial.is_some()))
}

/// Visits the minds that are due, moves them, and says when each is due next. None where nobody is due.
async fn sync(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    now: DateTime<Utc>,
) -> Result<Option<Vec<Step>>, Error> {
    timeline::mend(conn, workspace).await?;
    let due = launch::lock_due(conn, workspace, now).await?;
    if due.is_empty() {
        return Ok(None);
    }
    let placed = standing::load(conn, workspace, Some(&due)).await?;
    let known = timeline::rows(conn, workspace, &due).await?;
    let seats = known
        .iter()
        .map(|(mind, row)| (mind.clone(), row.seat))
        .collect();
    let (mut line, _) = timeline::around(conn, workspace, &due, seats).await?;
    let before = line.min_vtime();
    let mut steps = begun_anew(conn, workspace, &placed, &known, &line).await?;
    steps.extend(line.sync(&members(&placed, &line, &due, now)));

    timeline::put(conn, workspace, &changed(&placed, &known, &line, now)).await?;
    if line.min_vtime() != before {
        timeline::put_min_vtime(conn, workspace, line.min_vtime()).await?;
    }
    let dues: Vec<_> = placed
        .iter()
        .map(|one| (one.instance.clone(), one.due_at(now)))
        .collect();
    launch::set_due(conn, workspace, &dues).await?;
    for step in &steps {
        timeline::log(conn, workspace, step, None).await?;
    }
    Ok(Some(steps))
}

/// The members among the due, and whoever else of the timeline is looked at only for its vtime.
fn members(
    placed: &[Placed],
    line: &Timeline,
    due: &[Instance],
    now: DateTime<Utc>,
) -> BTreeSet<Instance> {
    let own = placed.iter().filter(|one| one.standing.is_member(now));
    let own = own.map(|one| one.instance.clone());
    let others = line.seats().keys().filter(|mind| !due.contains(mind));
    own.chain(others.cloned()).collect()
}

/// A mind whose row was lost begins where the timeline is now: the log says so.
async fn begun_anew(
    conn: &mut PgConnection,
    workspace: &WorkspaceId,
    placed: &[Placed],
    known: &BTreeMap<Instance, Row>,
    line: &Timeline,
) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::new();
    for one in placed
        .iter()
        .filter(|one| !known.contains_key(&one.instance))
    {
        let Some(before) = timeline::logged(conn, workspace, &one.instance).await? else {
            continue;
        };
        let after = line.min_vtime();
        if before != after {
            let instance = one.instance.clone();
            let cause = Cause::Reset;
            steps.push(Step {
                instance,
                cause,
                before,
                after,
            });
        }
    }
    Ok(steps)
}

/// The rows of the due that are not as they were.
fn changed(
    placed: &[Placed],
    known: &BTreeMap<Instance, Row>,
    line: &Timeline,
    now: DateTime<Utc>,
) -> BTreeMap<Instance, Row> {
    let open = placed
        .iter()
        .filter(|one| one.standing.state == cambium_swarm::mind::State::Open);
    let rows = open.map(|one| {
        let fresh = Seat {
            vtime: line.min_vtime(),
            is_member: false,
        };
        let seat = line.seats().get(&one.instance).copied().unwrap_or(fresh);
        let eff_ppm = one.effective(now).map_or(0, |share| share.as_ppm());
        (one.instance.clone(), Row { seat, eff_ppm })
    });
    rows.filter(|(mind, row)| known.get(mind) != Some(row))
        .collect()
}

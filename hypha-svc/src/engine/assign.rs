//! Ready work meets waiting offers: what waited longest first, then what this transaction made ready.
//!
//! A row that meets an offer is inserted already leased: no second write and no second commit. What meets none is left
//! ready and becomes news for the next look.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use cambium_kernel::{Capability, RunId};
use cambium_proto::hypha::v1::RunEventKind;
use sqlx::PgConnection;

use super::Engine;
use super::cache::RunInfo;
use super::cascade::random_lease;
use super::grant::Granted;
use super::offer::{Hinted, OfferId, Slot};
use super::plan::{Plan, RUNNING, hot};
use crate::error::Error;
use crate::store;
use crate::store::engine::{Candidate, Claim, TaskKey};
use crate::store::event::Transition;

/// Rows that one transaction looks at in a queue, at most.
const MOST: i64 = 256;

/// What came of the matching; it counts only once the transaction has committed.
#[derive(Debug, Default)]
pub(crate) struct Assigned {
    pub(crate) claims: Vec<Claim>,
    /// Promised slots with what each got.
    pub(crate) slots: Vec<(Slot, Lease)>,
    searches: Vec<Outcome>,
    /// Queues and priorities in which this transaction leaves work.
    pub(crate) left: BTreeSet<(i32, i16)>,
}

/// An attempt about to be granted.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) info: Arc<RunInfo>,
    pub(crate) task: TaskKey,
    pub(crate) epoch: i32,
    pub(crate) lease: cambium_kernel::LeaseId,
    pub(crate) failures: i16,
    pub(crate) sources: Option<Vec<u8>>,
    pub(crate) resumed: bool,
}

#[derive(Debug)]
struct Outcome {
    hinted: Hinted,
    last: Option<i64>,
    short: bool,
    /// Rows were passed over because another transaction held their run.
    busy: bool,
}

/// Matches, in memory and under locks that are already held or were free.
pub(crate) async fn assign(
    conn: &mut PgConnection,
    engine: &Engine,
    plan: &mut Plan,
) -> Result<Assigned, Error> {
    let mut assigned = Assigned::default();
    let hinted = engine.offers.searches(MOST);
    if !hinted.is_empty() {
        claim(conn, engine, plan, &hinted, &mut assigned).await?;
    }
    lease_fresh(engine, plan, &mut assigned);
    Ok(assigned)
}

/// Leases rows that earlier transactions left ready.
async fn claim(
    conn: &mut PgConnection,
    engine: &Engine,
    plan: &mut Plan,
    hinted: &[Hinted],
    assigned: &mut Assigned,
) -> Result<(), Error> {
    let searches: Vec<_> = hinted.iter().map(|hinted| hinted.search).collect();
    let mut found = store::engine::candidates(conn, &searches).await?;
    found.sort_by_key(|row| (row.prio, row.turn));
    let busy = lock_runs(conn, engine, plan, &found).await?;

    let mut counts: HashMap<(i32, i16), i64> = HashMap::new();
    let mut last: HashMap<(i32, i16), i64> = HashMap::new();
    let mut passed: BTreeSet<(i32, i16)> = BTreeSet::new();
    for row in found {
        let place = (row.queue, row.prio);
        *counts.entry(place).or_default() += 1;
        if busy.contains(&row.task.run) {
            passed.insert(place);
            continue;
        }
        if passed.contains(&place) {
            continue;
        }
        let prefers = prefers(plan, row.task);
        match engine.offers.take(row.queue, &prefers) {
            Some(slot) => {
                last.insert(place, row.turn);
                lease_found(engine, plan, assigned, slot, row);
            }
            None => {
                passed.insert(place);
            }
        }
    }
    assigned.searches.extend(hinted.iter().map(|hinted| {
        let place = (hinted.search.queue, hinted.search.prio);
        let found = counts.get(&place).copied().unwrap_or(0);
        Outcome {
            hinted: *hinted,
            last: last.get(&place).copied(),
            short: found < hinted.search.limit && !passed.contains(&place),
            busy: passed.contains(&place) && !busy.is_empty(),
        }
    }));
    Ok(())
}

/// Locks the runs of found rows that nobody else holds. Answers those whose rows must wait for another look.
async fn lock_runs(
    conn: &mut PgConnection,
    engine: &Engine,
    plan: &mut Plan,
    found: &[Candidate],
) -> Result<BTreeSet<RunId>, Error> {
    let wanted: BTreeSet<RunId> = found
        .iter()
        .map(|row| row.task.run)
        .filter(|run| !plan.runs.contains_key(run))
        .collect();
    let mut busy = wanted.clone();
    let ids: Vec<_> = wanted.iter().map(|run| run.as_uuid()).collect();
    if !ids.is_empty() {
        for (run, head) in store::run::lock_free(conn, &ids).await? {
            let info = crate::app::graph::run_info(conn, engine, run).await?;
            plan.lock(&info, head);
            busy.remove(&run);
        }
    }
    // A paused or closing run has no ready rows once its steering has committed: until then they wait.
    busy.extend(
        plan.runs
            .iter()
            .filter(|(_, plan)| plan.head.paused || plan.head.failing || plan.head.state != RUNNING)
            .map(|(run, _)| *run),
    );
    Ok(busy)
}

fn lease_found(
    engine: &Engine,
    plan: &mut Plan,
    assigned: &mut Assigned,
    slot: Slot,
    row: Candidate,
) {
    let Some(run) = plan.run(row.task.run) else {
        engine.offers.give_back(&slot);
        return;
    };
    let lease = random_lease();
    let epoch = row.epoch + 1;
    let kind = RunEventKind::TaskLeased.into();
    run.events
        .push(Transition::of_task(kind, row.task, epoch).by(Some(slot.agent)));
    let timeouts = run.info.graph().nodes()[row.task.n as usize].timeouts;
    assigned.claims.push(Claim {
        task: row.task,
        epoch: row.epoch,
        lease,
        reg: slot.reg,
        agent: slot.agent,
        lease_ms: lease_ms(engine),
        run_ms: timeouts.run.map(|run| run.num_milliseconds()),
    });
    let granted = Lease {
        info: run.info.clone(),
        task: row.task,
        epoch,
        lease,
        failures: row.failures,
        sources: row.sources,
        resumed: row.resumed,
    };
    assigned.slots.push((slot, granted));
}

/// What a task's node would like its agent to have.
fn prefers(plan: &Plan, task: TaskKey) -> Vec<Capability> {
    let run = plan.runs.get(&task.run);
    run.map_or_else(Vec::new, |run| {
        run.info.graph().nodes()[task.n as usize].prefers.clone()
    })
}

/// Leases what this transaction made ready, in the insert itself.
fn lease_fresh(engine: &Engine, plan: &mut Plan, assigned: &mut Assigned) {
    let mut planned = std::mem::take(&mut plan.hot);
    let mut ready: Vec<usize> = (0..planned.len())
        .filter(|at| planned[*at].row.state == hot::READY)
        .collect();
    ready.sort_by_key(|at| planned[*at].row.prio);
    let mut dry: BTreeSet<i32> = BTreeSet::new();
    let mut told: BTreeMap<usize, Transition> = BTreeMap::new();
    for at in ready {
        let planned = &mut planned[at];
        let row = &mut planned.row;
        let slot = if dry.contains(&row.queue) {
            None
        } else {
            engine.offers.take(row.queue, &prefers(plan, row.task))
        };
        let Some(slot) = slot else {
            dry.insert(row.queue);
            assigned.left.insert((row.queue, row.prio));
            if let Some(run) = plan.runs.get(&row.task.run) {
                row.turn = Some(engine.fair.turn((row.queue, row.prio), &run.info));
            }
            let kind = RunEventKind::TaskReady.into();
            told.insert(at, Transition::of_task(kind, row.task, row.epoch));
            continue;
        };
        let Some(run) = plan.runs.get(&row.task.run) else {
            engine.offers.give_back(&slot);
            continue;
        };
        let lease = random_lease();
        let timeouts = run.info.graph().nodes()[planned.node as usize].timeouts;
        row.state = hot::LEASED;
        row.epoch += 1;
        row.lease = Some(lease);
        row.reg = Some(slot.reg);
        row.agent = Some(slot.agent);
        row.until_ms = Some(lease_ms(engine));
        row.deadline_ms = timeouts.run.map(|run| run.num_milliseconds());
        let kind = RunEventKind::TaskLeased.into();
        told.insert(
            at,
            Transition::of_task(kind, row.task, row.epoch).by(Some(slot.agent)),
        );
        let granted = Lease {
            info: run.info.clone(),
            task: row.task,
            epoch: row.epoch,
            lease,
            failures: row.failures,
            sources: row.sources.clone(),
            resumed: row.resumed,
        };
        assigned.slots.push((slot, granted));
    }
    for (at, transition) in told {
        if let Some(run) = plan.run(planned[at].row.task.run) {
            run.events.push(transition);
        }
    }
    plan.hot = planned;
}

fn lease_ms(engine: &Engine) -> i64 {
    i64::try_from(engine.settings.lease.as_millis()).unwrap_or(i64::MAX)
}

impl Assigned {
    /// Takes all promises back: the transaction did not commit.
    pub(crate) fn undo(self, engine: &Engine) {
        for (slot, _) in self.slots {
            engine.offers.give_back(&slot);
        }
    }

    /// Hands out what was leased, notes what the searches saw, and says whether another look is due: at once, or after a
    /// moment because another transaction held what was found.
    pub(crate) fn done(
        self,
        engine: &Engine,
        at: chrono::DateTime<chrono::Utc>,
        void: impl Fn(RunId) -> bool,
    ) -> Again {
        let mut by_offer: BTreeMap<OfferId, Vec<Granted>> = BTreeMap::new();
        let mut granted_to = Vec::with_capacity(self.slots.len());
        for (slot, lease) in self.slots {
            if void(lease.task.run) {
                engine.offers.give_back(&slot);
                continue;
            }
            granted_to.push(slot.agent);
            by_offer.entry(slot.offer).or_default().push(Granted {
                info: lease.info,
                task: lease.task,
                epoch: lease.epoch,
                lease: lease.lease,
                agent: slot.agent,
                failures: lease.failures,
                sources: lease.sources,
                resumed: lease.resumed,
                at,
            });
        }
        for (offer, granted) in by_offer {
            engine.offers.deliver(offer, granted, engine);
        }
        engine.offers.roster(|roster| roster.settle(&granted_to));
        let mut again = Again::default();
        for outcome in self.searches {
            engine.fair.note_served(
                (outcome.hinted.search.queue, outcome.hinted.search.prio),
                outcome.last,
            );
            if outcome.busy {
                again.later = true;
            } else {
                again.now |=
                    engine
                        .offers
                        .note_search(&outcome.hinted, outcome.last, outcome.short);
            }
        }
        // Whoever opened an offer while this ran saw no news of what it leaves.
        let mut left = self.left.iter();
        again.now |= left.any(|(queue, _)| engine.offers.serves(*queue));
        engine.offers.note_news(self.left);
        again.now &= engine.offers.anybody_waits();
        again
    }
}

/// Whether ready work deserves another look.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Again {
    pub(crate) now: bool,
    pub(crate) later: bool,
}

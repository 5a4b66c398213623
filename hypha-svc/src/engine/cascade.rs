//! From ended tasks to what follows: fan-out groups, joins, and the nodes that can no longer run, level by level.

use std::collections::{BTreeMap, HashMap};

use cambium_hypha::EndState;
use cambium_hypha::fan_out::group_state;
use cambium_hypha::join::{Decision, Tally};
use cambium_kernel::{LeaseId, RunId};
use sqlx::PgConnection;

use super::op::EdgeOutcome;
use super::plan::{Carried, Ending, Plan, Settled};
use crate::store::engine::TaskKey;
use crate::store::tally::{Arrival, Delta, Fan};
use crate::store::{self, task};

/// What a batch brought to one node.
#[derive(Debug, Default)]
struct Arrived {
    settled: Vec<Settled>,
}

/// Past this many levels the tallies of the runs concerned are read once, and the rest is worked out in memory: a long
/// chain of omitted nodes would else cost a round trip a node.
const LEVELS_BY_UPSERT: usize = 16;

/// Follows every edge that has settled until nothing more is decided.
pub(crate) async fn follow(conn: &mut PgConnection, plan: &mut Plan) -> Result<(), sqlx::Error> {
    let mut memory: Option<HashMap<(RunId, u32), Delta>> = None;
    let mut level = 0;
    loop {
        store_fans(conn, plan).await?;
        end_groups(conn, plan).await?;
        let arrived = take_frontier(plan);
        if arrived.is_empty() {
            if plan.runs.values().all(|run| run.members.is_empty()) {
                break;
            }
            continue;
        }
        level += 1;
        if level > LEVELS_BY_UPSERT && memory.is_none() {
            memory = Some(load_tallies(conn, plan).await?);
        }
        let tallies = match &mut memory {
            Some(known) => add_in_memory(known, plan, &arrived),
            None => add_to_store(conn, plan, &arrived).await?,
        };
        decide(conn, plan, arrived, &tallies).await?;
    }
    if let Some(known) = memory {
        let values: Vec<Delta> = known.into_values().collect();
        store::tally::put(conn, &values).await?;
    }
    Ok(())
}

async fn store_fans(conn: &mut PgConnection, plan: &mut Plan) -> Result<(), sqlx::Error> {
    for (group, items) in std::mem::take(&mut plan.fans) {
        store::tally::insert_fan(conn, group, &items).await?;
    }
    Ok(())
}

/// Adds ended members to their groups, and ends the groups that are complete.
async fn end_groups(conn: &mut PgConnection, plan: &mut Plan) -> Result<(), sqlx::Error> {
    let deltas: Vec<Fan> = plan
        .runs
        .values_mut()
        .flat_map(|run| std::mem::take(&mut run.members).into_values())
        .collect();
    if deltas.is_empty() {
        return Ok(());
    }
    for fan in store::tally::add_ended(conn, &deltas).await? {
        if fan.ended == fan.total {
            end_group(conn, plan, fan).await?;
        }
    }
    Ok(())
}

async fn end_group(conn: &mut PgConnection, plan: &mut Plan, fan: Fan) -> Result<(), sqlx::Error> {
    let task = TaskKey {
        run: fan.run,
        n: fan.n,
        i: 0,
    };
    let state = group_state(fan.total, fan.failed, fan.cancelled);
    let edges = group_edges(conn, plan, task, state).await?;
    let ending = Ending {
        is_group: true,
        edges,
        ..Ending::default()
    };
    plan.end(task, state, Carried::default(), ending);
    Ok(())
}

/// A condition on an edge out of a group looks at the list of its members' outputs, some of which this very transaction
/// brings.
async fn group_edges(
    conn: &mut PgConnection,
    plan: &Plan,
    task: TaskKey,
    state: EndState,
) -> Result<Option<Vec<EdgeOutcome>>, sqlx::Error> {
    let Some(run) = plan.runs.get(&task.run) else {
        return Ok(None);
    };
    let graph = run.info.graph();
    let looks = graph
        .outgoing(task.n)
        .iter()
        .any(|edge| graph.edges()[*edge as usize].when.is_some());
    if !looks || state != EndState::Succeeded {
        return Ok(None);
    }
    let stored = task::outputs(conn, &[(task.run, task.n)]).await?;
    let mut members: BTreeMap<u32, Vec<u8>> = stored
        .into_iter()
        .map(|(member, output)| (member.i, output.to_vec()))
        .collect();
    for end in &plan.ends {
        if end.task.run == task.run && end.task.n == task.n && end.task.i > 0 {
            let output = end.output.as_deref().unwrap_or_default();
            members.insert(end.task.i, output.to_vec());
        }
    }
    let list = crate::convert::payload::list(members.values().map(Vec::as_slice));
    let outcomes = super::edges::edge_outcomes(&run.info, task.n, state, Some(&list));
    Ok(Some(outcomes))
}

/// What has settled since the last level, by target. Closed runs have no targets left: all that waited has ended.
fn take_frontier(plan: &mut Plan) -> BTreeMap<(RunId, u32), Arrived> {
    let mut arrived: BTreeMap<(RunId, u32), Arrived> = BTreeMap::new();
    for (id, run) in &mut plan.runs {
        let settled = std::mem::take(&mut run.frontier);
        if run.is_closed() {
            continue;
        }
        for edge in settled {
            let target = run.info.graph().edges()[edge.edge as usize].to;
            arrived.entry((*id, target)).or_default().settled.push(edge);
        }
    }
    arrived
}

/// What a batch adds to a node's tally. An edge whose condition errored decides its target whatever the join: it fills
/// the tally, so that no later arrival finds the join undecided.
fn delta_of(plan: &Plan, run: RunId, n: u32, arrived: &Arrived) -> Delta {
    let total = total_of(plan, run, n);
    let mut delta = Delta {
        run,
        n,
        fired: 0,
        dead: 0,
    };
    for settled in &arrived.settled {
        match settled.outcome {
            EdgeOutcome::Fired => delta.fired += 1,
            EdgeOutcome::Dead => delta.dead += 1,
            EdgeOutcome::Fault(_) => delta.dead += total,
        }
    }
    delta
}

fn total_of(plan: &Plan, run: RunId, n: u32) -> u32 {
    plan.runs.get(&run).map_or(0, |plan| {
        u32::try_from(plan.info.graph().incoming(n).len()).unwrap_or(u32::MAX)
    })
}

/// Whether a node keeps a tally. One with a single edge is decided by it and needs none, unless it can lose before.
fn is_tallied(plan: &Plan, run: RunId, n: u32) -> bool {
    let graph = plan.runs.get(&run).map(|plan| plan.info.graph());
    graph.is_some_and(|graph| graph.incoming(n).len() > 1 || graph.cancels_losers())
}

type Tallies = HashMap<(RunId, u32), Delta>;

/// Adds to the stored tallies, of those nodes that have one.
async fn add_to_store(
    conn: &mut PgConnection,
    plan: &Plan,
    arrived: &BTreeMap<(RunId, u32), Arrived>,
) -> Result<Tallies, sqlx::Error> {
    let mut tallies = Tallies::new();
    let mut deltas = Vec::new();
    for ((run, n), arrived) in arrived {
        let delta = delta_of(plan, *run, *n, arrived);
        if is_tallied(plan, *run, *n) {
            deltas.push(delta);
        } else {
            tallies.insert((*run, *n), delta);
        }
    }
    if !deltas.is_empty() {
        let after = store::tally::add(conn, &deltas).await?;
        tallies.extend(after.into_iter().map(|delta| ((delta.run, delta.n), delta)));
    }
    Ok(tallies)
}

async fn load_tallies(conn: &mut PgConnection, plan: &Plan) -> Result<Tallies, sqlx::Error> {
    let runs: Vec<RunId> = plan.runs.keys().copied().collect();
    let known = store::tally::of_runs(conn, &runs).await?;
    Ok(known
        .into_iter()
        .map(|delta| ((delta.run, delta.n), delta))
        .collect())
}

fn add_in_memory(
    known: &mut Tallies,
    plan: &Plan,
    arrived: &BTreeMap<(RunId, u32), Arrived>,
) -> Tallies {
    let mut after = Tallies::new();
    for ((run, n), arrived) in arrived {
        let delta = delta_of(plan, *run, *n, arrived);
        let tally = if is_tallied(plan, *run, *n) {
            let tally = known.entry((*run, *n)).or_insert(Delta {
                fired: 0,
                dead: 0,
                ..delta
            });
            tally.fired += delta.fired;
            tally.dead += delta.dead;
            *tally
        } else {
            delta
        };
        after.insert((*run, *n), tally);
    }
    after
}

/// A node that this level decided to run or to evaluate.
struct Decided {
    run: RunId,
    n: u32,
    evaluate: bool,
    settled: Vec<Settled>,
}

/// Decides the nodes that something arrived at. Whatever was decided before stays: an arrival then changes nothing.
async fn decide(
    conn: &mut PgConnection,
    plan: &mut Plan,
    arrived: BTreeMap<(RunId, u32), Arrived>,
    tallies: &Tallies,
) -> Result<(), sqlx::Error> {
    let mut decided = Vec::new();
    for ((run, n), arrived) in arrived {
        let delta = delta_of(plan, run, n, &arrived);
        let (Some(after), Some(of_run)) = (tallies.get(&(run, n)), plan.runs.get(&run)) else {
            continue;
        };
        let total = total_of(plan, run, n);
        let info = of_run.info.clone();
        let join = &info.graph().nodes()[n as usize].join;
        let before = tally(
            after.fired - delta.fired,
            after.dead.saturating_sub(delta.dead),
            total,
        );
        if join.decide(before) != Decision::Wait {
            continue;
        }
        if let Some(fault) = arrived.settled.iter().find_map(fault_of) {
            fail_by_condition(plan, run, n, &fault);
            continue;
        }
        let after = tally(after.fired, after.dead, total);
        let decision = join.decide(after);
        if decision != Decision::Wait && info.graph().nodes()[n as usize].cancel_losers {
            plan.run(run)
                .into_iter()
                .for_each(|plan| plan.decided.push(n));
        }
        match decision {
            Decision::Wait => keep_arrivals(plan, run, n, &arrived.settled),
            Decision::Omit => {
                let task = TaskKey { run, n, i: 0 };
                plan.end(
                    task,
                    EndState::Omitted,
                    Carried::default(),
                    Ending::default(),
                );
            }
            decision @ (Decision::Run | Decision::Evaluate) => decided.push(Decided {
                run,
                n,
                evaluate: decision == Decision::Evaluate,
                settled: arrived.settled,
            }),
        }
    }
    start(conn, plan, decided).await
}

/// Counts as the join reads them. A fault adds more than there are edges.
fn tally(fired: u32, dead: u32, total: u32) -> Tally {
    let fired = fired.min(total);
    Tally {
        fired,
        dead: dead.min(total - fired),
        total,
    }
}

fn fault_of(settled: &Settled) -> Option<String> {
    match &settled.outcome {
        EdgeOutcome::Fault(fault) => Some(fault.clone()),
        EdgeOutcome::Fired | EdgeOutcome::Dead => None,
    }
}

fn fail_by_condition(plan: &mut Plan, run: RunId, n: u32, fault: &str) {
    let ending = Ending::because("CONDITION_ERROR", fault);
    let task = TaskKey { run, n, i: 0 };
    plan.end(task, EndState::Failed, Carried::default(), ending);
}

/// Remembers which edges fired into a node that waits on, unless its sources follow from the graph alone.
fn keep_arrivals(plan: &mut Plan, run: RunId, n: u32, settled: &[Settled]) {
    let is_plain = plan
        .runs
        .get(&run)
        .is_none_or(|plan| plan.info.graph().is_plain(n));
    if is_plain {
        return;
    }
    let fired = settled
        .iter()
        .filter(|edge| edge.outcome == EdgeOutcome::Fired);
    plan.arrivals.extend(fired.map(|edge| Arrival {
        run,
        n,
        edge: edge.edge,
        succeeded: edge.succeeded,
    }));
}

/// Makes decided nodes ready, with the sources they take: fixed now, whatever settles later.
async fn start(
    conn: &mut PgConnection,
    plan: &mut Plan,
    decided: Vec<Decided>,
) -> Result<(), sqlx::Error> {
    let earlier = earlier_arrivals(conn, plan, &decided).await?;
    for node in decided {
        let Some(info) = plan.runs.get(&node.run).map(|run| run.info.clone()) else {
            continue;
        };
        let graph = info.graph();
        let task = TaskKey {
            run: node.run,
            n: node.n,
            i: 0,
        };
        let sources = (!graph.is_plain(node.n)).then(|| {
            let now = node
                .settled
                .iter()
                .filter(|e| e.outcome == EdgeOutcome::Fired);
            let now = now.map(|edge| (edge.edge, edge.succeeded));
            let before = earlier.get(&(node.run, node.n)).into_iter().flatten();
            let mut sources: Vec<u32> = now
                .chain(before.map(|arrival| (arrival.edge, arrival.succeeded)))
                .filter(|(edge, succeeded)| *succeeded && graph.edges()[*edge as usize].data)
                .map(|(edge, _)| graph.edges()[edge as usize].from)
                .collect();
            sources.sort_unstable();
            sources.dedup();
            store::pack(&sources)
        });
        if node.evaluate || graph.needs_decision(node.n) {
            plan.deciding(task, sources, random_lease());
        } else {
            let carried = Carried {
                sources,
                ..Carried::default()
            };
            plan.ready(task, carried);
        }
    }
    Ok(())
}

/// Arrivals noted by earlier transactions and by earlier levels of this one, for nodes whose sources need them.
async fn earlier_arrivals(
    conn: &mut PgConnection,
    plan: &Plan,
    decided: &[Decided],
) -> Result<HashMap<(RunId, u32), Vec<Arrival>>, sqlx::Error> {
    let mut arrivals: HashMap<(RunId, u32), Vec<Arrival>> = HashMap::new();
    let asked: Vec<(RunId, u32)> = decided
        .iter()
        .filter(|node| {
            let graph = plan.runs.get(&node.run).map(|run| run.info.clone());
            graph.is_some_and(|info| {
                !info.graph().is_plain(node.n) && info.graph().incoming(node.n).len() > 1
            })
        })
        .map(|node| (node.run, node.n))
        .collect();
    if asked.is_empty() {
        return Ok(arrivals);
    }
    for arrival in store::tally::arrivals(conn, &asked).await? {
        arrivals
            .entry((arrival.run, arrival.n))
            .or_default()
            .push(arrival);
    }
    for arrival in &plan.arrivals {
        arrivals
            .entry((arrival.run, arrival.n))
            .or_default()
            .push(*arrival);
    }
    Ok(arrivals)
}

/// 128 fresh random bits.
pub(crate) fn random_lease() -> LeaseId {
    LeaseId::from_random(rand::random())
}

/// Decides nodes that wait on nothing: the roots of a new run.
pub(crate) fn start_roots(plan: &mut Plan, run: RunId, roots: impl IntoIterator<Item = u32>) {
    let Some(info) = plan.runs.get(&run).map(|plan| plan.info.clone()) else {
        return;
    };
    for n in roots {
        let task = TaskKey { run, n, i: 0 };
        if info.graph().needs_decision(n) {
            plan.deciding(task, None, random_lease());
        } else {
            plan.ready(task, Carried::default());
        }
    }
}

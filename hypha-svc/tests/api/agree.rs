//! The engine over Postgres, held against a sequential model that shares no rule with it.

use std::collections::BTreeMap;

use cambium_hypha::graph::{EdgeSpec, JoinSpec, NodeSpec, Spec};
use cambium_hypha::{EndState, EndStates, Graph};
use cambium_proto::hypha::v1 as wire;
use cambium_proto::hypha::v1::{RunState, TaskState};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::fixture::{Fixture, Wish, Worker, start_with};
use crate::model::simulate;

/// Graphs at once: they meet in the same batches.
const AT_ONCE: usize = 20;
const ROUNDS: usize = 6;
const COMMITTERS: usize = 4;

/// A random graph, and which of its nodes fail.
#[derive(Clone, Debug)]
struct Case {
    nodes: Vec<JoinSpec>,
    edges: Vec<(usize, usize, EndStates, bool)>,
    fails: Vec<bool>,
}

fn key(node: usize) -> String {
    format!("n{node}")
}

fn end_states() -> impl Strategy<Value = EndStates> {
    prop_oneof![
        4 => Just(EndStates::default()),
        1 => proptest::sample::subsequence(&EndState::ALL[..4], 1..=4).prop_map(|on| EndStates::of(&on)),
    ]
}

fn cases() -> impl Strategy<Value = Case> {
    (2_usize..=10).prop_flat_map(|count| {
        let pairs: Vec<(usize, usize)> = (0..count)
            .flat_map(|to| (0..to).map(move |from| (from, to)))
            .collect();
        let most = pairs.len().min(2 * count);
        let edges = proptest::sample::subsequence(pairs, 0..=most).prop_flat_map(|pairs| {
            let states = proptest::collection::vec((end_states(), any::<bool>()), pairs.len());
            states.prop_map(move |states| {
                let both = pairs.iter().zip(states);
                both.map(|((from, to), (on, data))| (*from, *to, on, data))
                    .collect::<Vec<_>>()
            })
        });
        let joins = proptest::collection::vec(0_u8..5, count);
        let fails = proptest::collection::vec(proptest::bool::weighted(0.25), count);
        (joins, edges, fails).prop_map(|(joins, edges, fails)| {
            let nodes = joins.iter().enumerate().map(|(node, join)| {
                let upstream: Vec<usize> = edges
                    .iter()
                    .filter(|(_, to, ..)| *to == node)
                    .map(|(from, ..)| *from)
                    .collect();
                join_of(*join, &upstream)
            });
            Case {
                nodes: nodes.collect(),
                edges,
                fails,
            }
        })
    })
}

fn join_of(kind: u8, upstream: &[usize]) -> JoinSpec {
    if upstream.is_empty() {
        return JoinSpec::All;
    }
    match kind {
        0 => JoinSpec::All,
        1 => JoinSpec::Any,
        2 => JoinSpec::Settled,
        3 => JoinSpec::Quorum(u32::try_from(upstream.len()).unwrap().div_ceil(2)),
        _ => JoinSpec::Expr(format!("state.{} == 'succeeded'", key(upstream[0]))),
    }
}

fn spec(case: &Case) -> Spec {
    Spec {
        name: "random".to_owned(),
        nodes: case
            .nodes
            .iter()
            .enumerate()
            .map(|(node, join)| NodeSpec {
                join: join.clone(),
                ..NodeSpec::new(&key(node))
            })
            .collect(),
        edges: case
            .edges
            .iter()
            .map(|(from, to, on, data)| EdgeSpec {
                on: *on,
                data: *data,
                ..EdgeSpec::new(&key(*from), &key(*to))
            })
            .collect(),
        fail_fast: false,
        ..Spec::default()
    }
}

fn on_wire(state: EndState) -> TaskState {
    match state {
        EndState::Succeeded => TaskState::Succeeded,
        EndState::Failed => TaskState::Failed,
        EndState::Skipped => TaskState::Skipped,
        EndState::Omitted => TaskState::Omitted,
        EndState::Cancelled => TaskState::Cancelled,
    }
}

fn to_wire(case: &Case) -> wire::Graph {
    let join = |join: &JoinSpec| {
        let (kind, needed, expr) = match join {
            JoinSpec::All => (wire::JoinKind::All, 0, String::new()),
            JoinSpec::Any => (wire::JoinKind::Any, 0, String::new()),
            JoinSpec::Settled => (wire::JoinKind::Settled, 0, String::new()),
            JoinSpec::Quorum(needed) => (wire::JoinKind::Quorum, *needed, String::new()),
            JoinSpec::Expr(expr) => (wire::JoinKind::Expr, 0, expr.clone()),
        };
        wire::Join {
            kind: kind.into(),
            needed,
            expr,
            cancel_losers: false,
        }
    };
    let nodes = case.nodes.iter().enumerate();
    let edges = case.edges.iter();
    wire::Graph {
        name: "random".to_owned(),
        fail_fast: Some(false),
        nodes: nodes
            .map(|(node, spec)| wire::Node {
                key: key(node),
                join: Some(join(spec)),
                ..wire::Node::default()
            })
            .collect(),
        edges: edges
            .map(|(from, to, on, data)| wire::Edge {
                from: key(*from),
                to: key(*to),
                data: Some(*data),
                on: on.iter().map(|state| on_wire(state).into()).collect(),
                when: String::new(),
            })
            .collect(),
        ..wire::Graph::default()
    }
}

/// What the model says each task comes to.
fn expected(case: &Case) -> BTreeMap<String, TaskState> {
    let graph = Graph::check(spec(case)).unwrap().graph;
    let ends = simulate(&graph, |node| {
        if case.fails[node as usize] {
            EndState::Failed
        } else {
            EndState::Succeeded
        }
    });
    let keys = graph.nodes().iter().map(|node| node.key.to_string());
    keys.zip(ends.into_iter().map(on_wire)).collect()
}

/// Does whatever comes: fails what must fail, and after each attempt presents the lease of the one before, which is gone.
async fn work(mut worker: Worker, fails: BTreeMap<String, Vec<bool>>) {
    let mut last = None;
    loop {
        let attempts = worker.poll(8, 1_500).await.unwrap();
        if attempts.is_empty() {
            return;
        }
        for attempt in attempts {
            let (run, node) = attempt
                .lease
                .as_ref()
                .unwrap()
                .task_id
                .split_once('/')
                .unwrap();
            let node: usize = node[1..].parse().unwrap();
            if fails.get(run).is_none_or(|fails| !fails[node]) {
                worker.complete(&attempt).await.unwrap();
            } else {
                worker.fail(&attempt, "BROKEN", false).await.unwrap();
            }
            if let Some(stale) = last.replace(attempt) {
                // Its lease is gone: another body is refused, and changes nothing.
                worker
                    .complete_with(&stale, r#""stale""#)
                    .await
                    .unwrap_err();
            }
        }
    }
}

async fn one_round(fixture: &Fixture, worker: &Worker, cases: Vec<Case>) {
    let mut runs = Vec::new();
    for case in cases {
        let run = fixture.start(to_wire(&case)).await;
        runs.push((run, case));
    }
    let fails: BTreeMap<String, Vec<bool>> = runs
        .iter()
        .map(|(run, case)| (run.clone(), case.fails.clone()))
        .collect();
    let hands = (0..6).map(|_| work(worker.clone(), fails.clone()));
    futures::future::join_all(hands).await;

    for (run, case) in runs {
        let states = fixture.states(&run).await;
        assert_eq!(states, expected(&case), "run {run} of {case:?}");
        let now = fixture.run(&run).await;
        assert!(
            now.state() > RunState::Cancelling,
            "the run has ended: {case:?}"
        );
        let gift = now.gift.unwrap();
        assert_eq!(
            now.gratitude, gift.total_handoffs,
            "gratitude equals handoffs: {case:?}"
        );
        let succeeded = states
            .values()
            .filter(|state| **state == TaskState::Succeeded)
            .count();
        assert_eq!(gift.total_outputs, i64::try_from(succeeded).unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_engine_and_the_model_agree_on_random_graphs() {
    let fixture = start_with(Wish {
        committers: COMMITTERS,
        ..Wish::default()
    })
    .await;
    let worker = fixture.worker("w", &[]).await;
    let seed: [u8; 32] = rand::random();
    println!("seed {seed:?}");
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = cases();

    for _ in 0..ROUNDS {
        let cases = (0..AT_ONCE).map(|_| strategy.new_tree(&mut runner).unwrap().current());
        one_round(&fixture, &worker, cases.collect()).await;
    }
}

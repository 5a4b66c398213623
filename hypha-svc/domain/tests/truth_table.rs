//! Runs random graphs edge by edge in random orders and holds the ends against the sequential model.

#![expect(
    clippy::unwrap_used,
    reason = "what helps a test may panic as the test may"
)]

#[path = "../../tests/api/model.rs"]
mod model;

use cambium_hypha::condition::Scope;
use cambium_hypha::graph::{EdgeSpec, Graph, JoinSpec, NodeSpec, Spec};
use cambium_hypha::join::{Decision, Tally};
use cambium_hypha::{Condition, EndState, EndStates, Join};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

/// A run under the rules alone: edges settle one at a time, in whatever order chance picks.
struct Run<'a> {
    graph: &'a Graph,
    outcomes: &'a [EndState],
    tallies: Vec<Tally>,
    ends: Vec<Option<EndState>>,
    /// Edges whose upstream has ended and which have not been counted yet.
    settling: Vec<u32>,
}

impl<'a> Run<'a> {
    fn start(graph: &'a Graph, outcomes: &'a [EndState]) -> Self {
        let nodes = 0..u32::try_from(graph.nodes().len()).unwrap();
        let total = |node| u32::try_from(graph.incoming(node).len()).unwrap();
        let tallies = nodes
            .map(|node| Tally {
                total: total(node),
                ..Tally::default()
            })
            .collect();
        let ends = vec![None; graph.nodes().len()];
        let mut run = Self {
            graph,
            outcomes,
            tallies,
            ends,
            settling: Vec::new(),
        };
        graph.roots().for_each(|root| run.decide(root));
        run
    }

    fn settle(&mut self, pick: Index) {
        let edge = self.settling.swap_remove(pick.index(self.settling.len()));
        let edge = &self.graph.edges()[edge as usize];
        let end = self.ends[edge.from as usize].unwrap();
        let tally = &mut self.tallies[edge.to as usize];
        if edge.on.contains(end) && holds(edge.when.as_ref()) {
            tally.fired += 1;
        } else {
            tally.dead += 1;
        }
        self.decide(edge.to);
    }

    fn decide(&mut self, node: u32) {
        let its = &self.graph.nodes()[node as usize];
        let runs = match its.join.decide(self.tallies[node as usize]) {
            Decision::Wait => return,
            Decision::Run => true,
            Decision::Omit => false,
            Decision::Evaluate => self.evaluate(node),
        };
        if self.ends[node as usize].is_some() {
            return; // edges that settle late change nothing
        }
        self.ends[node as usize] = Some(match runs {
            false => EndState::Omitted,
            true if !holds(its.when.as_ref()) => EndState::Skipped,
            true => self.outcomes[node as usize],
        });
        self.settling.extend(self.graph.outgoing(node));
    }

    fn evaluate(&self, node: u32) -> bool {
        let Join::Expr(condition) = &self.graph.nodes()[node as usize].join else {
            unreachable!()
        };
        let edges = self
            .graph
            .incoming(node)
            .iter()
            .map(|&edge| &self.graph.edges()[edge as usize]);
        let states: Vec<_> = edges
            .map(|edge| {
                let key = self.graph.nodes()[edge.from as usize].key.as_str();
                (key, self.ends[edge.from as usize].unwrap())
            })
            .collect();
        condition
            .evaluate(&Scope {
                states: &states,
                ..Scope::default()
            })
            .unwrap()
    }
}

fn holds(condition: Option<&Condition>) -> bool {
    condition.is_none_or(|condition| condition.evaluate(&Scope::default()).unwrap())
}

fn whens() -> impl Strategy<Value = Option<String>> {
    prop_oneof![6 => Just(None), 1 => Just(Some("true".to_owned())), 1 => Just(Some("1 > 2".to_owned()))]
}

fn ons() -> impl Strategy<Value = EndStates> {
    prop_oneof![
        Just(EndStates::default()),
        subsequence(EndState::ALL.to_vec(), 1..=5).prop_map(|states| EndStates::of(&states)),
    ]
}

/// Random graphs of up to nine nodes with every kind of join.
fn graphs() -> impl Strategy<Value = Graph> {
    (2_usize..=9)
        .prop_flat_map(|nodes| {
            let pairs: Vec<_> = (0..nodes)
                .flat_map(|to| (0..to).map(move |from| (from, to)))
                .collect();
            let edges = subsequence(pairs.clone(), 0..=pairs.len());
            let joins = proptest::collection::vec((0..5_u8, any::<Index>(), whens()), nodes);
            (
                edges,
                joins,
                proptest::collection::vec((ons(), whens()), pairs.len()),
            )
        })
        .prop_map(|(edges, joins, traits)| graph(&edges, joins, &traits))
}

fn graph(
    edges: &[(usize, usize)],
    joins: Vec<(u8, Index, Option<String>)>,
    traits: &[(EndStates, Option<String>)],
) -> Graph {
    let nodes = joins
        .into_iter()
        .enumerate()
        .map(|(at, (kind, pick, when))| {
            let upstream: Vec<_> = edges
                .iter()
                .filter(|edge| edge.1 == at)
                .map(|edge| edge.0)
                .collect();
            NodeSpec {
                join: join(kind, pick, &upstream),
                when,
                ..NodeSpec::new(&format!("n{at}"))
            }
        });
    let edges = edges
        .iter()
        .zip(traits)
        .map(|((from, to), (on, when))| EdgeSpec {
            on: *on,
            when: when.clone(),
            ..EdgeSpec::new(&format!("n{from}"), &format!("n{to}"))
        });
    let (nodes, edges) = (nodes.collect(), edges.collect());
    Graph::check(Spec {
        name: "random".to_owned(),
        nodes,
        edges,
        fail_fast: false,
        ..Spec::default()
    })
    .unwrap()
    .graph
}

fn join(kind: u8, pick: Index, upstream: &[usize]) -> JoinSpec {
    match (kind, upstream) {
        (0, _) | (_, []) => JoinSpec::All,
        (1, _) => JoinSpec::Any,
        (2, _) => JoinSpec::Settled,
        (3, _) => JoinSpec::Quorum(1 + u32::try_from(pick.index(upstream.len())).unwrap()),
        _ => JoinSpec::Expr(format!(
            "state.n{} == \"succeeded\"",
            upstream[pick.index(upstream.len())]
        )),
    }
}

proptest! {
    #[test]
    fn every_order_of_edges_ends_as_the_model_says(
        graph in graphs(),
        outcomes in proptest::collection::vec(select(&[EndState::Succeeded, EndState::Failed]), 9),
        picks in proptest::collection::vec(any::<Index>(), 36),
    ) {
        let mut run = Run::start(&graph, &outcomes);
        for pick in picks {
            if !run.settling.is_empty() {
                run.settle(pick);
            }
        }

        let ends: Option<Vec<_>> = run.ends.into_iter().collect();
        let expected = model::simulate(&graph, |node| outcomes[node as usize]);
        prop_assert_eq!(ends.expect("no node is left waiting"), expected);
    }
}

#[test]
fn a_skipped_branch_does_not_hold_up_a_node_that_accepts_it() {
    let nodes = ["O", "A", "B", "C", "D", "E"].map(|key| NodeSpec {
        when: (key == "B").then(|| "false".to_owned()),
        ..NodeSpec::new(key)
    });
    let edges =
        ["OA", "OB", "AC", "BD", "CE", "DE"].map(|ends| EdgeSpec::new(&ends[..1], &ends[1..]));
    let mut edges = edges.to_vec();
    edges[5].on = EndStates::of(&[EndState::Succeeded, EndState::Skipped, EndState::Omitted]);
    let spec = Spec {
        name: "r1".to_owned(),
        nodes: nodes.to_vec(),
        edges,
        ..Spec::default()
    };

    let ends = model::simulate(&Graph::check(spec).unwrap().graph, |_| EndState::Succeeded);

    use EndState::{Omitted, Skipped, Succeeded};
    assert_eq!(
        ends,
        [Succeeded, Succeeded, Skipped, Succeeded, Omitted, Succeeded]
    );
}

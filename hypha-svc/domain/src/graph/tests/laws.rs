//! What holds for every graph.

use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

use super::{EdgeSpec, Graph, NodeKey, NodeSpec, Spec, spec};
use crate::gift::{Execution, Lineage, TaskRef};
use crate::{EndState, Error};

/// Random acyclic graphs: every edge leads from an earlier to a later node of a shuffled order.
fn dags(least_edges: usize) -> impl Strategy<Value = Spec> {
    (1 + least_edges..14)
        .prop_flat_map(move |nodes| {
            let pairs = (0..nodes).flat_map(|to| (0..to).map(move |from| (from, to)));
            let pairs: Vec<_> = pairs.collect();
            let order = Just((0..nodes).collect::<Vec<_>>()).prop_shuffle();
            (
                order,
                subsequence(pairs.clone(), least_edges..=pairs.len()).prop_shuffle(),
            )
        })
        .prop_map(|(order, edges)| {
            let key = |at: usize| format!("n{}", order[at]);
            let edges = edges
                .iter()
                .map(|(from, to)| EdgeSpec::new(&key(*from), &key(*to)));
            let nodes = (0..order.len()).map(|at| NodeSpec::new(&format!("n{at}")));
            Spec {
                nodes: nodes.collect(),
                edges: edges.collect(),
                ..spec("", "")
            }
        })
}

fn leads(spec: &Spec, from: &NodeKey, to: &NodeKey) -> bool {
    spec.edges
        .iter()
        .any(|edge| edge.from == from.as_str() && edge.to == to.as_str())
}

proptest! {
    #[test]
    fn every_acyclic_graph_is_accepted_as_it_is(spec in dags(0)) {
        let graph = Graph::check(spec.clone()).unwrap().graph;

        let key = |node: u32| graph.nodes()[node as usize].key.to_string();
        let edges: Vec<_> = graph.edges().iter().map(|it| EdgeSpec::new(&key(it.from), &key(it.to))).collect();
        prop_assert_eq!(&edges, &spec.edges);
        for node in 0..u32::try_from(graph.nodes().len()).unwrap() {
            prop_assert!(graph.incoming(node).iter().all(|&edge| graph.edges()[edge as usize].to == node));
            prop_assert!(graph.outgoing(node).iter().all(|&edge| graph.edges()[edge as usize].from == node));
        }
    }

    #[test]
    fn an_edge_that_leads_back_is_refused_with_a_real_cycle(mut spec in dags(1), pick in any::<Index>()) {
        let edge = spec.edges[pick.index(spec.edges.len())].clone();
        spec.edges.push(EdgeSpec::new(&edge.to, &edge.from));

        let Err(Error::Cycle(cycle)) = Graph::check(spec.clone()) else {
            return Err(TestCaseError::fail("accepted a cycle"));
        };

        let ends = cycle.iter().zip(cycle.iter().cycle().skip(1));
        prop_assert!(cycle.len() >= 2 && ends.into_iter().all(|(from, to)| leads(&spec, from, to)), "{cycle:?}");
    }

    #[test]
    fn doubled_edges_change_nothing(spec in dags(1), picks in proptest::collection::vec(any::<Index>(), 0..6)) {
        let mut doubled = spec.clone();
        doubled.edges.extend(picks.iter().map(|pick| spec.edges[pick.index(spec.edges.len())].clone()));

        let (once, twice) = (Graph::check(spec).unwrap(), Graph::check(doubled).unwrap());

        prop_assert_eq!(once.graph.edges(), twice.graph.edges());
        prop_assert_eq!(twice.warnings.is_empty(), picks.is_empty());
    }

    #[test]
    fn the_gift_known_beforehand_is_that_of_a_run_in_which_all_succeed(spec in dags(0)) {
        let graph = Graph::check(spec).unwrap().graph;

        let executions: Vec<_> = (0..u32::try_from(graph.nodes().len()).unwrap())
            .map(|node| Execution {
                id: TaskRef::node(node),
                state: EndState::Succeeded,
                agent: None,
                sources: graph.incoming(node).iter().map(|&edge| TaskRef::node(graph.edges()[edge as usize].from)).collect(),
                consumed_by: vec![],
            })
            .collect();
        prop_assert_eq!(graph.static_gift(), Some(Lineage::of(&executions).compute_metrics()));
    }
}

use proptest::prelude::*;

use super::*;
use crate::graph::{EdgeSpec, NodeSpec, Spec};

fn graph(nodes: usize, edges: &[(usize, usize)]) -> Graph {
    let key = |at: usize| format!("n{at}");
    Graph::check(Spec {
        name: "rerun".to_owned(),
        nodes: (0..nodes).map(|at| NodeSpec::new(&key(at))).collect(),
        edges: edges
            .iter()
            .map(|(from, to)| EdgeSpec::new(&key(*from), &key(*to)))
            .collect(),
        ..Spec::default()
    })
    .unwrap()
    .graph
}

const fn ended(state: EndState) -> Ended {
    Ended {
        state,
        accepted: false,
    }
}

#[test]
fn what_a_named_node_does_not_reach_is_taken_over() {
    let graph = graph(4, &[(0, 1), (0, 2), (1, 3)]);

    let again = done_again(&graph, &[ended(EndState::Succeeded); 4], &[1]);

    assert_eq!(again, [false, true, false, true]);
}

#[test]
fn a_failure_is_taken_over_only_where_an_edge_handled_it() {
    let graph = graph(3, &[(0, 1)]);
    let handled = Ended {
        state: EndState::Failed,
        accepted: true,
    };
    let ends = [handled, ended(EndState::Succeeded), ended(EndState::Failed)];

    assert_eq!(done_again(&graph, &ends, &[]), [false, false, true]);
}

fn states() -> impl Strategy<Value = Ended> {
    let state = prop::sample::select(EndState::ALL.to_vec());
    (state, any::<bool>()).prop_map(|(state, accepted)| Ended { state, accepted })
}

prop_compose! {
    fn cases()(
        nodes in 1_usize..12,
    )(
        ends in prop::collection::vec(states(), nodes),
        edges in prop::collection::btree_set((0..nodes, 0..nodes), 0..20),
        named in prop::collection::vec(0..u32::try_from(nodes).unwrap(), 0..3),
    ) -> (Graph, Vec<Ended>, Vec<u32>) {
        let edges: Vec<_> = edges.into_iter().filter(|(from, to)| from < to).collect();
        (graph(ends.len(), &edges), ends, named)
    }
}

proptest! {
    /// Nothing taken over depends on what is done again, and nothing is done again without a cause.
    #[test]
    fn what_is_done_again_is_closed_downstream_and_no_more_than_it_must_be((graph, ends, named) in cases()) {
        let again = done_again(&graph, &ends, &named);

        for edge in graph.edges() {
            prop_assert!(!again[edge.from as usize] || again[edge.to as usize]);
        }
        for (n, end) in (0_u32..).zip(&ends) {
            let is_cause = named.contains(&n) || !end.can_be_reused();
            prop_assert!(!is_cause || again[n as usize]);
            let is_reached = graph.incoming(n).iter().any(|edge| again[graph.edges()[*edge as usize].from as usize]);
            prop_assert!(!again[n as usize] || is_cause || is_reached);
        }
    }
}

use cambium_proto::hypha::v1::{Node, TaskState};
use proptest::prelude::*;

use super::*;

fn drawn(keys: &[&str], edges: &[(&str, &str)]) -> Graph {
    let edge = |&(from, to): &(&str, &str)| Edge {
        from: from.into(),
        to: to.into(),
        ..Edge::default()
    };
    Graph {
        name: "drawn".into(),
        nodes: keys
            .iter()
            .map(|&key| Node {
                key: key.into(),
                ..Node::default()
            })
            .collect(),
        edges: edges.iter().map(edge).collect(),
        ..Graph::default()
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn every_fault_names_its_offenders() {
    let refusal = |keys: &[&str], edges: &[(&str, &str)]| graph(drawn(keys, edges)).unwrap_err();

    assert_eq!(refusal(&[], &[]), Error::Empty);
    assert_eq!(
        refusal(&["a b", "", "c"], &[]),
        Error::KeysInvalid(names(&["", "a b"]))
    );
    assert_eq!(
        refusal(&["a", "b", "a"], &[]),
        Error::KeysDuplicate(names(&["a"]))
    );
    assert_eq!(
        refusal(&["a"], &[("z", "a"), ("a", "y"), ("z", "z")]),
        Error::UnknownReferences(names(&["y", "z"]))
    );
    assert_eq!(
        refusal(&["a", "b"], &[("b", "b"), ("a", "a")]),
        Error::SelfEdges(names(&["a", "b"]))
    );
}

#[test]
fn an_edge_given_twice_alike_is_one_edge() {
    let merged = graph(drawn(&["a", "b"], &[("a", "b"), ("a", "b")])).unwrap();

    assert_eq!(merged, drawn(&["a", "b"], &[("a", "b")]));
}

#[test]
fn an_edge_given_twice_and_otherwise_is_refused() {
    let mut twice = drawn(&["a", "b"], &[("a", "b"), ("a", "b")]);
    twice.edges[1].on = vec![TaskState::Failed.into()];

    assert_eq!(graph(twice), Err(Error::EdgesConflict(names(&["a -> b"]))));
}

#[test]
fn a_cycle_is_listed_in_the_order_of_its_edges() {
    let edges = [
        ("start", "a"),
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
        ("c", "end"),
    ];
    let refusal = graph(drawn(&["start", "end", "c", "b", "a"], &edges)).unwrap_err();

    let Error::Cycle(cycle) = refusal else {
        panic!("no cycle: {refusal}")
    };
    assert_eq!(cycle.len(), 3);
    for (index, from) in cycle.iter().enumerate() {
        let to = &cycle[(index + 1) % cycle.len()];
        assert!(edges.contains(&(from, to)), "{from} -> {to} is no edge");
    }
}

#[test]
fn a_chain_as_long_as_allowed_is_no_burden() {
    let keys: Vec<String> = (0..MAX_NODES).map(|n| n.to_string()).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let edges: Vec<_> = keys.windows(2).map(|pair| (pair[0], pair[1])).collect();

    let chain = graph(drawn(&keys, &edges)).unwrap();

    assert_eq!(chain.edges.len(), MAX_NODES - 1);
    let more = [&keys[..], &["more"]].concat();
    assert!(matches!(
        graph(drawn(&more, &[])),
        Err(Error::TooLarge { what: "nodes", .. })
    ));
}

proptest! {
    #[test]
    fn edges_that_all_lead_forwards_make_no_cycle(pairs in prop::collection::vec((0_usize..30, 0_usize..30), 0..80)) {
        let keys: Vec<String> = (0..30).map(|n| format!("n{n}")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let forwards: Vec<_> = pairs.iter().filter(|(a, b)| a != b).map(|&(a, b)| (keys[a.min(b)], keys[a.max(b)])).collect();

        prop_assert!(graph(drawn(&keys, &forwards)).is_ok());
    }

    #[test]
    fn a_cycle_that_is_listed_is_one(pairs in prop::collection::vec((0_usize..8, 0_usize..8), 0..30)) {
        let keys: Vec<String> = (0..8).map(|n| format!("n{n}")).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let edges: Vec<_> = pairs.iter().filter(|(a, b)| a != b).map(|&(a, b)| (keys[a], keys[b])).collect();

        if let Err(Error::Cycle(cycle)) = graph(drawn(&keys, &edges)) {
            let next = cycle.iter().cycle().skip(1);
            for (from, to) in cycle.iter().zip(next) {
                prop_assert!(edges.contains(&(from.as_str(), to.as_str())));
            }
        }
    }
}

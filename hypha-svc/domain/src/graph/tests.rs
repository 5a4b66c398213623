use cambium_kernel::{ErrorKind, Failure};
use chrono::TimeDelta;

use super::*;
use crate::EndState;

mod laws;

/// A graph whose edges are written `"ab bc"`.
fn spec(nodes: &str, edges: &str) -> Spec {
    let nodes = nodes.chars().map(|key| NodeSpec::new(&key.to_string()));
    let edges = edges
        .split_whitespace()
        .map(|ends| EdgeSpec::new(&ends[..1], &ends[1..]));
    Spec {
        name: "small".to_owned(),
        nodes: nodes.collect(),
        edges: edges.collect(),
        ..Spec::default()
    }
}

fn refused(spec: Spec) -> (&'static str, String, String) {
    let error = Graph::check(spec).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    (error.reason(), error.field().unwrap(), error.to_string())
}

#[test]
fn a_diamond_is_accepted() {
    let Checked { graph, warnings } = Graph::check(spec("abcd", "ab ac bd cd")).unwrap();

    assert!(warnings.is_empty());
    assert_eq!(graph.roots().collect::<Vec<_>>(), [0]);
    assert_eq!(
        (graph.incoming(3), graph.outgoing(0)),
        (&[2, 3][..], &[0, 1][..])
    );
    assert_eq!((graph.index_of("c"), graph.index_of("x")), (Some(2), None));
    assert!((0..4).all(|node| graph.is_plain(node) && !graph.needs_decision(node)));
}

#[test]
fn an_identical_edge_is_merged_and_said() {
    let Checked { graph, warnings } = Graph::check(spec("ab", "ab ab ab")).unwrap();

    assert_eq!(graph.edges().len(), 1);
    assert_eq!(warnings, ["edge a -> b was given again and is kept once"]);
}

#[test]
fn an_edge_that_differs_from_its_double_is_refused() {
    let mut spec = spec("ab", "ab ab");
    spec.edges[1].data = false;

    let (reason, field, message) = refused(spec);

    assert_eq!((reason, &*field), ("EDGE_CONFLICT", "graph.edges[1]"));
    assert_eq!(message, "edges join the same nodes and differ: `a -> b`");
}

#[test]
fn shapes_that_are_no_graph_are_refused_with_all_offenders() {
    for (nodes, edges, reason, field, message) in [
        (
            "",
            "",
            "GRAPH_EMPTY",
            "graph.nodes",
            "the graph has no nodes",
        ),
        (
            "a",
            "aa",
            "GRAPH_SELF_EDGE",
            "graph.edges[0]",
            "edges lead from a node to itself: `a`",
        ),
        (
            "abc",
            "ab bc ca",
            "GRAPH_CYCLE",
            "graph.edges",
            "nodes wait on one another: `a` -> `b` -> `c` -> `a`",
        ),
        (
            "ab",
            "ab ax yb az",
            "NODE_UNKNOWN",
            "graph.edges[1].to",
            "edges name nodes that the graph does not have: `x`, `y`, `z`",
        ),
        (
            "abab",
            "",
            "NODE_DUPLICATE",
            "graph.nodes[2].key",
            "several nodes have the key `a`, `b`",
        ),
        (
            "a b ",
            "",
            "NODE_KEY_INVALID",
            "graph.nodes[1].key",
            "a node key has 1 to 128 characters out of `A-Za-z0-9_.:-`, unlike ` `",
        ),
    ] {
        let expected = (reason, field.to_owned(), message.to_owned());

        assert_eq!(refused(spec(nodes, edges)), expected);
    }
}

#[test]
fn each_field_has_its_bounds() {
    type Change = fn(&mut NodeSpec);
    let changes: [(Change, &str, &str); 20] = [
        (|it| it.name = "\0".to_owned(), "TEXT_INVALID", "name"),
        (
            |it| it.instructions = "a\0".to_owned(),
            "TEXT_INVALID",
            "instructions",
        ),
        (
            |it| it.instructions = "x".repeat(MAX_INSTRUCTIONS + 1),
            "TEXT_INVALID",
            "instructions",
        ),
        (
            |it| it.spawn_template = "a\n".to_owned(),
            "TEXT_INVALID",
            "spawn_template",
        ),
        (|it| it.config = b"{".to_vec(), "CONFIG_INVALID", "config"),
        (
            |it| it.config = vec![b' '; MAX_CONFIG + 1],
            "CONFIG_INVALID",
            "config",
        ),
        (
            |it| it.requires = vec!["a".to_owned(), String::new()],
            "CAPABILITY_INVALID",
            "requires[1]",
        ),
        (
            |it| it.prefers = vec![String::new()],
            "CAPABILITY_INVALID",
            "prefers[0]",
        ),
        (|it| it.priority = 10, "PRIORITY_OUT_OF_RANGE", "priority"),
        (
            |it| it.retry.max_attempts = Some(0),
            "RETRY_OUT_OF_RANGE",
            "retry.max_attempts",
        ),
        (
            |it| it.retry.factor_milli = Some(999),
            "RETRY_OUT_OF_RANGE",
            "retry.factor_milli",
        ),
        (
            |it| it.retry.cap_ms = Some(86_400_001),
            "RETRY_OUT_OF_RANGE",
            "retry.cap_ms",
        ),
        (
            |it| it.retry.non_retryable = vec![String::new()],
            "RETRY_OUT_OF_RANGE",
            "retry.non_retryable",
        ),
        (
            |it| it.timeouts.run = Some(TimeDelta::zero()),
            "TIMEOUT_OUT_OF_RANGE",
            "timeouts.run_ms",
        ),
        (
            |it| it.timeouts.total = Some(TimeDelta::MAX),
            "TIMEOUT_OUT_OF_RANGE",
            "timeouts.total_ms",
        ),
        (
            |it| it.join = JoinSpec::Quorum(0),
            "QUORUM_OUT_OF_RANGE",
            "join.needed",
        ),
        (
            |it| it.join = JoinSpec::Quorum(2),
            "QUORUM_OUT_OF_RANGE",
            "join.needed",
        ),
        (
            |it| it.when = Some("nope".to_owned()),
            "CONDITION_INVALID",
            "when",
        ),
        (
            |it| it.join = JoinSpec::Expr("state.b".to_owned()),
            "CONDITION_INVALID",
            "join.expr",
        ),
        (
            |it| it.fan_out = Some("inputs.x".to_owned()),
            "FAN_OUT_INVALID",
            "fan_out.over",
        ),
    ];
    for (change, reason, field) in changes {
        let mut spec = spec("ab", "ab");
        change(&mut spec.nodes[1]);

        let refused = refused(spec);

        assert_eq!(
            (refused.0, refused.1),
            (reason, format!("graph.nodes[1].{field}"))
        );
    }
}

#[test]
fn an_edge_that_nothing_fires_is_refused() {
    let mut spec = spec("ab", "ab");
    spec.edges[0].on = EndStates::of(&[]);

    assert_eq!(refused(spec).0, "EDGE_NEVER_FIRES");
}

#[test]
fn a_graph_over_the_limits_is_refused_by_its_numbers() {
    let many = Spec {
        nodes: vec![NodeSpec::new("a"); MAX_NODES + 1],
        ..spec("", "")
    };
    let dense = Spec {
        edges: vec![EdgeSpec::new("a", "b"); MAX_EDGES + 1],
        ..spec("ab", "")
    };

    assert_eq!(
        refused(many).2,
        "the graph has 50001 nodes, above the limit of 50000"
    );
    assert_eq!(
        refused(dense).2,
        "the graph has 500001 edges, above the limit of 500000"
    );
}

#[test]
fn a_condition_names_what_leads_to_it() {
    let when = |source: &str, data: bool| {
        let mut spec = spec("abc", "ac bc");
        spec.edges[0].data = data;
        spec.nodes[2].when = Some(source.to_owned());
        Graph::check(spec)
    };

    let accepted = when("inputs.a.ok && input.x", true).unwrap().graph;
    assert!(accepted.needs_decision(2) && accepted.static_gift().is_none());
    for (source, data, message) in [
        (
            "inputs.a.ok",
            false,
            "names `a`, from which no data edge leads here",
        ),
        (
            "inputs.c.ok",
            true,
            "names `c`, from which no data edge leads here",
        ),
        (
            "inputs.x.ok",
            true,
            "names node `x`, which the graph does not have; a key with `-`, `.` or `:` is written [\"key\"]",
        ),
    ] {
        let message = format!("`graph.nodes[2].when` {message}");
        assert_eq!(when(source, data).unwrap_err().to_string(), message);
    }
}

#[test]
fn every_refused_condition_is_named() {
    let mut spec = spec("abc", "ab bc");
    spec.nodes[0].when = Some("output".to_owned());
    spec.nodes[2].join = JoinSpec::Expr("state.a == 'failed'".to_owned());
    spec.edges[1].when = Some("1 +".to_owned());

    let (reason, field, message) = refused(spec);

    assert_eq!(
        (reason, &*field),
        ("CONDITION_INVALID", "graph.nodes[0].when")
    );
    assert!(
        message.contains("`graph.nodes[2].join.expr` names `a`, from which no edge leads here")
    );
    assert!(message.contains("`graph.edges[1].when` is no CEL expression"));
}

#[test]
fn defaults_and_capabilities_are_put_in_order() {
    let mut spec = spec("a", "");
    spec.nodes[0].requires = ["b", "a", "b"].map(str::to_owned).to_vec();
    spec.nodes[0].retry.initial_ms = Some(5);

    let graph = Graph::check(spec).unwrap().graph;

    let node = &graph.nodes()[0];
    assert_eq!(
        node.requires,
        ["a", "b"].map(|text| Capability::parse(text).unwrap())
    );
    assert_eq!(
        node.retry,
        Retry {
            initial: TimeDelta::milliseconds(5),
            ..Retry::default()
        }
    );
    assert_eq!(node.priority, 4);
}

#[test]
fn a_chain_of_fifty_thousand_overflows_no_stack() {
    let keys: Vec<_> = (0..MAX_NODES).map(|node| format!("n{node}")).collect();
    let nodes = keys.iter().map(|key| NodeSpec::new(key)).collect();
    let edges: Vec<_> = keys
        .windows(2)
        .map(|ends| EdgeSpec::new(&ends[0], &ends[1]))
        .collect();
    let chain = Spec {
        nodes,
        edges,
        ..spec("", "")
    };
    let mut ring = chain.clone();
    ring.edges.push(EdgeSpec::new("n49999", "n0"));

    let metrics = Graph::check(chain).unwrap().graph.static_gift().unwrap();
    let refusal = Graph::check(ring).unwrap_err();

    assert_eq!(metrics.chain_length, 49_999);
    assert!(matches!(refusal, Error::Cycle(cycle) if cycle.len() == MAX_NODES));
}

#[test]
fn whatever_could_stop_an_output_leaves_the_gift_unknown_beforehand() {
    let changes: [fn(&mut Spec); 6] = [
        |it| it.edges[0].data = false,
        |it| it.edges[0].on = EndStates::of(&[EndState::Failed]),
        |it| it.edges[0].when = Some("true".to_owned()),
        |it| it.nodes[1].when = Some("true".to_owned()),
        |it| it.nodes[1].join = JoinSpec::Any,
        |it| it.nodes[1].fan_out = Some("input".to_owned()),
    ];
    for change in changes {
        let mut spec = spec("ab", "ab");
        change(&mut spec);

        assert_eq!(Graph::check(spec).unwrap().graph.static_gift(), None);
    }
}

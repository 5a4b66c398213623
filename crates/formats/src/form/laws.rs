//! Whatever graph is written reads as it was, however unkind its texts.

use cambium_proto::hypha::v1::{Edge, FanOut, Graph, Join, JoinKind, Node, Retry, Timeouts};
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::{Error, Imported, Source, import};

fn read(text: &str) -> Result<Imported, Error> {
    import(&Source {
        content: text.as_bytes(),
        ..Source::default()
    })
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z ]{0,12}",
        2 => any::<String>(),
        2 => r#"[-?:,\[\]{}#&*!|>'"%@` \t\n\r0-9a-z.~<=\\]{0,24}"#,
        1 => "[\u{0}-\u{a0}\u{2028}\u{feff}\u{fffe}\n ]{0,8}",
        1 => prop::sample::select(vec![
            "yes", "no", "on", "null", "~", "", "007", "1e3", "0x1F", "1_000", ".nan", "-.inf", "<<", "=", "---", "...",
            "2001-01-01", "1:30", "+1", "true", "FALSE", " lead", "trail ", "a: b", "a #b", "\n", "\n\na\n\n", "  a\n b",
        ]).prop_map(str::to_owned),
    ]
}

fn filled() -> impl Strategy<Value = String> {
    texts().prop_filter("an empty text is an absent one", |text| !text.is_empty())
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no NaN", |number| number.is_finite())
            .prop_map(Value::from),
        texts().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((texts(), inner), 0..4)
                .prop_map(|entries| entries.into_iter().collect()),
        ]
    })
}

fn joins() -> impl Strategy<Value = Option<Join>> {
    let kinds = [JoinKind::All, JoinKind::Any, JoinKind::Settled];
    prop_oneof![
        Just(None),
        (prop::sample::select(kinds.to_vec()), any::<bool>()).prop_map(|(kind, cancel_losers)| {
            Some(Join {
                kind: kind.into(),
                cancel_losers,
                ..Join::default()
            })
        }),
        (any::<u32>(), any::<bool>()).prop_map(|(needed, cancel_losers)| Some(Join {
            kind: JoinKind::Quorum.into(),
            needed,
            cancel_losers,
            ..Join::default()
        })),
        texts().prop_map(|expr| Some(Join {
            kind: JoinKind::Expr.into(),
            expr,
            ..Join::default()
        })),
    ]
}

prop_compose! {
    fn retries()(
        max_attempts in any::<Option<u32>>(),
        initial_ms in any::<Option<u32>>(),
        factor_milli in any::<Option<u32>>(),
        cap_ms in any::<Option<u32>>(),
        non_retryable in prop::collection::vec(texts(), 0..3),
    ) -> Retry {
        Retry { max_attempts, initial_ms, factor_milli, cap_ms, non_retryable }
    }
}

prop_compose! {
    fn nodes()(
        name in texts(),
        instructions in texts(),
        config in prop::option::of(values()),
        requires in prop::collection::vec(texts(), 0..3),
        prefers in prop::collection::vec(texts(), 0..3),
        spawn_template in texts(),
        priority in any::<Option<u32>>(),
        retry in prop::option::of(retries()),
        timeouts in prop::option::of(any::<(Option<u64>, Option<u64>, Option<u64>)>()),
        when in texts(),
        join in joins(),
        over in prop::option::of(filled()),
    ) -> Node {
        Node {
            key: String::new(),
            name,
            instructions,
            config: config.map(|config| config.to_string()).unwrap_or_default().into(),
            requires,
            prefers,
            spawn_template,
            priority,
            retry,
            timeouts: timeouts.map(|(queue_ms, run_ms, total_ms)| Timeouts { queue_ms, run_ms, total_ms }),
            when,
            join,
            fan_out: over.map(|over| FanOut { over }),
        }
    }
}

prop_compose! {
    /// An edge between two of the nodes, forwards; the places are taken modulo their number.
    fn edges()(
        ends in any::<(usize, usize)>(),
        data in any::<Option<bool>>(),
        on in prop::sample::subsequence(names::ENDS.to_vec(), 0..=5),
        when in texts(),
    ) -> ((usize, usize), Edge) {
        let on = on.into_iter().map(|(_, state)| state.into()).collect();
        (ends, Edge { data, on, when, ..Edge::default() })
    }
}

prop_compose! {
    fn graphs()(
        name in "[A-Za-z0-9 :#'\"-]{1,20}",
        nodes in prop::collection::btree_map("[A-Za-z0-9_.:-]{1,8}", nodes(), 1..4),
        edges in prop::collection::vec(edges(), 0..6),
        fail_fast in any::<Option<bool>>(),
        retain_days in any::<Option<u32>>(),
        fair_key in texts(),
        spawn in any::<bool>(),
    ) -> Graph {
        let nodes: Vec<Node> = nodes.into_iter().map(|(key, node)| Node { key, ..node }).collect();
        let mut drawn: Vec<Edge> = Vec::new();
        for ((a, b), edge) in edges {
            let (a, b) = (a % nodes.len(), b % nodes.len());
            let (from, to) = (nodes[a.min(b)].key.clone(), nodes[a.max(b)].key.clone());
            if from != to && !drawn.iter().any(|known| known.from == from && known.to == to) {
                drawn.push(Edge { from, to, ..edge });
            }
        }
        Graph { name, nodes, edges: drawn, fail_fast, retain_days, fair_key, spawn }
    }
}

proptest! {
    #[test]
    fn what_is_written_as_yaml_reads_as_it_was(graph in graphs()) {
        let written = to_yaml(&graph);

        let read = read(&written);

        prop_assert_eq!(read.map(|read| read.graph), Ok(graph), "{}", written);
    }

    #[test]
    fn what_is_written_as_json_reads_as_it_was(graph in graphs()) {
        let written = to_json(&graph);

        let read = read(&written);

        prop_assert_eq!(read.map(|read| read.graph), Ok(graph), "{}", written);
    }
}

use cambium_proto::hypha::v1::{
    Edge, FanOut, Graph, Join, JoinKind, Node, Retry, TaskState, Timeouts,
};
use serde_json::{Value, json};

use super::*;
use crate::{Error, Format, Imported, Source, import};

fn read(text: &str) -> Result<Imported, Error> {
    import(&Source {
        content: text.as_bytes(),
        ..Source::default()
    })
}

fn refusal(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn a_file_says_what_the_contract_can() {
    let imported = read(
        r#"
name: report
fail_fast: false
retain_days: 90
fair_key: press
spawn: true
nodes:
  plan:
  write:
    name: Write it up
    instructions: |
      Two pages.
    config: {tone: dry, pages: [1, 2.5], on: yes, code: 007}
    requires: [role:writer]
    prefers: [style:plain]
    spawn_template: scribe
    priority: 2
    retry: {max_attempts: 5, initial_ms: 10, factor_milli: 1500, cap_ms: 900, non_retryable: [BAD]}
    timeouts: {queue_ms: 1, run_ms: 2, total_ms: 3}
    when: input.wanted
    join: settled
    fan_out: inputs.plan.items
    needs: [plan]
  check:
    join: {quorum: 1}
    cancel_losers: true
  print:
    join: {expr: state.check == 'succeeded'}
edges:
  - {from: plan, to: check, data: false, on: [succeeded, skipped], when: output.ok}
  - {from: check, to: print, on: cancelled}
"#,
    )
    .unwrap();

    let node = |key: &str| Node {
        key: key.into(),
        ..Node::default()
    };
    let edge = |from: &str, to: &str| Edge {
        from: from.into(),
        to: to.into(),
        ..Edge::default()
    };
    let write = Node {
        name: "Write it up".into(),
        instructions: "Two pages.\n".into(),
        config: r#"{"tone":"dry","pages":[1,2.5],"on":"yes","code":"007"}"#.into(),
        requires: vec!["role:writer".into()],
        prefers: vec!["style:plain".into()],
        spawn_template: "scribe".into(),
        priority: Some(2),
        retry: Some(Retry {
            max_attempts: Some(5),
            initial_ms: Some(10),
            factor_milli: Some(1500),
            cap_ms: Some(900),
            non_retryable: vec!["BAD".into()],
        }),
        timeouts: Some(Timeouts {
            queue_ms: Some(1),
            run_ms: Some(2),
            total_ms: Some(3),
        }),
        when: "input.wanted".into(),
        join: Some(Join {
            kind: JoinKind::Settled.into(),
            ..Join::default()
        }),
        fan_out: Some(FanOut {
            over: "inputs.plan.items".into(),
        }),
        ..node("write")
    };
    let quorum = Join {
        kind: JoinKind::Quorum.into(),
        needed: 1,
        cancel_losers: true,
        ..Join::default()
    };
    let expr = Join {
        kind: JoinKind::Expr.into(),
        expr: "state.check == 'succeeded'".into(),
        ..Join::default()
    };
    let expected = Graph {
        name: "report".into(),
        nodes: vec![
            node("plan"),
            write,
            Node {
                join: Some(quorum),
                ..node("check")
            },
            Node {
                join: Some(expr),
                ..node("print")
            },
        ],
        edges: vec![
            edge("plan", "write"),
            Edge {
                data: Some(false),
                on: vec![TaskState::Succeeded.into(), TaskState::Skipped.into()],
                when: "output.ok".into(),
                ..edge("plan", "check")
            },
            Edge {
                on: vec![TaskState::Cancelled.into()],
                ..edge("check", "print")
            },
        ],
        fail_fast: Some(false),
        retain_days: Some(90),
        fair_key: "press".into(),
        spawn: true,
    };
    assert_eq!(imported.format, Format::Cambium);
    assert_eq!(imported.graph, expected);
    assert_eq!(imported.graphs, ["report"]);
}

#[test]
fn nodes_may_be_a_list_and_json_is_as_good() {
    let list = read("nodes: [{key: a}, {key: b, needs: a}]").unwrap();
    let json =
        read(r#"{"nodes": {"a": {}, "b": {}}, "edges": [{"from": "a", "to": "b"}]}"#).unwrap();

    assert_eq!(list.graph, json.graph);
    assert_eq!(list.graph.name, "cambium");
}

#[test]
fn what_nothing_reads_is_refused_with_its_path() {
    let text = "nodes: {a: {instruction: x, retry: {tries: 1}}, b: {}}\nedges: [{from: a, to: b, if: x}]\nversion: 2";

    let error = read(text).unwrap_err();

    assert_eq!(
        error.details(),
        [
            "edges[0].if",
            "nodes.a.instruction",
            "nodes.a.retry.tries",
            "version"
        ]
    );
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_with_its_path() {
    assert_eq!(
        refusal("nodes: {a: {priority: high}}"),
        "`nodes.a.priority` is not a whole number in range"
    );
    assert_eq!(
        refusal("nodes: {a: {when: true}}"),
        "`nodes.a.when` is not text"
    );
    assert_eq!(refusal("nodes: [{name: a}]"), "`nodes[0].key` is missing");
    assert_eq!(
        refusal("nodes: {a: {key: b}}"),
        "`nodes.a.key` is not the key `a` it stands under"
    );
    assert_eq!(refusal("nodes: 1"), "`nodes` is not a map");
    assert!(refusal("nodes: {a: {}, b: {join: most}}").starts_with("`nodes.b.join` is not `all`"));
    assert!(
        refusal("nodes: {a: {}}\nedges: [{from: a, to: a, on: running}]")
            .ends_with("cancelled: `running`")
    );
}

#[test]
fn faults_of_the_text_have_a_place() {
    let twice = read("nodes:\n  a: {}\n  a: {}\n").unwrap_err();
    let json = read("{\"nodes\": {\"a\": {}, \"a\": {}}}").unwrap_err();
    let broken = read("{\"nodes\": [\n}").unwrap_err();

    assert!(matches!(twice, Error::Yaml { line: 3, .. }), "{twice}");
    assert!(matches!(json, Error::Json { line: 1, .. }), "{json}");
    assert!(json.to_string().ends_with("duplicate key `a`"), "{json}");
    assert!(
        matches!(
            broken,
            Error::Json {
                line: 2,
                column: 1,
                ..
            }
        ),
        "{broken}"
    );
}

#[test]
fn a_graph_that_cannot_run_is_refused_here() {
    assert_eq!(refusal("nodes: {}"), "the graph has no nodes");
    assert_eq!(
        refusal("nodes: {a b: {}}"),
        "`a b` cannot be keys: a key has 1 to 128 of A-Za-z0-9_.:-"
    );
    assert_eq!(
        refusal("nodes: {a: {needs: [z, y]}}"),
        "the graph names unknown tasks: `y`, `z`"
    );
    assert_eq!(
        refusal("nodes: {a: {needs: a}}"),
        "an edge leads from a task to itself: `a`"
    );
    assert_eq!(
        refusal("nodes: {a: {needs: b}, b: {needs: a}}"),
        "tasks wait on one another: b -> a -> b"
    );
}

#[test]
fn a_name_is_the_callers_before_the_files() {
    let named = |name, graph| {
        import(&Source {
            content: b"name: inner\nnodes: {a: {}}",
            name,
            graph,
            ..Source::default()
        })
    };

    assert_eq!(
        named(Some("outer"), Some("inner")).unwrap().graph.name,
        "outer"
    );
    assert_eq!(named(None, None).unwrap().graph.name, "inner");
    assert!(matches!(
        named(Some(""), None),
        Err(Error::NameInvalid { .. })
    ));
    assert!(matches!(
        named(None, Some("else")),
        Err(Error::GraphUnknown { .. })
    ));
}

#[test]
fn yaml_is_written_for_people() {
    let text = "name: report\nnodes: {plan: {instructions: 'Think.'}, true: {join: any}}\nedges: [{from: plan, to: 'true', on: [failed]}]";

    let written = to_yaml(&read(text).unwrap().graph);

    assert_eq!(
        written,
        "name: report\nnodes:\n  plan:\n    instructions: Think.\n  \"true\":\n    join: any\nedges:\n- {from: plan, to: \"true\", \"on\": [failed]}\n"
    );
}

#[test]
fn a_graph_nobody_would_accept_is_written_all_the_same() {
    let node = |key: &str, config: &'static [u8]| Node {
        key: key.into(),
        config: config.into(),
        ..Node::default()
    };
    let graph = Graph {
        nodes: vec![node("a", b"{"), node("a", b"")],
        ..Graph::default()
    };

    let written: Value = serde_json::from_str(&to_json(&graph)).unwrap();

    assert_eq!(
        written,
        json!({"nodes": [{"key": "a", "config": "{"}, {"key": "a"}]})
    );
    assert_eq!(
        read(&to_yaml(&graph)),
        Err(Error::KeysDuplicate(vec!["a".into()]))
    );
}

#[test]
fn flow_yaml_is_told_off_as_yaml() {
    let refusal = read("{nodes: {a: {}, a: {}}}").unwrap_err();

    assert_eq!(
        refusal.to_string(),
        "the file is no YAML: line 1, column 17: duplicate mapping key `a` is not allowed here"
    );
}

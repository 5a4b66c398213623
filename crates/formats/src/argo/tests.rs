use cambium_proto::hypha::v1::{JoinKind, Node, TaskState};

use crate::{Error, Imported, Source, import};

/// A workflow named `flow` whose DAG `main` has these tasks; they run `ok`, `bad` or `hard`.
fn workflow(dag: &str) -> String {
    let tasks: String = dag
        .trim()
        .lines()
        .map(|line| format!("        {line}\n"))
        .collect();
    format!(
        "
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {{generateName: flow-}}
spec:
  entrypoint: main
  templates:
    - name: main
      dag:
{tasks}    - {{name: ok, container: {{image: box, command: [echo], args: [fine]}}}}
    - {{name: bad, script: {{image: box, command: [sh], source: 'echo no; exit 3'}}}}
    - {{name: hard, container: {{image: box, command: [echo, hm]}}, retryStrategy: {{limit: \"2\", backoff: {{duration: 1s}}}}}}
    - name: inner
      dag: {{tasks: [{{name: X, template: ok}}, {{name: Y, template: ok, dependencies: [X]}}]}}
"
    )
}

fn read(text: &str, graph: Option<&str>) -> Result<Imported, Error> {
    import(&Source {
        content: text.as_bytes(),
        graph,
        ..Source::default()
    })
}

fn node<'a>(read: &'a Imported, key: &str) -> &'a Node {
    read.graph
        .nodes
        .iter()
        .find(|node| node.key == key)
        .unwrap()
}

fn on(read: &Imported, from: &str, to: &str) -> Vec<TaskState> {
    let edge = read
        .graph
        .edges
        .iter()
        .find(|edge| edge.from == from && edge.to == to);
    edge.unwrap().on().collect()
}

#[test]
fn dependencies_become_joins_and_edges() {
    let text = workflow(
        "
tasks:
  - {name: A, template: ok}
  - {name: B, template: bad, depends: A}
  - {name: C, template: hard, depends: 'A && B.Failed'}
  - {name: D, template: ok, depends: 'B.Succeeded || C'}
  - {name: E, template: ok, depends: '(B || C) && A'}
",
    );

    let read = read(&text, None).unwrap();

    let join = |key: &str| node(&read, key).join.clone();
    assert_eq!(
        on(&read, "A", "C"),
        [TaskState::Succeeded, TaskState::Skipped]
    );
    assert_eq!(on(&read, "B", "C"), [TaskState::Failed]);
    assert_eq!(join("C"), None);
    assert_eq!(join("D").unwrap().kind(), JoinKind::Settled);
    assert_eq!(join("E").unwrap().kind(), JoinKind::Expr);
    assert_eq!(on(&read, "A", "E"), []);
    assert_eq!(
        join("E").unwrap().expr,
        r#"(state["B"] in ['succeeded', 'skipped'] || state["C"] in ['succeeded', 'skipped']) && state["A"] in ['succeeded', 'skipped']"#
    );
}

#[test]
fn a_template_that_exits_simulates_its_failure_and_retries_are_counted() {
    let text = workflow(
        "tasks: [{name: A, template: bad}, {name: B, template: hard}, {name: C, template: ok}]",
    );

    let read = read(&text, None).unwrap();

    let attempts = |key: &str| node(&read, key).retry.as_ref().unwrap().max_attempts;
    assert_eq!(
        node(&read, "A").config,
        r#"{"simulate":{"runtime_s":0,"fail_code":"EXIT_3"}}"#
    );
    assert_eq!(node(&read, "C").config, "");
    assert_eq!(node(&read, "C").instructions, "echo fine");
    assert_eq!((attempts("A"), attempts("B")), (Some(1), Some(3)));
    assert_eq!(
        read.warnings,
        ["`retryStrategy.backoff` is not translated and was left out: task `B`"]
    );
}

#[test]
fn failures_end_the_run_early_only_if_the_file_says_so() {
    let slow = workflow("tasks: [{name: A, template: ok}]");
    let fast = workflow("failFast: true\ntasks: [{name: A, template: ok}]");

    assert_eq!(read(&slow, None).unwrap().graph.fail_fast, Some(false));
    assert_eq!(read(&fast, None).unwrap().graph.fail_fast, Some(true));
}

#[test]
fn what_is_not_translated_is_told() {
    let text = workflow(
        "
target: B
tasks:
  - {name: A, template: inner, withItems: [1, 2]}
  - {name: B, template: nowhere, depends: A.AnySucceeded, when: 'x == y'}
",
    );

    let warnings = read(&text, None).unwrap().warnings;

    assert_eq!(
        warnings,
        [
            "`target` is not translated: every task of the DAG runs",
            "`.AnySucceeded` and `.AllFailed` are read as `.Succeeded` and `.Failed`: task `B`",
            "`withItems` is not translated and was left out: task `A`",
            "`dag of inner` is not translated and was left out: task `A`",
            "`when` is not translated and was left out: task `B`",
            "`template nowhere (not in the file)` is not translated and was left out: task `B`",
        ]
    );
}

#[test]
fn a_graph_may_be_chosen_and_is_named_after_itself() {
    let text = workflow("tasks: [{name: A, template: ok}]");

    let main = read(&text, None).unwrap();
    let inner = read(&text, Some("inner")).unwrap();

    assert_eq!(
        (main.graph.name.as_str(), inner.graph.name.as_str()),
        ("flow", "flow.inner")
    );
    assert_eq!(main.graphs, ["main", "inner"]);
    assert_eq!(
        on(&inner, "X", "Y"),
        [TaskState::Succeeded, TaskState::Skipped]
    );
    assert!(matches!(
        read(&text, Some("ok")),
        Err(Error::GraphUnknown { .. })
    ));
}

#[test]
fn listed_dependencies_may_fail_if_they_say_so() {
    let text = workflow(
        "
tasks:
  - {name: A, template: ok, continueOn: {failed: true}}
  - {name: B, template: ok, dependencies: [A]}
",
    );

    let states = on(&read(&text, None).unwrap(), "A", "B");

    assert_eq!(
        states,
        [TaskState::Succeeded, TaskState::Failed, TaskState::Skipped]
    );
}

#[test]
fn conditions_that_cannot_be_met_here_are_refused() {
    let refusal = |tasks: &str| read(&workflow(tasks), None).unwrap_err();

    let daemon =
        refusal("tasks: [{name: A, template: ok}, {name: B, template: ok, depends: A.Daemoned}]");
    let broken =
        refusal("tasks: [{name: A, template: ok}, {name: B, template: ok, depends: 'A &&'}]");
    let both = refusal("tasks: [{name: A, template: ok, depends: B, dependencies: [B]}]");
    let unknown = refusal("tasks: [{name: A, template: ok, depends: '(B || C.Failed) && D'}]");

    assert_eq!(daemon, Error::DaemonedUnsupported(vec!["B".into()]));
    assert_eq!(
        broken.to_string(),
        "`depends` of task `B` cannot be read: it ends where a task is expected"
    );
    assert!(
        both.to_string()
            .ends_with("the task has `dependencies` too")
    );
    assert_eq!(
        unknown,
        Error::UnknownReferences(vec!["B".into(), "C".into(), "D".into()])
    );
}

#[test]
fn a_workflow_among_other_documents_is_found() {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\n---\n{}",
        workflow("tasks: [{name: A, template: ok}]")
    );

    assert_eq!(read(&text, None).unwrap().graph.nodes.len(), 1);
}

use serde_json::{Value, json};

use crate::{Error, Imported, Source, import};

fn read(file: &Value) -> Result<Imported, Error> {
    import(&Source {
        content: file.to_string().as_bytes(),
        ..Source::default()
    })
}

fn old(tasks: Value) -> Value {
    json!({"name": "pipe", "schemaVersion": "1.4", "workflow": {"tasks": tasks}})
}

#[test]
fn a_run_of_schema_1_5_is_read_from_its_two_halves() {
    let file = json!({
        "name": "pipe", "schemaVersion": "1.5",
        "workflow": {
            "specification": {"tasks": [
                {"id": "t/2", "name": "sort", "parents": ["t1"], "children": []},
                {"id": "t1", "name": "sort", "parents": [], "children": ["t/2"]},
            ]},
            "execution": {"tasks": [
                {"id": "t1", "runtimeInSeconds": 1.5, "command": {"program": "sort", "arguments": ["-u", "in"]}},
                {"id": "t/2", "runtimeInSeconds": 0.0},
            ]},
        },
    });

    let read = read(&file).unwrap();

    let nodes: Vec<_> = read
        .graph
        .nodes
        .iter()
        .map(|node| (node.key.as_str(), node.name.as_str()))
        .collect();
    let edges: Vec<_> = read
        .graph
        .edges
        .iter()
        .map(|edge| (edge.from.as_str(), edge.to.as_str()))
        .collect();
    assert_eq!(nodes, [("t_2", "sort"), ("t1", "sort")]);
    assert_eq!(edges, [("t1", "t_2")]);
    assert_eq!(
        read.graph.nodes[0].config,
        r#"{"simulate":{"runtime_s":0.0}}"#
    );
    assert_eq!(
        read.graph.nodes[1].config,
        r#"{"simulate":{"runtime_s":1.5}}"#
    );
    assert_eq!(read.graph.nodes[1].instructions, "sort -u in");
    assert_eq!(
        read.graph.nodes[1].retry.as_ref().unwrap().max_attempts,
        Some(1)
    );
    assert_eq!(read.graph.name, "pipe");
    assert_eq!(
        read.warnings,
        ["names that cannot be keys are written otherwise: `t/2 as t_2`"]
    );
}

#[test]
fn parents_of_schema_1_4_are_names_and_ids_may_be_absent() {
    let file = old(json!([
        {"name": "join", "type": "compute", "id": "7", "parents": ["split"], "runtimeInSeconds": 2},
        {"name": "split", "type": "compute"},
    ]));

    let read = read(&file).unwrap();

    let keys: Vec<_> = read
        .graph
        .nodes
        .iter()
        .map(|node| node.key.as_str())
        .collect();
    assert_eq!(keys, ["7", "split"]);
    assert_eq!(
        (
            read.graph.edges[0].from.as_str(),
            read.graph.edges[0].to.as_str()
        ),
        ("split", "7")
    );
    assert_eq!(
        read.graph.nodes[0].config,
        r#"{"simulate":{"runtime_s":2.0}}"#
    );
    assert_eq!(read.graph.nodes[1].config, "");
}

#[test]
fn a_parent_name_that_fits_several_tasks_is_refused() {
    let file = old(json!([
        {"name": "map", "id": "1"}, {"name": "map", "id": "2"}, {"name": "join", "id": "3", "parents": ["map"]},
    ]));

    assert_eq!(read(&file), Err(Error::AmbiguousParent(vec!["map".into()])));
}

#[test]
fn repeated_names_without_ids_are_refused() {
    let file = old(json!([{"name": "map"}, {"name": "map"}]));

    assert_eq!(read(&file), Err(Error::KeysDuplicate(vec!["map".into()])));
}

#[test]
fn an_edge_declared_at_one_end_is_an_edge() {
    let file = old(
        json!([{"name": "a", "children": ["b"]}, {"name": "b"}, {"name": "c", "parents": ["b", "b"]}]),
    );

    assert_eq!(read(&file).unwrap().graph.edges.len(), 2);
}

#[test]
fn a_file_without_edges_is_read_and_told() {
    let read = read(&old(json!([{"name": "a"}, {"name": "b"}]))).unwrap();

    assert_eq!(read.graph.edges, []);
    assert_eq!(
        read.warnings,
        ["the file declares no edges: every task stands alone"]
    );
}

#[test]
fn faults_are_told_with_their_place() {
    let fault = |tasks| read(&old(tasks)).unwrap_err();

    let negative = fault(json!([{"name": "a", "runtimeInSeconds": -1}]));
    let nameless = fault(json!([{"type": "compute"}]));
    let unknown = fault(json!([{"name": "a", "parents": ["x"], "children": ["y"]}]));

    assert_eq!(
        negative.to_string(),
        "`workflow.tasks[0].runtimeInSeconds` is not zero seconds or more"
    );
    assert_eq!(nameless.to_string(), "`workflow.tasks[0].name` is missing");
    assert_eq!(
        unknown,
        Error::UnknownReferences(vec!["x".into(), "y".into()])
    );
}

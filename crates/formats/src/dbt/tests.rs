use serde_json::json;

use crate::{Error, Imported, Source, import};

fn read(graph: Option<&str>) -> Result<Imported, Error> {
    let file = json!({
        "metadata": {"dbt_schema_version": "v12", "project_name": "shop"},
        "nodes": {"model.shop.daily": {"name": "daily", "description": "By day.", "raw_code": "select 1"}},
        "sources": {"source.shop.raw.sales": {"name": "sales"}},
        "parent_map": {
            "exposure.shop.board": ["model.shop.daily"],
            "model.shop.daily": ["source.shop.raw.sales"],
            "source.shop.raw.sales": [],
            "test.shop.not_null.1a": ["model.shop.daily"],
            "unit_test.shop.daily.u": ["model.shop.daily"],
        },
    });
    import(&Source {
        content: file.to_string().as_bytes(),
        graph,
        ..Source::default()
    })
}

#[test]
fn tests_and_exposures_are_left_out_unless_asked_for() {
    let built = read(None).unwrap();
    let all = read(Some("parent_map")).unwrap();

    let keys: Vec<_> = built
        .graph
        .nodes
        .iter()
        .map(|node| node.key.as_str())
        .collect();
    assert_eq!(keys, ["model.shop.daily", "source.shop.raw.sales"]);
    assert_eq!(built.graph.edges.len(), 1);
    assert_eq!((all.graph.nodes.len(), all.graph.edges.len()), (5, 4));
    assert_eq!(
        (built.graph.name.as_str(), all.graph.name.as_str()),
        ("shop", "shop.parent_map")
    );
    assert_eq!(built.graphs, ["without_tests_and_exposures", "parent_map"]);
}

#[test]
fn a_node_is_told_what_it_is() {
    let nodes = read(None).unwrap().graph.nodes;

    assert_eq!(
        (nodes[0].name.as_str(), nodes[0].instructions.as_str()),
        ("daily", "By day.\n\nselect 1")
    );
    assert_eq!(nodes[1].name, "sales");
}

#[test]
fn a_graph_the_file_does_not_have_is_refused_with_those_it_has() {
    let refusal = read(Some("models")).unwrap_err().to_string();

    assert_eq!(
        refusal,
        "the file has no graph `models`; it has `without_tests_and_exposures`, `parent_map`"
    );
}

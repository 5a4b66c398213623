//! Storing graphs, and refusing those that cannot be run.

use bytes::Bytes;
use cambium_proto::hypha::v1::{
    GetGraphRequest, Graph, ImportGraphRequest, ListGraphsRequest, PutGraphRequest,
    ValidateGraphRequest,
};
use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::fixture::{Fixture, WORKSPACE, edge, graph, id, reason, refusal, start};

async fn stored(fixture: &Fixture) -> usize {
    let request = ListGraphsRequest {
        workspace_id: WORKSPACE.to_owned(),
        ..ListGraphsRequest::default()
    };
    let reply = fixture.graphs.clone().list_graphs(request).await.unwrap();
    reply.into_inner().versions.len()
}

#[tokio::test]
async fn equal_content_is_one_version_and_other_content_the_next() {
    let fixture = start().await;
    let diamond = graph(
        "d",
        &["a", "b", "c", "d"],
        &["a->b", "a->c", "b->d", "c->d"],
    );

    let first = fixture.put(diamond.clone()).await.unwrap();
    let same = fixture.put(diamond.clone()).await.unwrap();
    let other = fixture.put(graph("d", &["a"], &[])).await.unwrap();

    assert_eq!((first.version, first.nodes, first.edges), (1, 4, 4));
    assert_eq!(first, same);
    assert_eq!(other.version, 2);
    let request = GetGraphRequest {
        workspace_id: WORKSPACE.to_owned(),
        name: "d".to_owned(),
        version: 1,
    };
    let read = fixture
        .graphs
        .clone()
        .get_graph(request)
        .await
        .unwrap()
        .into_inner();
    let read = read.graph.unwrap();
    assert_eq!(read.nodes.len(), 4);
    assert_eq!(read.edges.len(), 4);
}

#[tokio::test]
async fn graphs_that_cannot_run_are_refused_by_name_and_nothing_is_stored() {
    let fixture = start().await;
    let mut twice = graph("x", &["a", "b"], &["a->b", "a->b"]);
    twice.edges[1].data = Some(false);
    let cases: Vec<(Graph, &str, &[&str])> = vec![
        (graph("x", &["a"], &["a->a"]), "GRAPH_SELF_EDGE", &["a"]),
        (
            graph("x", &["a", "b", "c"], &["a->b", "b->c", "c->a"]),
            "GRAPH_CYCLE",
            &["a", "b", "c"],
        ),
        (
            graph("x", &["a"], &["a->ghost"]),
            "NODE_UNKNOWN",
            &["ghost"],
        ),
        (graph("x", &["a", "a"], &[]), "NODE_DUPLICATE", &["a"]),
        (graph("x", &[], &[]), "GRAPH_EMPTY", &[]),
        (graph("x", &["a b"], &[]), "NODE_KEY_INVALID", &["a b"]),
        (twice, "EDGE_CONFLICT", &["a", "b"]),
    ];

    for (graph, expected, named) in cases {
        let status = fixture.put(graph).await.unwrap_err();

        assert_eq!(
            refusal(&status),
            (Code::InvalidArgument, expected.to_owned())
        );
        for name in named {
            assert!(
                status.message().contains(name),
                "{} lacks {name}",
                status.message()
            );
        }
        assert_eq!(stored(&fixture).await, 0);
    }
}

#[tokio::test]
async fn an_equal_duplicate_edge_is_merged_and_said() {
    let fixture = start().await;
    let request = ValidateGraphRequest {
        workspace_id: WORKSPACE.to_owned(),
        graph: Some(graph("x", &["a", "b"], &["a->b", "a->b"])),
    };

    let reply = fixture
        .graphs
        .clone()
        .validate_graph(request)
        .await
        .unwrap()
        .into_inner();

    assert_eq!(reply.warnings.len(), 1);
    assert_eq!(stored(&fixture).await, 0, "checking stores nothing");
    let version = fixture
        .put(graph("x", &["a", "b"], &["a->b", "a->b"]))
        .await
        .unwrap();
    assert_eq!(version.edges, 1);
}

#[tokio::test]
async fn a_condition_that_does_not_parse_is_refused_with_its_place() {
    let fixture = start().await;
    let mut graph = graph("x", &["a", "b"], &["a->b"]);
    graph.nodes[1].when = "inputs.a.ok &&".to_owned();

    let status = fixture.put(graph).await.unwrap_err();

    assert_eq!(
        refusal(&status),
        (Code::InvalidArgument, "CONDITION_INVALID".to_owned())
    );
    let violations = status.get_details_bad_request().unwrap().field_violations;
    assert!(violations[0].field.contains("nodes"), "{violations:?}");
}

fn put(request_id: &str, graph: Graph) -> PutGraphRequest {
    PutGraphRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: request_id.to_owned(),
        graph: Some(graph),
    }
}

#[tokio::test]
async fn a_request_id_names_one_request() {
    let fixture = start().await;
    let mut graphs = fixture.graphs.clone();
    let request = id();
    let first = graphs
        .put_graph(put(&request, graph("x", &["a"], &[])))
        .await
        .unwrap();

    let same = graphs
        .put_graph(put(&request, graph("x", &["a"], &[])))
        .await
        .unwrap();
    let other = graphs
        .put_graph(put(&request, graph("x", &["b"], &[])))
        .await
        .unwrap_err();
    let none = graphs
        .put_graph(put("", graph("x", &["b"], &[])))
        .await
        .unwrap_err();

    assert_eq!(first.into_inner(), same.into_inner());
    assert_eq!(other.code(), Code::AlreadyExists);
    assert_eq!(none.code(), Code::InvalidArgument);
    assert_eq!(stored(&fixture).await, 1);
}

#[tokio::test]
async fn a_graph_of_another_workspace_does_not_exist() {
    let fixture = start().await;
    fixture.put(graph("x", &["a"], &[])).await.unwrap();
    let stranger = fixture.as_token(&fixture.keys.operator_of(&["elsewhere"]));
    let mut graphs =
        cambium_proto::hypha::v1::graph_service_client::GraphServiceClient::new(stranger);
    let read = |workspace: &str| GetGraphRequest {
        workspace_id: workspace.to_owned(),
        name: "x".to_owned(),
        version: 0,
    };

    let closed: Status = graphs.get_graph(read(WORKSPACE)).await.unwrap_err();
    let absent = graphs.get_graph(read("elsewhere")).await.unwrap_err();

    assert_eq!(
        (closed.code(), absent.code()),
        (Code::NotFound, Code::NotFound)
    );
    assert_eq!(reason(&absent), "GRAPH_NOT_FOUND");
}

#[tokio::test]
async fn a_file_is_imported_and_a_cyclic_one_refused_with_its_cycle() {
    let fixture = start().await;
    let import = |content: &'static str| ImportGraphRequest {
        workspace_id: WORKSPACE.to_owned(),
        request_id: id(),
        content: Bytes::from_static(content.as_bytes()),
        ..ImportGraphRequest::default()
    };
    let file = "jobs:\n  build:\n    runs-on: x\n    steps: []\n  test:\n    needs: build\n    runs-on: x\n    steps: []\n";
    let cyclic = "jobs:\n  build:\n    needs: test\n    runs-on: x\n    steps: []\n  test:\n    needs: build\n    runs-on: x\n    steps: []\n";
    let mut graphs = fixture.graphs.clone();

    let imported = graphs
        .import_graph(import(file))
        .await
        .unwrap()
        .into_inner();
    let refused = graphs.import_graph(import(cyclic)).await.unwrap_err();

    assert_eq!(imported.format, "github-actions");
    assert_eq!(imported.version.unwrap().edges, 1);
    assert_eq!(
        refusal(&refused),
        (Code::InvalidArgument, "GRAPH_CYCLE".to_owned())
    );
    assert!(refused.message().contains("build") && refused.message().contains("test"));
}

#[tokio::test]
async fn pages_of_graphs_hold_each_once() {
    let fixture = start().await;
    for name in ["a", "b", "c", "d", "e"] {
        fixture.put(graph(name, &["n"], &[])).await.unwrap();
    }
    let mut names = Vec::new();
    let mut token = String::new();
    loop {
        let request = ListGraphsRequest {
            workspace_id: WORKSPACE.to_owned(),
            page_size: 2,
            page_token: token,
        };
        let reply = fixture
            .graphs
            .clone()
            .list_graphs(request)
            .await
            .unwrap()
            .into_inner();
        names.extend(reply.versions.into_iter().map(|version| version.name));
        token = reply.next_page_token;
        if token.is_empty() {
            break;
        }
    }

    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    let wrong = ListGraphsRequest {
        workspace_id: WORKSPACE.to_owned(),
        page_size: -1,
        page_token: String::new(),
    };
    let status = fixture.graphs.clone().list_graphs(wrong).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    let mut graph = graph("f", &["a", "b"], &[]);
    graph.edges.push(edge("a", "b"));
    graph.edges[0].on = vec![3];
    assert_eq!(
        fixture.put(graph).await.unwrap_err().code(),
        Code::InvalidArgument
    );
}

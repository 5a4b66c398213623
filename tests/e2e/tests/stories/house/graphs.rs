//! Graphs that stories are played on.

use cambium_proto::hypha::v1::{Edge, Graph, Node, TaskState};

pub(crate) fn node(key: &str) -> Node {
    Node {
        key: key.to_owned(),
        ..Node::default()
    }
}

pub(crate) fn edge(from: &str, to: &str) -> Edge {
    Edge {
        from: from.to_owned(),
        to: to.to_owned(),
        ..Edge::default()
    }
}

/// Plain nodes and edges; `a->b c` is an edge and a node without any.
pub(crate) fn graph(name: &str, text: &str) -> Graph {
    let mut graph = Graph {
        name: name.to_owned(),
        ..Graph::default()
    };
    for word in text.split_whitespace() {
        let keys: Vec<&str> = word.split("->").collect();
        for key in &keys {
            if graph.nodes.iter().all(|node| node.key != *key) {
                graph.nodes.push(node(key));
            }
        }
        if let [from, to] = keys[..] {
            graph.edges.push(edge(from, to));
        }
    }
    graph
}

/// One node to change.
pub(crate) fn at<'a>(graph: &'a mut Graph, key: &str) -> &'a mut Node {
    graph.nodes.iter_mut().find(|node| node.key == key).unwrap()
}

/// Lets an edge fire on these end states.
pub(crate) fn fires_on(graph: &mut Graph, from: &str, to: &str, on: &[TaskState]) {
    let mut edges = graph.edges.iter_mut();
    let edge = edges.find(|edge| edge.from == from && edge.to == to);
    edge.unwrap().on = on.iter().map(|state| i32::from(*state)).collect();
}

/// A source, so many tasks that wait for the gate, and a sink: `source -> t0.. -> sink`.
pub(crate) fn gated(name: &str, tasks: usize) -> Graph {
    let keys: Vec<String> = (0..tasks).map(|n| format!("t{n}")).collect();
    let edges = keys
        .iter()
        .flat_map(|key| [edge("source", key), edge(key, "sink")]);
    let gated = |key: &String| Node {
        config: bytes::Bytes::from_static(br#"{"gated": true}"#),
        ..node(key)
    };
    let nodes = [node("source")].into_iter().chain(keys.iter().map(gated));
    Graph {
        name: name.to_owned(),
        nodes: nodes.chain([node("sink")]).collect(),
        edges: edges.collect(),
        ..Graph::default()
    }
}

/// Layers of nodes, each fed by three of the layer above.
pub(crate) fn layered(layers: usize, width: usize) -> Graph {
    let key = |layer: usize, place: usize| format!("l{layer}-{place}");
    let places = (0..layers).flat_map(|layer| (0..width).map(move |place| (layer, place)));
    let edges = places
        .clone()
        .filter(|(layer, _)| *layer > 0)
        .flat_map(|(layer, place)| {
            (0..3).map(move |shift| {
                let from = key(layer - 1, (place * 7 + shift * 11) % width);
                edge(&from, &key(layer, place))
            })
        });
    Graph {
        name: "layered".to_owned(),
        edges: edges.collect(),
        nodes: places
            .map(|(layer, place)| node(&key(layer, place)))
            .collect(),
        ..Graph::default()
    }
}

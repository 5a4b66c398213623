//! The graphs that benches run. Pure.

use cambium_proto::hypha::v1::{Edge, Graph, Node};
use serde::{Deserialize, Serialize};

/// What a graph looks like. Each has a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(in crate::bench) enum Shape {
    /// a -> (b, c) -> d -> e.
    Diamond,
    /// One root and its children; with `join`, a last node that waits for all of them.
    Wide { children: u32, join: bool },
    /// Layers of equal width; each node waits for three of the layer before.
    Layered { tasks: u32, depth: u32 },
    /// Nodes that wait for nothing.
    Roots { tasks: u32 },
}

const PARENTS: u32 = 3;

impl Shape {
    pub(super) fn tasks(self) -> u32 {
        match self {
            Self::Diamond => 5,
            Self::Wide { children, join } => 1 + children + u32::from(join),
            Self::Layered { tasks, .. } | Self::Roots { tasks } => tasks,
        }
    }

    pub(super) fn graph(self) -> Graph {
        Graph {
            name: self.name(),
            nodes: (0..self.tasks()).map(node).collect(),
            edges: self.edges(),
            ..Graph::default()
        }
    }

    fn name(self) -> String {
        match self {
            Self::Diamond => "bench-dag5".to_owned(),
            Self::Wide { children, .. } => format!("bench-wide-{children}"),
            Self::Layered { tasks, depth } => format!("bench-layered-{tasks}-{depth}"),
            Self::Roots { tasks } => format!("bench-roots-{tasks}"),
        }
    }

    fn edges(self) -> Vec<Edge> {
        match self {
            Self::Diamond => {
                let ends = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)];
                ends.into_iter().map(edge).collect()
            }
            Self::Wide { children, join } => {
                let out = (1..=children).map(|child| (0, child));
                let back = (1..=children).map(|child| (child, children + 1));
                out.chain(back.filter(|_| join)).map(edge).collect()
            }
            Self::Layered { tasks, depth } => {
                let width = tasks.div_ceil(depth.max(1)).max(1);
                (width..tasks)
                    .flat_map(|node| parents(node, width))
                    .map(edge)
                    .collect()
            }
            Self::Roots { .. } => Vec::new(),
        }
    }
}

/// Edges into a node from its place in the layer before, and from the next two.
fn parents(node: u32, width: u32) -> impl Iterator<Item = (u32, u32)> {
    let before = (node / width - 1) * width;
    (0..PARENTS.min(width)).map(move |nth| (before + (node + nth) % width, node))
}

fn key(node: u32) -> String {
    format!("n{node}")
}

fn node(node: u32) -> Node {
    Node {
        key: key(node),
        ..Node::default()
    }
}

fn edge((from, to): (u32, u32)) -> Edge {
    Edge {
        from: key(from),
        to: key(to),
        ..Edge::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn edges(shape: Shape) -> Vec<(String, String)> {
        let edges = shape.graph().edges.into_iter();
        edges.map(|edge| (edge.from, edge.to)).collect()
    }

    fn into(shape: Shape, to: &str) -> usize {
        edges(shape).iter().filter(|edge| edge.1 == to).count()
    }

    #[test]
    fn a_graph_has_as_many_nodes_as_its_shape_has_tasks() {
        let shapes = [
            Shape::Diamond,
            Shape::Wide {
                children: 20,
                join: false,
            },
            Shape::Wide {
                children: 20,
                join: true,
            },
            Shape::Layered {
                tasks: 50,
                depth: 7,
            },
            Shape::Roots { tasks: 9 },
        ];

        for shape in shapes {
            assert_eq!(
                shape.graph().nodes.len(),
                shape.tasks() as usize,
                "{shape:?}"
            );
        }
    }

    #[test]
    fn no_edge_is_written_twice_and_none_leads_back() {
        let layered = |tasks, depth| edges(Shape::Layered { tasks, depth });

        for edges in [
            layered(50, 7),
            layered(10, 10),
            layered(9, 4),
            layered(3, 1),
        ] {
            let distinct: BTreeSet<_> = edges.iter().collect();
            assert_eq!(distinct.len(), edges.len());
            let number = |key: &str| key[1..].parse::<u32>().unwrap();
            assert!(edges.iter().all(|(from, to)| number(from) < number(to)));
        }
    }

    #[test]
    fn a_layered_node_waits_for_three_of_the_layer_before() {
        let shape = Shape::Layered {
            tasks: 50,
            depth: 5,
        };

        assert_eq!(
            (into(shape, "n9"), into(shape, "n10"), into(shape, "n49")),
            (0, 3, 3)
        );
        assert_eq!(edges(shape).len(), 120);
    }

    #[test]
    fn a_wide_graph_may_be_joined_at_its_end() {
        let wide = |join| Shape::Wide { children: 4, join };

        assert_eq!(edges(wide(false)).len(), 4);
        assert_eq!(into(wide(true), "n5"), 4);
    }
}

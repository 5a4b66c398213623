//! A graph into our own form. Writes what is set and nothing else, so that reading gives the same graph back.

use std::collections::HashSet;

use cambium_proto::hypha::v1::{Edge, Graph, Join, JoinKind, Node, Retry, TaskState, Timeouts};
use serde::Serialize;
use serde_json::{Map, Value, json};
use serde_saphyr::FlowMap;

use super::names;

/// The graph as YAML: nodes by key, and a line for each edge.
#[must_use]
pub fn to_yaml(graph: &Graph) -> String {
    let form = Form::of(graph, FlowMap);
    serde_saphyr::to_string_with_options(&form, serde_saphyr::ser_options! {})
        .expect("a tree of texts and numbers always has a YAML form")
}

/// The graph as JSON, indented.
#[must_use]
pub fn to_json(graph: &Graph) -> String {
    let form = Form::of(graph, std::convert::identity);
    let mut text = serde_json::to_string_pretty(&form)
        .expect("a tree of texts and numbers always has a JSON form");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Form<E> {
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fail_fast: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retain_days: Option<u32>,
    #[serde(skip_serializing_if = "String::is_empty")]
    fair_key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    spawn: Option<bool>,
    nodes: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    edges: Vec<E>,
}

impl<E> Form<E> {
    fn of(graph: &Graph, each: fn(Value) -> E) -> Self {
        Self {
            name: graph.name.clone(),
            fail_fast: graph.fail_fast,
            retain_days: graph.retain_days,
            fair_key: graph.fair_key.clone(),
            spawn: graph.spawn.then_some(true),
            nodes: nodes(&graph.nodes),
            edges: graph
                .edges
                .iter()
                .map(|edge| each(Value::Object(self::edge(edge))))
                .collect(),
        }
    }
}

/// A map by key; a list if keys repeat, so that the reader still sees both and refuses them.
fn nodes(nodes: &[Node]) -> Value {
    let distinct: HashSet<&str> = nodes.iter().map(|node| node.key.as_str()).collect();
    if distinct.len() == nodes.len() {
        return nodes
            .iter()
            .map(|node| (node.key.clone(), Value::Object(self::node(node))))
            .collect();
    }
    let with_key = |node: &Node| {
        let mut map = Parts::default().text("key", &node.key).0;
        map.extend(self::node(node));
        Value::Object(map)
    };
    nodes.iter().map(with_key).collect()
}

/// The parts of a map that are set.
#[derive(Default)]
struct Parts(Map<String, Value>);

impl Parts {
    fn part(mut self, name: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
        }
        self
    }

    fn text(self, name: &str, text: &str) -> Self {
        self.part(name, Some(text).filter(|text| !text.is_empty()))
    }

    fn texts(self, name: &str, texts: &[String]) -> Self {
        self.part(name, Some(texts.to_vec()).filter(|texts| !texts.is_empty()))
    }
}

fn node(node: &Node) -> Map<String, Value> {
    let losers = node.join.as_ref().is_some_and(|join| join.cancel_losers);
    Parts::default()
        .text("name", &node.name)
        .text("instructions", &node.instructions)
        .part("config", config(&node.config))
        .texts("requires", &node.requires)
        .texts("prefers", &node.prefers)
        .part("priority", node.priority)
        .part("retry", node.retry.as_ref().map(retry))
        .part("timeouts", node.timeouts.as_ref().map(timeouts))
        .text("when", &node.when)
        .part("join", node.join.as_ref().and_then(join))
        .part("cancel_losers", losers.then_some(true))
        .part(
            "fan_out",
            node.fan_out.as_ref().map(|fan_out| fan_out.over.as_str()),
        )
        .text("spawn_template", &node.spawn_template)
        .0
}

/// What the worker is given, as nested data; bytes that are no JSON, as the text they nearly are.
fn config(bytes: &[u8]) -> Option<Value> {
    let nested =
        || serde_json::from_slice(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into());
    (!bytes.is_empty()).then(nested)
}

fn retry(retry: &Retry) -> Value {
    let parts = Parts::default()
        .part("max_attempts", retry.max_attempts)
        .part("initial_ms", retry.initial_ms)
        .part("factor_milli", retry.factor_milli)
        .part("cap_ms", retry.cap_ms)
        .texts("non_retryable", &retry.non_retryable);
    Value::Object(parts.0)
}

fn timeouts(timeouts: &Timeouts) -> Value {
    let parts = Parts::default()
        .part("queue_ms", timeouts.queue_ms)
        .part("run_ms", timeouts.run_ms)
        .part("total_ms", timeouts.total_ms);
    Value::Object(parts.0)
}

fn join(join: &Join) -> Option<Value> {
    match join.kind() {
        JoinKind::Quorum => Some(json!({ "quorum": join.needed })),
        JoinKind::Expr => Some(json!({ "expr": join.expr })),
        JoinKind::Unspecified | JoinKind::All | JoinKind::Any | JoinKind::Settled => {
            let named = names::JOINS.iter().find(|(_, kind)| *kind == join.kind());
            named.map(|&(name, _)| name.into())
        }
    }
}

fn edge(edge: &Edge) -> Map<String, Value> {
    let on: Vec<String> = edge.on().filter_map(end).collect();
    Parts::default()
        .text("from", &edge.from)
        .text("to", &edge.to)
        .part("data", edge.data)
        .texts("on", &on)
        .text("when", &edge.when)
        .0
}

fn end(state: TaskState) -> Option<String> {
    let named = names::ENDS.iter().find(|(_, known)| *known == state);
    named.map(|&(name, _)| name.to_owned())
}
